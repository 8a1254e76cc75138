// The page's route: a name and parameters in the fragment, "#/profiles?search=berlin&page=2".
import { Store } from './store.js';

export class Router {
  constructor(fallback) {
    this.fallback = fallback;
    this.current = new Store(this.#read());
    addEventListener('hashchange', () => this.current.set(this.#read()));
  }

  #read() {
    const [, name, search] = /^#\/([a-z]+)(?:\?(.*))?$/.exec(location.hash) || [];
    return { name: name || this.fallback, params: new URLSearchParams(search || '') };
  }

  // refine changes parameters of the route. An empty value removes one. The page number restarts at 1 unless it is
  // given. Typing replaces the history's entry, other changes add one.
  refine(changes, { replace = false } = {}) {
    const params = new URLSearchParams(this.current.value.params);
    for (const [name, value] of Object.entries({ page: '', ...changes })) {
      if (value) params.set(name, value);
      else params.delete(name);
    }
    const address = href(this.current.value.name, params);
    if (address === location.hash) return;
    history[replace ? 'replaceState' : 'pushState'](null, '', address);
    this.current.set(this.#read());
  }
}

export function href(name, params) {
  const search = params ? params.toString() : '';
  return `#/${name}${search && `?${search}`}`;
}
