// The cookies of a profile as the page has them: read on demand, searched, sorted, and changed by one request each.
import { Problem } from '../../api.js';
import { Store } from '../../store.js';

// idOf returns what identifies a cookie among those of a profile. Its value is no part of it.
export function idOf({ name, domain, path, partitionKey, partitionKeyOpaque }) {
  return JSON.stringify([domain, name, path, partitionKey ? [partitionKey.topLevelSite, partitionKey.hasCrossSiteAncestor] : 0, partitionKeyOpaque ? 1 : 0]);
}

// keyOf returns the members by which the API names a cookie to be removed.
export function keyOf({ name, domain, path, partitionKey }) {
  return { name, domain, path, ...(partitionKey && { partitionKey }) };
}

// bare returns a cookie's domain without the dot in front.
export function bare(domain) {
  return domain.replace(/^\./, '');
}

// Jar holds the cookies of one profile.
export class Jar {
  // cookies is null until they are read. old says that they are from before the last change. at is when they were read.
  state = new Store({ cookies: null, problem: null, busy: false, old: false, at: null });
  #api;
  #path;
  #turn = 0;

  constructor(api, path) {
    this.#api = api;
    this.#path = path;
  }

  // read reads all cookies. It does not throw: the state says what went wrong.
  async read() {
    const turn = ++this.#turn;
    this.#set({ busy: true });
    try {
      const cookies = await this.#api.get(`${this.#path}/cookies`, { format: 'cdp' });
      if (turn === this.#turn) this.#set({ cookies, problem: null, busy: false, old: false, at: new Date().toISOString() });
    } catch (problem) {
      if (turn === this.#turn) this.#set({ problem, busy: false });
    }
  }

  // now returns a cookie as the profile has it at this moment, or undefined.
  async now(cookie) {
    const all = await this.#api.get(`${this.#path}/cookies`, { format: 'cdp', domain: bare(cookie.domain) });
    return all.find((one) => idOf(one) === idOf(cookie));
  }

  // has says whether the list has such a cookie.
  has(cookie) {
    return (this.state.value.cookies || []).some((one) => idOf(one) === idOf(cookie));
  }

  // change sets cookies and removes others in one request, and reads the list anew. With remove all of it is done or nothing.
  async change(cookies, remove) {
    const answer = await this.#api.put(`${this.#path}/cookies`, { cookies, remove });
    this.changed();
    return answer;
  }

  // changed reads the list anew after a change.
  changed() {
    this.#set({ old: true });
    this.read();
  }

  // send sends a file of cookies, or of a storageState, whose format the server finds out.
  async send(what, query, body) {
    const search = new URLSearchParams(query);
    const response = await this.#api.open('PUT', `api/v1${this.#path}/${what}?${search}`, { headers: { 'Content-Type': 'application/octet-stream' }, body });
    return response.json().catch(() => { throw new Problem(0, { title: 'The answer did not arrive whole', detail: 'Reload the list to see what the profile has now.' }, ''); });
  }

  // file returns an answer with a file of cookies, or of a storageState.
  file(what, format, domains) {
    const search = new URLSearchParams([...(format ? [['format', format]] : []), ...domains.map((domain) => ['domain', domain])]);
    return this.#api.open('GET', `api/v1${this.#path}/${what}?${search}`);
  }

  #set(changes) {
    this.state.set({ ...this.state.value, ...changes });
  }
}

// matching returns the cookies whose name, domain or value has a text.
export function matching(cookies, text) {
  const wanted = text.toLowerCase();
  return wanted ? cookies.filter(({ name, domain, value }) => [name, domain, value].some((part) => part.toLowerCase().includes(wanted))) : cookies;
}

const byText = new Intl.Collator('en', { numeric: true }).compare;

// ORDERS compare cookies. Domains are compared from their end, so that those of a site stand together.
const ORDERS = {
  __proto__: null,
  domain: (a, b) => byText(a.site, b.site),
  name: (a, b) => byText(a.cookie.name, b.cookie.name),
  expires: (a, b) => ends(a.cookie) - ends(b.cookie),
};

function ends({ session, expires }) {
  return session ? -1 : expires;
}

// sorted returns cookies in an order, as rows of a grid.
export function sorted(cookies, sort, order) {
  const rows = cookies.map((cookie) => ({ id: idOf(cookie), name: cookie.name, cookie, site: bare(cookie.domain).split('.').reverse().join('.') }));
  const way = order === 'desc' ? -1 : 1;
  return rows.sort((a, b) => way * ORDERS[sort](a, b) || ORDERS.domain(a, b) || ORDERS.name(a, b) || byText(a.id, b.id));
}
