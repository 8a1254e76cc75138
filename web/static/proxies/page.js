// The proxies: the pool with its filters, and what can be done with one or many.
import { useEffect } from 'preact/hooks';
import { html } from '../html.js';
import { askToDeleteProxy, check } from '../actions.js';
import { useApp } from '../app-context.js';
import { CheckAll } from '../checkall.js';
import { Ago, Empty, Name, Status, Tags } from '../components.js';
import { Country, countryName } from '../flag.js';
import { address, count, number, proxyName, span } from '../format.js';
import { Grid, GridProblem } from '../grid/grid.js';
import { Chips, FreeFilter, ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList, useSort } from '../grid/use.js';
import { Icon } from '../icons.js';
import { AddProxies, CheckDialog, ProxyDrawer, ProxyForm } from '../lazy.js';
import { Menu } from '../menu.js';
import { href } from '../route.js';
import { SearchBox } from '../searchbox.js';
import { useStore } from '../store.js';
import { faultWords, PROXY_STATUS, PROXY_TYPES } from '../words.js';
import { ProxyBulk } from './bulk.js';

const NOTHING = html`<span class="muted not-in-card">–</span>`;
export const PROXY_FILTERS = ['search', 'status', 'tag', 'type', 'country'];

// onProxyEvent keeps a list of proxies current. Events of profiles name no proxy, but change how many use one.
export function onProxyEvent({ type, data }, rows) {
  if (type.startsWith('proxy.')) rows.changed(data?.id, ['proxy.created', 'proxy.deleted'].includes(type) || !data?.id);
  else if (['profile.created', 'profile.batch_created', 'profile.batch_changed', 'profile.deleted', 'profile.restored'].includes(type) || (type === 'profile.updated' && data?.changed?.includes('proxyId'))) rows.changed(null, true);
}

function isRefined(query) {
  return PROXY_FILTERS.some((name) => query[name]?.length > 0) || !['', 'createdAt'].includes(query.sort);
}

function filtersOf(tags) {
  return [
    { name: 'status', label: 'State', options: Object.entries(PROXY_STATUS).map(([value, { text }]) => [value, text]) },
    { name: 'type', label: 'Type', options: Object.keys(PROXY_TYPES).map((type) => [type, typeName(type)]) },
    { name: 'tag', label: 'Tag', many: true, panel: FreeFilter({ suggestions: tags, placeholder: 'residential' }) },
    { name: 'country', label: 'Country', panel: FreeFilter({ placeholder: 'DE', pattern: '[A-Za-z]{2}' }), text: (code) => countryName(code.toUpperCase()) },
  ];
}

function typeName(type) {
  return (PROXY_TYPES[type] || type).replace(/ .*/, '');
}

function proxyColumns({ open, choose }) {
  return [
    { id: 'name', label: 'Proxy', min: 200, grow: 2.4, sort: 'name', first: 'asc', always: true, draw: (proxy) => html`<${NameCell} proxy=${proxy} open=${open} />` },
    { id: 'status', label: 'State', width: 118, rank: 1, card: true, draw: (proxy) => html`<${StateCell} proxy=${proxy} />` },
    { id: 'exit', label: 'Exit', min: 210, grow: 2, sort: 'country', first: 'asc', rank: 2, card: true, draw: (proxy) => html`<${ExitCell} proxy=${proxy} />` },
    { id: 'latency', label: 'Latency', width: 96, numeric: true, sort: 'latency', first: 'asc', rank: 4, draw: ({ lastCheck }) => (lastCheck?.ok && lastCheck.latencyMs != null ? span(lastCheck.latencyMs) : NOTHING) },
    { id: 'uptime', label: 'Uptime', width: 88, numeric: true, rank: 6, draw: ({ uptime }) => (uptime == null ? NOTHING : `${Math.floor(uptime * 100)} %`) },
    { id: 'checked', label: 'Checked', width: 118, sort: 'checkedAt', rank: 3, card: true, draw: (proxy) => html`<${CheckedCell} proxy=${proxy} />` },
    { id: 'profiles', label: 'Profiles', width: 92, numeric: true, rank: 5, draw: ({ id, profileCount }) => (profileCount > 0 ? html`<a href=${href('profiles', new URLSearchParams({ proxyId: id }))} aria-label=${count(profileCount, 'profile')}>${number(profileCount)}</a>` : NOTHING) },
    { id: 'tags', label: 'Tags', min: 120, grow: 1, rank: 7, draw: (proxy) => html`<${Tags} tags=${proxy.tags} choose=${choose} most=${2} />` },
    { id: 'created', label: 'Created', width: 112, sort: 'createdAt', rank: 9, hidden: true, draw: ({ createdAt }) => html`<span class="muted"><${Ago} time=${createdAt} /></span>` },
    { id: 'user', label: 'User name', width: 130, rank: 8, hidden: true, draw: ({ username }) => (username ? html`<bdi class="one-line">${username}</bdi>` : NOTHING) },
    { id: 'notes', label: 'Notes', min: 140, grow: 1, rank: 10, hidden: true, draw: ({ notes }) => (notes ? html`<bdi class="one-line" title=${notes}>${notes}</bdi>` : NOTHING) },
    { id: 'id', label: 'ID', width: 292, rank: 12, hidden: true, draw: ({ id }) => html`<span class="mono">${id}</span>` },
  ];
}

