// The page's session key. It is in localStorage, which no other origin sees, not even another port of this machine. For
// "only this tab" it is in sessionStorage. There is no cookie: on loopback it would go to every other port.
import { Api } from './api.js';

const NAME = 'warren.key';
let memory = ''; // used if storage is disabled

// takeFromAddress takes a login link's code (#code=…) or a key (#key=…), and removes it from the address and the tab's
// history. It returns {code}, {key}, or null.
export function takeFromAddress() {
  const [, kind, given] = /^#(code|key)=(.+)$/.exec(location.hash) || [];
  if (!given) return null;
  history.replaceState(null, '', location.pathname + location.search);
  let text = given;
  try {
    text = decodeURIComponent(given);
  } catch {
    // A stray percent sign: it is taken literally.
  }
  return looksLikeKey(text) ? { [kind]: text } : null;
}

// looksLikeKey reports whether a text can be sent as a key. Only the server knows whether it is one.
export function looksLikeKey(text) {
  return /^[\x21-\x7e]{1,200}$/.test(text);
}

// exchange returns a session key for a key or a login link's code. Neither of these is stored.
export async function exchange({ key = '', code }) {
  const answer = await new Api(key).post('/session-keys', code ? { code } : {});
  return answer.key;
}

// revoke ends a session key at the server.
export function revoke(key) {
  return new Api(key).call('DELETE', '/session-keys/current', { keepalive: true });
}

export function readKey() {
  return stored(() => sessionStorage) || stored(() => localStorage) || memory;
}

function stored(storage) {
  try {
    return storage().getItem(NAME) || '';
  } catch {
    return '';
  }
}

// isOfThisTab says whether the session key is kept for this tab alone.
export function isOfThisTab() {
  return Boolean(stored(() => sessionStorage));
}

// saveKey keeps a session key, for this tab alone or for all of them.
export function saveKey(key, onlyThisTab = false) {
  memory = '';
  try {
    if (onlyThisTab) {
      sessionStorage.setItem(NAME, key);
    } else {
      sessionStorage.removeItem(NAME);
      localStorage.setItem(NAME, key);
    }
  } catch {
    memory = key; // kept until the page is left
  }
}

// dropKey forgets the session key: this tab's own, else that of all tabs.
export function dropKey() {
  memory = '';
  const own = stored(() => sessionStorage);
  try {
    (own ? sessionStorage : localStorage).removeItem(NAME);
  } catch {
    // Nothing was stored.
  }
}

// watchKey calls changed when another tab has logged in or out. It returns a function that ends this.
export function watchKey(changed) {
  const listen = (event) => (event.key === NAME || event.key === null) && changed();
  addEventListener('storage', listen);
  return () => removeEventListener('storage', listen);
}
