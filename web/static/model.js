// The server's state as the page knows it: proxies, workspaces, number of runs. Lists with their own search and pages
// (list.js) are read by their pages.
import { follow } from './events.js';
import { Refresher } from './refresh.js';
import { Store } from './store.js';

const WORKSPACE = 'warren.workspace';

export class Model {
  proxies = new Store(null); // Map by id, newest first; null until read
  running = new Store(0); // number of running browsers
  workspaces = new Store([]); // ids, sorted
  workspace = new Store(remembered()); // the chosen one; "": all
  connection = new Store('connecting');
  event = new Store(null); // the last one
  problem = new Store(null); // why the proxies could not be read
  #api;
  #ending = new AbortController();
  #proxies = new Refresher((id) => this.readProxy(id), () => this.#readProxies());
  #runs = new Refresher(() => this.readRuns(), () => this.readRuns());

  constructor(api) {
    this.#api = api;
  }

  // begin reads the state and then follows the events.
  begin() {
    this.readAll();
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
    this.#proxies.stop();
    this.#runs.stop();
  }

  // readAll reads everything again, also the lists that watch the events.
  readAll() {
    this.#proxies.markAll();
    this.#runs.markAll();
    this.readWorkspaces();
    this.event.set({ type: 'everything' });
  }

  async readProxies() {
    try {
      const { data } = await this.#api.get('/proxies');
      this.proxies.set(new Map(data.map((proxy) => [proxy.id, proxy])));
      this.sawWorkspaces(data);
      this.problem.set(null);
    } catch (problem) {
      this.problem.set(problem);
    }
  }

  async readProxy(id) {
    try {
      this.keepProxy(await this.#api.get(`/proxies/${encodeURIComponent(id)}`));
    } catch (problem) {
      if (problem.status !== 404) throw problem;
      this.dropProxy(id);
    }
  }

  async #readProxies() {
    await this.readProxies();
    if (this.problem.value) throw this.problem.value;
  }

  async readRuns() {
    const { data, total } = await this.#api.get('/runs');
    this.running.set(total ?? data.length);
  }

  // readWorkspaces lists the workspaces. If the key may not, the objects' own workspaces remain.
  async readWorkspaces() {
    try {
      const { data } = await this.#api.get('/workspaces', { limit: 200 });
      this.#addWorkspaces(data.map((workspace) => workspace.id));
    } catch {
      // The workspaces named by objects remain.
    }
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
    try {
      sessionStorage.setItem(WORKSPACE, id);
    } catch {
      // Without storage it is kept until the page is left.
    }
  }

  keepProxy(proxy) {
    const proxies = this.proxies.value || new Map();
    const known = proxies.has(proxy.id);
    this.proxies.set(new Map(known ? [...proxies].map(([id, p]) => [id, id === proxy.id ? proxy : p]) : [[proxy.id, proxy], ...proxies]));
    this.sawWorkspaces([proxy]);
  }

  dropProxy(id) {
    const proxies = new Map(this.proxies.value);
    if (proxies.delete(id)) this.proxies.set(proxies);
  }

  // recountProxies reads the numbers of profiles per proxy. Events of profiles name no proxy.
  recountProxies() {
    this.#proxies.markAll();
  }

  #onEvent(event) {
    if (event.type === 'events.lost') return this.readAll(); // the server has dropped the events since
    const id = event.data?.id;
    if (event.type.startsWith('proxy.')) {
      if (event.type === 'proxy.deleted') this.dropProxy(id);
      else if (id) this.#proxies.mark(id);
      else this.#proxies.markAll(); // the event is about many proxies
    }
    if (event.type.startsWith('run.') || event.type === 'profile.deleted') this.#runs.markAll();
    if (event.workspaceId) this.#addWorkspaces([event.workspaceId]);
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
