// Refresher reads again what events report as changed. It reads each object once, however many events name it, and
// the whole list when they name many. Only one read is in progress, so that answers cannot arrive out of order. A
// failed read is repeated with increasing delay.

const MANY = 10;
const SOON_MS = 60;
const LATER_MS = 300;
const AGAIN_MS = 1000;
const LONGEST_MS = 60_000;

export class Refresher {
  #one;
  #all;
  #ids = new Set();
  #everything = false;
  #timer = 0;
  #working = false;
  #stopped = false;
  #again = AGAIN_MS;

  // one reads the object with an id; all reads the list. Both throw if they fail.
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
    this.#stopped = true;
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
    const work = all ? [this.#all()] : ids.map((id) => this.#one(id));
    const failed = (await Promise.allSettled(work)).map(({ reason }) => isTemporary(reason));
    if (this.#stopped) return;
    this.#working = false;
    let soon = all ? LATER_MS : SOON_MS;
    if (failed.includes(true)) {
      soon = this.#again;
      this.#again = Math.min(2 * this.#again, LONGEST_MS);
      if (all) this.#everything = true;
      else ids.filter((_, i) => failed[i]).forEach((id) => this.#ids.add(id));
    } else {
      this.#again = AGAIN_MS;
    }
    if (this.#ids.size || this.#everything) this.#plan(soon);
  }
}

// isTemporary reports whether a retry may help: no network, a busy server. A refusal is permanent.
export function isTemporary(problem) {
  return Boolean(problem) && (!problem.status || problem.status === 429 || problem.status >= 500);
}
