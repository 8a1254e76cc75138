// A page of profiles as the server lists them, kept current by events.
import { Refresher } from './refresh.js';
import { Store } from './store.js';

export const PAGE_SIZE = 50;

export class ProfileList {
  // rows is null until the first answer.
  view = new Store({ rows: null, total: 0, atLeast: false, more: false, problem: null });
  #api;
  #query = null;
  #asked = 0; // number of the last request; answers may arrive out of order, and older ones are dropped
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
      const { data, total, totalIsExact, hasMore } = await this.#api.get('/profiles', { ...this.#query, limit: PAGE_SIZE });
      answer = { rows: data, total, atLeast: totalIsExact === false, more: hasMore, problem: null };
    } catch (problem) {
      answer = { problem };
    }
    if (turn < this.#shown) return;
    this.#shown = turn;
    this.#change(answer);
  }

  // patch shows a change at once, before the server's answer arrives.
  patch(id, changes) {
    const { rows } = this.view.value;
    if (rows) this.#change({ rows: rows.map((row) => (row.id === id ? { ...row, ...changes } : row)) });
  }

  again(id) {
    this.#refresh.mark(id);
  }

  // onEvent handles an event of the server. It reads the page again if a filter decides what is listed, or if the
  // list itself changes. Otherwise it reads one row.
  onEvent(event) {
    if (event.type === 'everything') return this.#refresh.markAll();
    const [kind, what] = event.type.split('.');
    if (kind !== 'profile' && kind !== 'run') return undefined;
    if (['created', 'batch_created', 'deleted', 'restored'].includes(what) && kind === 'profile') return this.#refresh.markAll();
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