function NameCell({ proxy, open }) {
  const name = proxyName(proxy);
  return html`<span class="two-lines"><button type="button" class="link title" title=${name} onClick=${() => open(proxy)}><${Name}>${name}<//></button>
    <span class="sub">${typeName(proxy.type)}${proxy.name ? html` · <bdi>${address(proxy.host, proxy.port)}</bdi>` : ''}${proxy.username ? html` · <bdi>${proxy.username}</bdi>` : ''}</span></span>`;
}

const CHECKING = { text: 'Checking', tone: 'wait' };

function StateCell({ proxy }) {
  const busy = useStore(useApp().busy).has(proxy.id);
  return html`<${Status} of=${busy ? CHECKING : PROXY_STATUS[proxy.status] || PROXY_STATUS.unknown} />`;
}

function ExitCell({ proxy }) {
  const { status, lastCheck } = proxy;
  if (status === 'dead' && lastCheck) {
    const { happened, advice } = faultWords(lastCheck.error) || { happened: 'The check failed.', advice: '' };
    return html`<span class="two-lines"><span class="one-line bad-text" title=${happened}>${happened}</span><span class="sub" title=${advice}>${advice}</span></span>`;
  }
  if (!lastCheck?.ok) return NOTHING;
  return html`<span class="two-lines"><span class="with-flag"><${Country} code=${lastCheck.country} name=${lastCheck.countryName} /> <span class="number">${lastCheck.exitIp}</span></span>
    ${lastCheck.timezone && html`<span class="sub">${lastCheck.timezone}</span>`}</span>`;
}

function CheckedCell({ proxy }) {
  const app = useApp();
  if (!proxy.lastCheck) return html`<span class="muted not-in-card">Never</span>`;
  return html`<button type="button" class="link muted" title="Show the result" onClick=${() => app.open(CheckDialog, { proxy, result: proxy.lastCheck })}><${Ago} time=${proxy.lastCheck.checkedAt} /></button>`;
}

