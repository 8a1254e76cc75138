// The filters of profiles, and the views that the sidebar offers.
import { html } from '../html.js';
import { useEffect, useState } from 'preact/hooks';
import { useApp } from '../app-context.js';
import { countryName } from '../flag.js';
import { proxyName } from '../format.js';
import { FreeFilter } from '../grid/toolbar.js';
import { useProxy } from '../proxycache.js';
import { PROFILE_STATUS, SYSTEMS } from '../words.js';

// FILTERS are the names of the list's parameters that a filter sets.
export const FILTERS = ['search', 'status', 'tag', 'proxyId', 'country', 'os', 'proxyStatus', 'neverStarted', 'nodeId'];

// profileFilters returns the filters; tags returns the tags that are known, and nodes are the servers.
export function profileFilters(tags, nodes) {
  return [
    { name: 'status', label: 'Status', options: Object.entries(PROFILE_STATUS).map(([value, { text }]) => [value, text]) },
    { name: 'neverStarted', label: 'Started', options: [['true', 'Never'], ['false', 'At least once']] },
    { name: 'proxyStatus', label: 'Proxy state', options: [['alive', 'Alive'], ['dead', 'Dead'], ['unknown', 'Not checked']] },
    { name: 'os', label: 'System', options: Object.entries(SYSTEMS) },
    { name: 'tag', label: 'Tag', many: true, panel: FreeFilter({ suggestions: tags, placeholder: 'shop' }) },
    { name: 'country', label: 'Country', panel: FreeFilter({ placeholder: 'DE', pattern: '[A-Za-z]{2}' }), text: (code) => countryName(code.toUpperCase()) },
    { name: 'proxyId', label: 'Proxy', panel: ProxyFilter, text: (id) => (id === 'none' ? 'None (direct)' : html`<${ProxyName} id=${id} />`) },
    ...(nodes.length > 1 ? [{ name: 'nodeId', label: 'Server', options: nodes.map(({ id, name }) => [id, name]) }] : []),
  ];
}

function ProxyName({ id }) {
  const proxy = useProxy(id);
  return proxy ? proxyName(proxy) : id;
}

// ProxyFilter finds a proxy by its name or address.
function ProxyFilter({ choose, label }) {
  const { api } = useApp();
  const [text, setText] = useState('');
  const [found, setFound] = useState([]);
  useEffect(() => {
    const ending = new AbortController();
    api.get('/proxies', { search: text.trim(), limit: 8, page: 1 }, { signal: ending.signal }).then(({ data }) => setFound(data), () => {});
    return () => ending.abort();
  }, [text]);
  return html`<span class="filter-find"><input type="text" aria-label=${label} placeholder="Name or host" value=${text} onInput=${(event) => setText(event.currentTarget.value)} spellcheck=${false} />
    <span class="filter-options"><button type="button" class="chip-option" onClick=${() => choose('none')}>None (direct)</button>
      ${found.map((proxy) => html`<button type="button" key=${proxy.id} class="chip-option" onClick=${() => choose(proxy.id)}><bdi>${proxyName(proxy)}</bdi></button>`)}</span></span>`;
}

// VIEWS are the views that everybody has: name, label and parameters of the list.
export const VIEWS = [
  { name: 'running', label: 'Running', params: { status: 'running' } },
  { name: 'failed', counted: 'failed', label: 'Failed', params: { status: 'failed' } },
  { name: 'dead', counted: 'deadProxy', label: 'Dead proxy', params: { proxyStatus: 'dead' } },
  { name: 'never', counted: 'neverStarted', label: 'Never started', params: { neverStarted: 'true' } },
];

// queryOf returns the list's query for the route's parameters.
export function queryOf(params, workspaceId) {
  const query = Object.fromEntries(FILTERS.map((name) => [name, name === 'tag' ? params.getAll(name) : params.get(name) || '']));
  return { ...query, workspaceId };
}

export function isFiltered(params) {
  return FILTERS.some((name) => params.get(name));
}
