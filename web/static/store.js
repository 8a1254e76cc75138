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
  const [, redraw] = useState(null);
  const drawn = store.value;
  useLayoutEffect(() => {
    const draw = () => redraw({}); // the value itself may be a function, which a state would call
    if (store.value !== drawn) draw(); // it has changed since the last draw
    return store.watch(draw);
  }, [store]);
  return store.value;
}