export function ProxiesPage({ params, path }) {
  const app = useApp();
  const workspaceId = useStore(app.model.workspace);
  const order = useSort(params, 'createdAt');
  const query = { ...Object.fromEntries(PROXY_FILTERS.map((name) => [name, name === 'tag' ? params.getAll(name) : params.get(name) || ''])), workspaceId, sort: order.sort, order: order.order };
  const { rows, selection, view } = useList('/proxies', query, onProxyEvent, { filtered: isRefined });
  const open = (proxy) => app.router.open(proxy.id);
  useEffect(() => app.checked.last.watch((checks) => rows.patchAll(new Map(checks.map((check) => [check.id, { lastCheck: check, status: check.status }])))), [rows]);
  const columns = useColumns('proxies', () => proxyColumns({ open, choose: (tag) => app.router.refine({ tag }) }));
  const filtered = PROXY_FILTERS.some((name) => params.get(name));
  const { total, atLeast } = view;
  const known = () => [...new Set(rows.loaded().flatMap(({ tags }) => tags || []))].sort();
  return html`<div class="page">
    <header class="page-head">
      <h1 tabindex="-1">Proxies ${total !== null && html`<span class="total number">${number(total, atLeast)}</span>`}</h1>
      <div class="tools">
        <${SearchBox} value=${params.get('search') || ''} label="Search proxies" change=${(search) => app.router.refine({ search }, { replace: true })} />
        ${total > 0 && html`<${CheckAll} workspace=${workspaceId} />`}
        <button type="button" class="button primary" onClick=${() => add(app)}><${Icon} name="plus" /><span>Add proxies</span></button>
      </div>
    </header>
    ${(filtered || total !== 0) && html`<div class="filters"><${Chips} filters=${filtersOf(known)} params=${params} /><${ViewMenu} columns=${columns} ...${order} /></div>`}
    <${GridProblem} rows=${rows} />
    <div class="page-body">${total === 0 && !view.problem ? html`<${NoProxies} filtered=${filtered} />` : html`<${Grid} label="Proxies" ...${{ rows, columns, selection, open }} ...${order} opened=${path[0]}
      what=${proxyName} tone=${({ status }) => `is-${status}`} actionsWidth=${128}
      actions=${(proxy) => html`<${RowActions} proxy=${proxy} />`} keys=${{ c: (proxy) => check(app, proxy), e: (proxy) => edit(app, proxy), Delete: (proxy) => askToDeleteProxy(app, proxy) }} />`}
      ${path[0] && html`<${ProxyDrawer} key=${path[0]} id=${path[0]} tab=${path[1]} rows=${rows} />`}</div>
    <${ProxyBulk} ...${{ selection, rows, total: total ?? 0 }} />
    <p class="visually-hidden" role="status">${total !== null && filtered ? `${number(total, atLeast)} proxies match` : ''}</p>
  </div>`;
}

function NoProxies({ filtered }) {
  const app = useApp();
  if (filtered) {
    return html`<${Empty} title="No matches"><p>No proxy matches ${app.router.current.value.params.get('search') ? 'this search' : 'these filters'}.</p>
      <button type="button" class="button" onClick=${() => app.router.refine(Object.fromEntries(PROXY_FILTERS.map((name) => [name, ''])))}>Show all proxies</button><//>`;
  }
  return html`<${Empty} title="No proxies yet"><p>All traffic of a profile goes through its proxy. Sites see the proxy’s address, not yours.</p>
    <button type="button" class="button primary" onClick=${() => add(app)}><${Icon} name="plus" />Add proxies</button><//>`;
}

export function add(app) {
  app.open(AddProxies, {});
}

function edit(app, proxy) {
  app.open(ProxyForm, { proxy, done: (changed) => changed.status === 'unknown' && check(app, changed) });
}

function RowActions({ proxy }) {
  const app = useApp();
  const busy = useStore(app.busy).has(proxy.id);
  const offline = useStore(app.offline);
  const name = proxyName(proxy);
  return html`<div class="actions">
    <button type="button" class="button small" disabled=${offline} aria-disabled=${busy} aria-label=${`Check ${name}`} onClick=${() => check(app, proxy)}><${Icon} name="pulse" />Check</button>
    <${Menu} label=${`More for ${name}`} items=${[
      { label: 'Edit', icon: 'edit', keys: 'E', run: () => edit(app, proxy) },
      proxy.lastCheck && { label: 'Last check', icon: 'pulse', run: () => app.open(CheckDialog, { proxy, result: proxy.lastCheck }) },
      proxy.rotateUrl && { label: 'Rotate the exit IP', icon: 'reload', run: () => rotate(app, proxy) },
      { label: 'Show profiles', icon: 'profiles', run: () => app.router.go(href('profiles', new URLSearchParams({ proxyId: proxy.id }))) },
      'line',
      { label: 'Delete', icon: 'trash', danger: true, run: () => askToDeleteProxy(app, proxy) },
    ]} />
  </div>`;
}

// rotate asks the seller for another exit.
export function rotate(app, proxy) {
  return app.during(proxy.id, async () => {
    try {
      const { before, exitIp, changed } = await app.api.post(`/proxies/${encodeURIComponent(proxy.id)}/rotate`);
      app.toasts.say({ text: changed ? `${proxyName(proxy)} has a new exit IP.` : `${proxyName(proxy)} kept its exit IP.`, more: [before, changed && exitIp].filter(Boolean).join(' → '), tone: changed ? 'good' : 'plain' });
    } catch (problem) {
      app.fail(`${proxyName(proxy)} was not rotated`, problem);
    }
  });
}
