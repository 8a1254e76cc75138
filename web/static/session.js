// The key of this tab. It lies in sessionStorage, so it ends with the tab and no other origin sees it; there is no cookie.

const NAME = 'warren.key';
let memory = ''; // where storage is switched off

// takeKeyFromAddress takes a key that came as #key=…, and removes it from the address and from the tab's history.
export function takeKeyFromAddress() {
  const [, given] = /^#key=(.+)$/.exec(location.hash) || [];
  if (!given) return '';
  history.replaceState(null, '', location.pathname + location.search);
  let key = given;
  try {
    key = decodeURIComponent(given);
  } catch {
    // A stray percent sign: the key as it stands.
  }
  if (!looksLikeKey(key)) return '';
  saveKey(key);
  return key;
}

// looksLikeKey says whether a text can be sent as a key at all. Only the server knows whether it is one.
export function looksLikeKey(text) {
  return /^[\x21-\x7e]{1,200}$/.test(text);
}

export function readKey() {
  try {
    return sessionStorage.getItem(NAME) || memory;
  } catch {
    return memory;
  }
}

export function saveKey(key) {
  memory = key;
  try {
    sessionStorage.setItem(NAME, key);
  } catch {
    // Kept in memory until the page is left.
  }
}

export function dropKey() {
  memory = '';
  try {
    sessionStorage.removeItem(NAME);
  } catch {
    // Nothing was stored.
  }
}
