// Refresher gathers what events say has changed, and reads it anew: each object once, however many events name it,
// and the whole list when they name many. One reading is under way at a time, so answers cannot overtake each other.

const MANY = 10;
const SOON_MS = 60;
const LATER_MS = 300;

export class Refresher {
  #one;
  #all;
  #ids = new Set();
  #everything = false;
  #timer = 0;
  #working = false;

  // one reads the object with an id; all reads the list.
  constructor(one, all) {
    this.#one = one;
    this.#all = all;
  }

  mark(id) {
    this.#ids.add(id);
    this.#plan(SOON_MS);
  }

  markAll() {
    this.#everything = true;
    this.#plan(SOON_MS);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#working = true;
  }

  #plan(ms) {
    if (this.#working || this.#timer) return;
    this.#timer = setTimeout(() => this.#work(), ms);
  }

  async #work() {
    const ids = [...this.#ids];
    const all = this.#everything || ids.length > MANY;
    this.#timer = 0;
    this.#working = true;
    this.#everything = false;
    this.#ids.clear();
    try {
      await (all ? this.#all() : Promise.all(ids.map((id) => this.#one(id))));
    } catch {
      // What cannot be read stays as it is; the next event or the reader's own error says more.
    }
    this.#working = false;
    if (this.#ids.size || this.#everything) this.#plan(all ? LATER_MS : SOON_MS);
  }
}
