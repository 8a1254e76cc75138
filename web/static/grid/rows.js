// A long list of the server's: read in blocks as they come into view, and kept current by events.
import { isTemporary, Refresher } from '../refresh.js';
import { Store } from '../store.js';

export const BLOCK = 50; // rows a request
const KEPT = 40; // blocks in memory
const AT_ONCE = 2; // requests

// Rows reads the list at a path. Blocks are pages of the list, so that any place can be read without those before it.
export class Rows {
  // total is null until the first answer. atLeast says that the server counted no further. version counts changes.
  view = new Store({ total: null, atLeast: false, problem: null, version: 0 });
  #api;
  #path;
  #query = null;
  #blocks = new Map(); // number → rows
  #stale = new Set(); // numbers of blocks that are read again when they are in view
  #reading = new Map(); // number → the request's controller
  #wanted = { from: 0, to: BLOCK - 1 };
  #turn = 0; // of the query: answers to an earlier one are dropped
  #fresh = false; // whether the blocks answer the present query
  #refresh;

  // filtered says whether a query's filters may make a changed object enter or leave the list.
  constructor(api, path, { filtered = () => true } = {}) {
    this.#api = api;
    this.#path = path;
    this.filtered = filtered;
    this.#refresh = new Refresher((id) => this.#readOne(id), () => this.reload());
  }

  get query() {
    return this.#query;
  }

  // show reads another list. What is shown stays until its first rows are there.
  show(query) {
    this.#query = query;
    this.#turn++;
    this.#fresh = false;
    this.#wanted = { from: 0, to: BLOCK - 1 };
    this.#abort();
    return this.#read(0);
  }

  // reload reads what is in view again, and all else when it comes into view.
  async reload() {
    if (!this.#query) return;
    for (const n of this.#blocks.keys()) this.#stale.add(n);
    this.#abort();
    const [first, last] = this.#blocksInView();
    await this.#read(first);
    if (last !== first) this.#fill();
    if (this.view.value.problem) throw this.view.value.problem;
  }

  // at returns a row, or undefined while it is not there yet.
  at(index) {
    return this.#blocks.get(Math.floor(index / BLOCK))?.[index % BLOCK];
  }

  find(id) {
    const index = this.indexOf(id);
    return index < 0 ? undefined : this.at(index);
  }

  // indexOf returns the place of an object among the rows that are in memory, or -1.
  indexOf(id) {
    for (const [n, rows] of this.#blocks) {
      const i = rows.findIndex((row) => row.id === id);
      if (i >= 0) return n * BLOCK + i;
    }
    return -1;
  }

  // loaded returns the rows in memory.
  loaded() {
    return [...this.#blocks.values()].flat();
  }

  // want names the rows in view. It reads those that are missing.
  want(from, to) {
    this.#wanted = { from, to };
    if (this.#fresh) this.#fill();
  }

  // range returns the rows of a range, and reads those that are missing. It is bounded by the caller.
  async range(from, to) {
    const turn = this.#turn;
    const out = [];
    for (let n = Math.floor(from / BLOCK); n <= Math.floor(to / BLOCK) && turn === this.#turn; n++) {
      const rows = this.#blocks.get(n) || (await this.#ask(n)).data;
      rows.forEach((row, i) => n * BLOCK + i >= from && n * BLOCK + i <= to && out.push(row));
    }
    return out;
  }

  // patch shows a change at once, before the server's answer arrives.
  patch(id, changes) {
    for (const [n, rows] of this.#blocks) {
      if (rows.some((row) => row.id === id)) {
        this.#blocks.set(n, rows.map((row) => (row.id === id ? { ...row, ...changes } : row)));
        this.#changed({});
      }
    }
  }

  // patchAll is patch for many: a Map from ids to changes.
  patchAll(all) {
    let any = false;
    for (const [n, rows] of this.#blocks) {
      if (!rows.some(({ id }) => all.has(id))) continue;
      any = true;
      this.#blocks.set(n, rows.map((row) => (all.has(row.id) ? { ...row, ...all.get(row.id) } : row)));
    }
    if (any) this.#changed({});
  }

  // again reads one object again.
  again(id) {
    this.#refresh.mark(id);
  }

  // changed handles a change of an object that an event names. came says that objects were added or removed.
  changed(id, came = false) {
    if (came || !id || this.filtered(this.#query || {})) this.#refresh.markAll();
    else if (this.indexOf(id) >= 0) this.#refresh.mark(id);
  }

  stop() {
    this.#abort();
    this.#refresh.stop();
  }

  #blocksInView() {
    const total = this.view.value.total ?? 0;
    const last = Math.max(0, Math.ceil(total / BLOCK) - 1);
    return [Math.min(last, Math.floor(this.#wanted.from / BLOCK)), Math.min(last, Math.floor(this.#wanted.to / BLOCK))];
  }

  // #fill reads the next missing blocks in view. Requests for blocks that have left the view are ended.
  #fill() {
    const [first, last] = this.#blocksInView();
    for (const [n, controller] of this.#reading) {
      if (n >= first - 1 && n <= last + 1) continue;
      controller.abort();
      this.#reading.delete(n);
    }
    for (let n = first; n <= last && this.#reading.size < AT_ONCE; n++) {
      if ((!this.#blocks.has(n) || this.#stale.has(n)) && !this.#reading.has(n)) this.#read(n);
    }
  }

  #ask(n, signal) {
    return this.#api.get(this.#path, { ...this.#query, page: n + 1, limit: BLOCK }, { signal });
  }

  async #read(n) {
    const turn = this.#turn;
    const controller = new AbortController();
    this.#reading.set(n, controller);
    try {
      const answer = await this.#ask(n, controller.signal);
      if (turn === this.#turn) this.#take(n, answer);
    } catch (problem) {
      if (turn !== this.#turn || problem.name === 'AbortError') return;
      this.#changed({ problem });
      if (isTemporary(problem)) this.#refresh.markAll(); // which tries again, later and later
    } finally {
      if (this.#reading.get(n) === controller) this.#reading.delete(n);
    }
    if (turn === this.#turn && !this.view.value.problem) this.#fill();
  }

  #take(n, { data, total, totalIsExact, hasMore }) {
    if (!this.#fresh) this.#blocks.clear();
    this.#fresh = true;
    this.#stale.delete(n);
    this.#blocks.set(n, data);
    this.#forget();
    const end = n * BLOCK + data.length;
    const atLeast = totalIsExact === false && hasMore;
    // A list that was counted no further grows as its end comes into view.
    const known = atLeast ? Math.max(total, end + BLOCK) : totalIsExact === false ? end : total;
    this.#changed({ total: known ?? end, atLeast, problem: null });
  }

  // #forget drops the blocks that are farthest from the view.
  #forget() {
    const middle = Math.floor((this.#wanted.from + this.#wanted.to) / 2 / BLOCK);
    const far = [...this.#blocks.keys()].sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
    for (const n of far.slice(0, Math.max(0, far.length - KEPT))) {
      this.#blocks.delete(n);
      this.#stale.delete(n);
    }
  }

  async #readOne(id) {
    if (this.indexOf(id) < 0) return;
    try {
      this.patch(id, await this.#api.get(`${this.#path}/${encodeURIComponent(id)}`));
    } catch (problem) {
      if (problem.status !== 404) throw problem;
      await this.reload();
    }
  }

  #abort() {
    for (const controller of this.#reading.values()) controller.abort();
    this.#reading.clear();
  }

  #changed(changes) {
    this.view.set({ ...this.view.value, ...changes, version: this.view.value.version + 1 });
  }
}
