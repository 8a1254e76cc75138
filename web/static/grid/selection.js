// What is chosen in a grid: some objects by id, or all that match the filters but some.
import { Store } from '../store.js';

// RANGE is how many rows a Shift-click may choose at once. For more there is "all that match".
export const RANGE = 1000;

const NONE = { all: false, ids: new Map() };

export class Selection {
  // With `all`, ids are the exceptions. A value of ids is the object's name, for messages.
  state = new Store(NONE);
  #last = -1; // the row of the last click, where a range begins

  has(id) {
    const { all, ids } = this.state.value;
    return all !== ids.has(id);
  }

  // size returns how many are chosen of a list of total objects.
  size(total) {
    const { all, ids } = this.state.value;
    return all ? Math.max(0, total - ids.size) : ids.size;
  }

  clear() {
    this.#last = -1;
    this.state.set(NONE);
  }

  chooseAll() {
    this.state.set({ all: true, ids: new Map() });
  }

  // toggle chooses one row, or no longer.
  toggle(row, index) {
    this.#last = index;
    this.#set([row], !this.has(row.id));
  }

  // extend chooses the rows from the last click to this one. read(from, to) returns them.
  async extend(row, index, read) {
    if (this.#last < 0 || this.#last === index) return this.toggle(row, index);
    const [from, to] = [Math.min(this.#last, index), Math.max(this.#last, index)];
    const wanted = this.has(row.id) === false;
    const rows = await read(from, Math.min(to, from + RANGE - 1));
    this.#last = index;
    return this.#set(rows, wanted);
  }

  // choose chooses rows, or no longer.
  choose(rows, wanted) {
    this.#set(rows, wanted);
  }

  // keep chooses exactly these objects: [id, name] pairs.
  keep(pairs) {
    this.state.set({ all: false, ids: new Map(pairs) });
  }

  drop(id) {
    if (this.has(id)) this.#set([{ id }], false);
  }

  #set(rows, wanted) {
    const { all } = this.state.value;
    const ids = new Map(this.state.value.ids);
    for (const row of rows) {
      if (wanted !== all) ids.set(row.id, row.name || '');
      else ids.delete(row.id);
    }
    this.state.set({ all, ids });
  }
}
