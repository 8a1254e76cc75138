// The server's state as the page knows it: workspaces, counts, the last event, and the connection. Lists are read by
// their pages.
import { follow } from './events.js';
import { Refresher } from './refresh.js';
import { Store } from './store.js';

const WORKSPACE = 'warren.workspace';
const RECENT = 300; // events in memory

export class Model {
  workspaces = new Store([]); // ids, sorted
  workspace = new Store(remembered()); // the chosen one; "": all
  counts = new Store(null); // what GET /summary answers
  connection = new Store('connecting');
  event = new Store(null); // the last one
  recent = new Store([]); // the last events, newest first
  #api;
  #ending = new AbortController();
  #counts = new Refresher(() => this.readCounts(), () => this.readCounts());

  constructor(api) {
    this.#api = api;
  }

  // begin reads the state and then follows the events.
  begin() {
    this.#counts.markAll();
    this.#follow();
  }

  // renew follows the events anew, with another key, and reads all again.
  renew() {
    this.#ending.abort();
    this.#ending = new AbortController();
    this.#follow();
    this.readAll();
  }

  #follow() {
    follow(this.#api, {
      signal: this.#ending.signal,
      event: (event) => this.#onEvent(event),
      state: (state) => {
        this.connection.set(state === 'again' ? 'live' : state);
        if (state === 'again') this.readAll();
      },
    });
  }

  end() {
    this.#ending.abort();
    this.#counts.stop();
  }

  // readAll reads everything again, also the lists that watch the events.
  readAll() {
    this.#counts.markAll();
    this.event.set({ type: 'everything' });
  }

  async readCounts() {
    const summary = await this.#api.get('/summary', { workspaceId: this.workspace.value });
    this.#addWorkspaces(summary.workspaces);
    this.counts.set(summary);
  }

  sawWorkspaces(objects) {
    this.#addWorkspaces(objects.map((object) => object.workspaceId));
  }

  #addWorkspaces(ids) {
    const known = this.workspaces.value;
    const all = new Set([...known, ...ids.filter(Boolean)]);
    if (all.size !== known.length) this.workspaces.set([...all].sort());
  }

  chooseWorkspace(id) {
    this.workspace.set(id);
    this.#counts.markAll();
    try {
      sessionStorage.setItem(WORKSPACE, id);
    } catch {
      // Without storage it is kept until the page is left.
    }
  }

  #onEvent(event) {
    if (event.type === 'events.lost') return this.readAll(); // the server has dropped the events since
    if (/^(profile|proxy|run|workspace)\./.test(event.type)) this.#counts.markAll();
    if (event.workspaceId) this.#addWorkspaces([event.workspaceId]);
    if (event.id && !event.type.endsWith('.progress')) this.recent.set([event, ...this.recent.value.slice(0, RECENT - 1)]);
    return this.event.set(event);
  }
}

function remembered() {
  try {
    return sessionStorage.getItem(WORKSPACE) || '';
  } catch {
    return '';
  }
}
