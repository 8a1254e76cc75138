// The proxies that rows name: read many at a time when they come into view, and kept current by events.
import { useEffect, useState } from 'preact/hooks';
import { useApp } from './app-context.js';

const MANY = 100; // ids a request
const KEPT = 3000;

export class ProxyCache {
  #api;
  #known = new Map(); // id → proxy, or null for one that is gone
  #watchers = new Map(); // id → Set of functions
  #missing = new Set();
  #reading = new Set(); // ids whose answer may be older than what came meanwhile
  #planned = false;

  constructor(api) {
    this.#api = api;
  }

  // get returns a proxy, null if there is none, or undefined while it is read.
  get(id) {
    return this.#known.get(id);
  }

  // watch calls the function with each new value of a proxy until the returned function is called.
  watch(id, watcher) {
    const watchers = this.#watchers.get(id) || new Set();
    this.#watchers.set(id, watchers.add(watcher));
    if (!this.#known.has(id)) this.#ask(id);
    return () => {
      watchers.delete(watcher);
      if (!watchers.size) this.#watchers.delete(id);
    };
  }

  keep(proxy) {
    this.#set(proxy.id, proxy);
  }

  // checked keeps what checks found about the proxies that are known. One that is being read is read once more.
  checked(checks) {
    for (const check of checks) {
      const proxy = this.#known.get(check.id);
      if (proxy) this.keep({ ...proxy, lastCheck: check, status: check.status });
      if (this.#reading.has(check.id)) this.#ask(check.id);
    }
  }

  // onEvent reads again what an event names, if somebody looks at it.
  onEvent({ type, data }) {
    if (type === 'everything' || (type.startsWith('proxy.') && !data?.id)) {
      for (const id of [...this.#known.keys()]) this.#forget(id);
    } else if (type === 'proxy.deleted') {
      this.#set(data.id, null);
    } else if (type.startsWith('proxy.')) {
      this.#forget(data.id);
    }
  }

  #forget(id) {
    if (this.#watchers.has(id) || this.#reading.has(id)) this.#ask(id);
    else this.#known.delete(id);
  }

  #ask(id) {
    this.#missing.add(id);
    if (this.#planned) return;
    this.#planned = true;
    requestAnimationFrame(() => this.#read());
  }

  async #read() {
    const ids = [...this.#missing].slice(0, MANY);
    ids.forEach((id) => this.#missing.delete(id));
    this.#reading = new Set(ids);
    try {
      const { data } = await this.#api.get('/proxies', { id: ids });
      const found = new Map(data.map((proxy) => [proxy.id, proxy]));
      for (const id of ids) this.#set(id, found.get(id) ?? null);
    } catch {
      // The next event, or the next row that names it, asks again.
    }
    this.#reading.clear();
    this.#planned = false;
    const [next] = this.#missing;
    if (next) this.#ask(next);
  }

  #set(id, proxy) {
    this.#known.delete(id);
    this.#known.set(id, proxy);
    for (const [old] of this.#known) {
      if (this.#known.size <= KEPT) break;
      if (!this.#watchers.has(old)) this.#known.delete(old);
    }
    this.#watchers.get(id)?.forEach((watcher) => watcher(proxy));
  }
}

// useProxy returns a proxy by its id, as ProxyCache.get does.
export function useProxy(id) {
  const { proxies } = useApp();
  const [, draw] = useState(0);
  useEffect(() => (id ? proxies.watch(id, () => draw((n) => n + 1)) : undefined), [id]); // also for a proxy that is none
  return id ? proxies.get(id) : undefined;
}
