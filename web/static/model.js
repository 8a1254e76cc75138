// What the page knows of the server and keeps up to date: proxies, workspaces, how much runs. Lists that have their own
// search and pages (list.js) are read by those who show them.
import { Store } from './store.js';
import { Refresher } from './refresh.js';
import { follow } from './events.js';

const WORKSPACE = 'warren.workspace';

export class Model {
  proxies = new Store(null); // Map by id, newest first; null until read
  running = new Store(0); // how many browsers run
  workspaces = new Store([]); // ids, sorted
  workspace = new Store(remembered()); // the chosen one; empty: all
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

  // begin reads what is there and follows the events from then on.
  begin() {
    this.readAll();
    follow(this.#api, {
      signal: this.#ending.signal,
      event: (event) => this.#happened(event),
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

  // readAll reads everything anew, also the lists that watch the events.
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

  // readWorkspaces asks for them; a key that may not, or an older server, leaves what the objects themselves name.
  async readWorkspaces() {
    try {
      const { data } = await this.#api.get('/workspaces', { limit: 200 });
      this.#addWorkspaces(data.map((workspace) => workspace.id));
    } catch {
      // The objects name theirs.
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
      // Chosen until the page is left.
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

  // What a proxy is used by changes with the profiles, whose events name no proxy.
  recountProxies() {
    this.#proxies.markAll();
  }

  #happened(event) {
    if (event.type === 'events.lost') return this.readAll(); // the server does not know any more what came since
    const id = event.data?.id;
    if (event.type.startsWith('proxy.')) {
      if (event.type === 'proxy.deleted') this.dropProxy(id);
      else if (id) this.#proxies.mark(id);
      else this.#proxies.markAll(); // it tells of many
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
