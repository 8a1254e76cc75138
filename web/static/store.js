// A value that components can watch, and the hook for it.
import { useLayoutEffect, useState } from 'preact/hooks';

export class Store {
  #value;
  #watchers = new Set();

  constructor(value) {
    this.#value = value;
  }

  get value() {
    return this.#value;
  }

  set(value) {
    if (value === this.#value) return;
    this.#value = value;
    for (const watcher of [...this.#watchers]) watcher(value);
  }

  // watch calls the function with each new value until the returned function is called.
  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

export function useStore(store) {
  const [, redraw] = useState(store.value);
  useLayoutEffect(() => {
    redraw(store.value); // the value may have changed since the last draw
    return store.watch(redraw);
  }, [store]);
  return store.value;
}
