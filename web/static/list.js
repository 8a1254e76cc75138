// A page of profiles as the server lists them, kept up to date by its events.
import { Store } from './store.js';
import { Refresher } from './refresh.js';

export const PAGE_SIZE = 50;

export class ProfileList {
  // rows is null until the first answer.
  view = new Store({ rows: null, total: 0, problem: null });
  #api;
  #query = null;
  #asked = 0; // answers may overtake each other: only one that was asked for later than the shown one counts
  #shown = 0;
  #refresh = new Refresher((id) => this.#readOne(id), () => this.#readAll());

  constructor(api) {
    this.#api = api;
  }

  show(query) {
    this.#query = query;
    return this.reload();
  }

  async reload() {
    if (!this.#query) return;
    const turn = ++this.#asked;
    let answer;
    try {
      const { data, total } = await this.#api.get('/profiles', { ...this.#query, limit: PAGE_SIZE });
      answer = { rows: data, total, problem: null };
    } catch (problem) {
      answer = { problem };
    }
    if (turn < this.#shown) return;
    this.#shown = turn;
    this.#change(answer);
  }

  // patch shows a change at once, before the server's own words arrive.
  patch(id, changes) {
    const { rows } = this.view.value;
    if (rows) this.#change({ rows: rows.map((row) => (row.id === id ? { ...row, ...changes } : row)) });
  }

  again(id) {
    this.#refresh.mark(id);
  }

  // happened takes an event of the server. Where a filter decides what is listed, or the list itself changes, the
  // page is read again; else the one row.
  happened(event) {
    if (event.type === 'everything') return this.#refresh.markAll();
    const [kind, what] = event.type.split('.');
    if (kind !== 'profile' && kind !== 'run') return undefined;
    if (['created', 'deleted', 'restored'].includes(what) && kind === 'profile') return this.#refresh.markAll();
    const { search, status, tag } = this.#query || {};
    if (search || status || tag) return this.#refresh.markAll();
    const id = event.data?.profileId || event.data?.id;
    return this.view.value.rows?.some((row) => row.id === id) ? this.#refresh.mark(id) : undefined;
  }

  stop() {
    this.#refresh.stop();
  }

  async #readOne(id) {
    try {
      this.patch(id, await this.#api.get(`/profiles/${encodeURIComponent(id)}`));
    } catch (problem) {
      if (problem.status !== 404) throw problem;
      await this.#readAll();
    }
  }

  async #readAll() {
    await this.reload();
    if (this.view.value.problem) throw this.view.value.problem;
  }

  #change(changes) {
    this.view.set({ ...this.view.value, ...changes });
  }
}
