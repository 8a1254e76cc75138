// The key of this tab. It is in sessionStorage: it ends with the tab, and no other origin sees it. There is no
// cookie.

const NAME = 'warren.key';
let memory = ''; // used if storage is disabled

// takeKeyFromAddress takes a key from #key=…, and removes it from the address and the tab's history.
export function takeKeyFromAddress() {
  const [, given] = /^#key=(.+)$/.exec(location.hash) || [];
  if (!given) return '';
  history.replaceState(null, '', location.pathname + location.search);
  let key = given;
  try {
    key = decodeURIComponent(given);
  } catch {
    // A stray percent sign: the key is taken literally.
  }
  if (!looksLikeKey(key)) return '';
  saveKey(key);
  return key;
}

// looksLikeKey reports whether a text can be sent as a key. Only the server knows whether it is one.
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
    // Without storage it is kept until the page is left.
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
