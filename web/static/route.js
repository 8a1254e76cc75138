// The page's route: a path and parameters in the fragment, "#/profiles/<id>/runs?search=berlin".
import { Store } from './store.js';

export class Router {
  // leaving is asked before another place is shown: it calls its argument to go on.
  leaving = (goOn) => goOn();
  #shown = location.hash;

  constructor(fallback) {
    this.fallback = fallback;
    this.current = new Store(this.#read());
    addEventListener('hashchange', () => this.#arrive());
    addEventListener('popstate', () => this.#arrive());
  }

  // #arrive follows a link, or the browser's buttons.
  #arrive() {
    const wanted = location.hash;
    if (wanted === this.#shown) return;
    let gone = false;
    this.leaving(() => { gone = true; this.#show(wanted); });
    if (!gone) history.pushState(null, '', this.#shown || '#'); // until the person has answered
  }

  #show(address) {
    if (location.hash !== address) history.pushState(null, '', address);
    this.#shown = address;
    this.current.set(this.#read());
  }

  // #read returns the place's name, the further parts of the path, and the parameters.
  #read() {
    const [, path = '', search = ''] = /^#\/([^?]*)(?:\?(.*))?$/.exec(location.hash) || [];
    const [name, ...rest] = path.split('/').map(decoded);
    return { name: name || this.fallback, path: rest, params: new URLSearchParams(search) };
  }

  // refine changes parameters of the route. An empty value removes one, a list repeats one. Typing replaces the
  // history's entry, other changes add one.
  refine(changes, { replace = false } = {}) {
    const params = new URLSearchParams(this.current.value.params);
    for (const [name, value] of Object.entries(changes)) {
      params.delete(name);
      for (const one of [].concat(value)) if (one) params.append(name, one);
    }
    this.#go(href(this.current.value.name, params, this.current.value.path), replace);
  }

  // open changes the path behind the place's name, and keeps the parameters.
  open(...path) {
    this.#go(this.beside(...path), false);
  }

  // beside returns the address of a path behind the present place's name, with the present parameters.
  beside(...path) {
    return href(this.current.value.name, this.current.value.params, path);
  }

  go(address) {
    this.#go(address, false);
  }

  #go(address, replace) {
    if (address === location.hash) return;
    if (replace) {
      history.replaceState(null, '', address);
      this.#show(address);
    } else {
      this.leaving(() => this.#show(address));
    }
  }
}

export function href(name, params, path = []) {
  const search = params ? params.toString() : '';
  return `#/${[name, ...path].map(encodeURIComponent).join('/')}${search && `?${search}`}`;
}

// activityOf returns the address of the audit log's entries about an object, or about what a key did.
export function activityOf(id, filter = 'objectId') {
  return href('settings', new URLSearchParams({ [filter]: id }), ['activity']);
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // not written by this page
  }
}
