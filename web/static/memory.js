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
