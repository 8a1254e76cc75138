// A list in memory, for a grid: the same as Rows for what it shows.
import { Store } from '../store.js';

export class FixedRows {
  view = new Store({ total: 0, atLeast: false, problem: null, version: 0 });
  #list = [];

  set(list) {
    this.#list = list;
    this.view.set({ ...this.view.value, total: list.length, version: this.view.value.version + 1 });
  }

  want() {}

  async reload() {}

  at(index) {
    return this.#list[index];
  }

  loaded() {
    return this.#list;
  }

  async range(from, to) {
    return this.#list.slice(from, to + 1);
  }

  indexOf(id) {
    return this.#list.findIndex((row) => row.id === id);
  }
}
