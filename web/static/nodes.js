// The servers that share a database: their names for lists, and how each does. Where there is one alone, the page says nothing of servers.
import { useEffect } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Name } from './components.js';
import { Store, useStore } from './store.js';

const FRESH_MS = 5000;

export class Nodes {
  all = new Store([]); // as GET /nodes has them, by name; empty: not known
  #api;
  #asked = new Set(); // ids that were unknown once
  #turn = 0;

  constructor(api) {
    this.#api = api;
  }

  begin(events) {
    const read = () => this.read().catch(() => {}); // the page does without names
    read();
    return events.watch(({ type }) => type === 'everything' && read());
  }

  // read asks how the servers do. Of two answers the later question's counts.
  async read() {
    const turn = ++this.#turn;
    const { data } = await this.#api.get('/nodes');
    if (turn === this.#turn) this.all.set(data);
  }

  // meet asks once for a server that is not known: it came while the page was open, or was removed.
  meet(id) {
    if (this.#asked.has(id)) return;
    this.#asked.add(id);
    this.read().catch(() => this.#asked.delete(id));
  }
}

// useSeveral says whether there is more than one server.
export function useSeveral() {
  return useStore(useApp().nodes.all).length > 1;
}

// useFreshNodes keeps what is known of the servers current, while the page is visible. failed is told each time whether it could not, and why.
export function useFreshNodes(wanted = true, failed = () => {}) {
  const { nodes } = useApp();
  useEffect(() => {
    if (!wanted) return undefined;
    let timer = 0;
    let ended = false;
    const read = async () => {
      clearTimeout(timer);
      const problem = document.hidden ? null : await nodes.read().then(() => null, (error) => error);
      if (ended) return;
      failed(problem);
      clearTimeout(timer);
      timer = setTimeout(read, FRESH_MS);
    };
    const visible = () => document.hidden || read();
    read();
    document.addEventListener('visibilitychange', visible);
    return () => {
      ended = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', visible);
    };
  }, [nodes, wanted]);
}

const STATES = { __proto__: null, up: { text: 'Up', tone: 'good' }, stopped: { text: 'Stopped', tone: 'quiet' }, unreachable: { text: 'Unreachable', tone: 'bad' } };

// nodeState returns a server's state in words. One that drains says so while it is up.
export function nodeState({ state, draining }) {
  if (draining && state === 'up') return { text: 'Draining', tone: 'wait' };
  return STATES[state] || { text: state, tone: 'quiet' };
}

// useNode returns a server by its id, or undefined while it is not known.
export function useNode(id) {
  const { nodes } = useApp();
  const node = useStore(nodes.all).find((one) => one.id === id);
  useEffect(() => { if (id && !node) nodes.meet(id); }, [id, !node]);
  return node;
}

// NodeName names the server of a profile, and says what hinders its starts.
export function NodeName({ id }) {
  const node = useNode(id);
  if (!id) return html`<span class="muted not-in-card" title="Its first start chooses a server">–</span>`;
  if (!node) return html`<span class="muted" title=${id}>Unknown</span>`;
  const state = nodeState(node);
  return html`<span class="two-lines"><span class="one-line" title=${node.name}><${Name}>${node.name}<//></span>${state.tone !== 'good' && html`<span class=${state.tone === 'bad' ? 'sub bad-text' : 'sub'}>${state.text}</span>`}</span>`;
}

// nodeColumn is the column of a list of profiles for where each one's data are.
export function nodeColumn(rank) {
  return { id: 'server', label: 'Server', min: 96, grow: 0.8, rank, card: true, draw: ({ nodeId }) => html`<${NodeName} id=${nodeId} />` };
}
