// What the page keeps in the browser: choices of how it looks, never data of the server.

const PREFIX = 'warren.';

// recall returns a kept value, or the fallback. Without storage nothing is kept.
export function recall(name, fallback) {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? fallback : JSON.parse(text);
  } catch {
    return fallback;
  }
}

// remember keeps a value; null removes it.
export function remember(name, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // It lasts until the page is left.
  }
}

// kept returns the names of what is kept that begin with a prefix.
export function kept(prefix) {
  try {
    return Object.keys(localStorage).filter((name) => name.startsWith(PREFIX + prefix)).map((name) => name.slice(PREFIX.length));
  } catch {
    return [];
  }
}

// forget removes what is kept under names that begin with a prefix.
export function forget(prefix) {
  for (const name of kept(prefix)) remember(name, null);
}
