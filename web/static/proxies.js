// The proxies: the pool with its search, and its rows with the last check.
import { html } from './html.js';
import { useEffect } from 'preact/hooks';
import { askToDeleteProxy, check } from './actions.js';
import { useApp } from './app-context.js';
import { CheckAll } from './checkall.js';
import { CheckDialog } from './checkresult.js';
import { address, count, number, proxyName, span } from './format.js';
import { Icon } from './icons.js';
import { ImportForm } from './importform.js';
import { Ago, Country, Empty, Menu, Name, Pager, ProblemBox, Status, Tags, Waiting } from './components.js';
import { ProxyForm } from './proxyform.js';
import { href } from './route.js';
import { SearchBox } from './searchbox.js';
import { useStore } from './store.js';
import { faultWords, PROXY_STATUS, PROXY_TYPES } from './words.js';

const PAGE_SIZE = 50;

export function ProxiesPage({ params }) {
  const app = useApp();
  const { model } = app;
  const all = useStore(model.proxies);
  const workspace = useStore(model.workspace);
  const problem = useStore(model.problem);
  const page = Math.max(1, Number(params.get('page')) || 1);
  const search = params.get('search') || '';
  const status = params.get('status') || '';
  useEffect(() => model.event.watch(({ type }) => type.startsWith('profile.') && model.recountProxies()), []);
  const rows = all && [...all.values()].filter((proxy) => (!workspace || proxy.workspaceId === workspace)
    && (!status || proxy.status === status) && matches(proxy, search.toLowerCase()));
  const shown = rows?.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
  const refine = (changes, options) => app.router.refine(changes, options);
  const bring = () => app.open(ImportForm, {});
  const add = () => app.open(ProxyForm, { done: (proxy) => check(app, proxy) });
  return html`
    <header class="page-head">
      <h1 tabindex="-1">Proxies ${rows && html`<span class="total">${number(rows.length)}</span>`}</h1>
      ${(search || status || rows?.length !== 0) && html`<div class="tools">
        <${SearchBox} value=${search} label="Search proxies" change=${(text) => refine({ search: text }, { replace: true })} />
        <select aria-label="Status" value=${status} onChange=${(event) => refine({ status: event.currentTarget.value })}>
          <option value="" selected=${!status}>Any status</option>
          ${Object.entries(PROXY_STATUS).map(([value, { text }]) => html`<option value=${value} selected=${value === status}>${text}</option>`)}
        </select>
        ${all?.size > 0 && html`<${CheckAll} workspace=${workspace} />`}
        <button type="button" class="button" onClick=${bring}><${Icon} name="upload" />Import</button>
        <button type="button" class="button primary" onClick=${add}><${Icon} name="plus" />Add proxy</button>
      </div>`}
    </header>
    <${ProblemBox} problem=${problem}><button type="button" class="button small" onClick=${() => model.readProxies()}>Try again</button><//>
    ${!rows && !problem && html`<${Waiting} />`}
    ${rows?.length > 0 && html`<${ProxyTable} rows=${shown} />`}
    ${rows?.length === 0 && (search || status
      ? html`<${Empty} title="Nothing fits" drawing=${false}><p>No proxy fits this search.</p>
          <button type="button" class="button" onClick=${() => refine({ search: '', status: '' })}>Show all proxies</button><//>`
      : html`<${Empty} title="No proxies yet">
          <p>A proxy is a profile’s way out: what the world sees is the proxy’s address, not yours.</p>
          <div class="choices"><button type="button" class="button primary large" onClick=${add}><${Icon} name="plus" />Add the first proxy</button>
          <button type="button" class="button large" onClick=${bring}><${Icon} name="upload" />Import a list</button></div><//>`)}
    ${rows && html`<${Pager} page=${page} size=${PAGE_SIZE} shown=${shown.length} more=${page * PAGE_SIZE < rows.length} total=${rows.length} go=${(to) => refine({ page: to > 1 ? String(to) : '' })} />`}
    <p class="visually-hidden" role="status">${rows && (search || status) ? `${number(rows.length)} proxies fit` : ''}</p>`;
}

// matches searches names, addresses, places and tags.
function matches(proxy, search) {
  if (!search) return true;
  const { name, host, port, username, tags = [], notes, lastCheck } = proxy;
  const texts = [name, `${host}:${port}`, username, notes, ...tags, lastCheck?.exitIp, lastCheck?.country, lastCheck?.countryName];
  return texts.some((text) => text && String(text).toLowerCase().includes(search));
}

const COLUMNS = ['Status', 'Proxy', 'Exit', 'Latency', 'Checked', 'Used by'];

function ProxyTable({ rows }) {
  return html`<table class="table proxies" role="table">
    <caption class="visually-hidden">Proxies</caption>
    <thead role="rowgroup"><tr role="row">
      ${COLUMNS.map((name) => html`<th key=${name} role="columnheader" scope="col">${name}</th>`)}
      <th role="columnheader" scope="col"><span class="visually-hidden">Actions</span></th>
    </tr></thead>
    <tbody role="rowgroup">${rows.map((proxy) => html`<${ProxyRow} key=${proxy.id} proxy=${proxy} />`)}</tbody>
  </table>`;
}

const CHECKING = { text: 'Checking', tone: 'wait' };

function ProxyRow({ proxy }) {
  const app = useApp();
  const busy = useStore(app.busy).has(proxy.id);
  const { lastCheck } = proxy;
  const edit = () => app.open(ProxyForm, { proxy, done: (changed) => changed.status === 'unknown' && check(app, changed) });
  const details = () => app.open(CheckDialog, { proxy, result: lastCheck });
  const name = proxyName(proxy);
  return html`<tr role="row" data-id=${proxy.id}>
    <td role="cell" class="cell-status"><${Status} of=${busy ? CHECKING : PROXY_STATUS[proxy.status] || PROXY_STATUS.unknown} /></td>
    <td role="cell" class="cell-main">
      <button type="button" class="link title" title=${name} onClick=${edit}><${Name}>${name}<//></button>
      <span class="sub">${(PROXY_TYPES[proxy.type] || proxy.type).replace(/ .*/, '')}${proxy.name ? html` · <bdi>${address(proxy.host, proxy.port)}</bdi>` : ''}${proxy.username ? html` · <bdi>${proxy.username}</bdi>` : ''}</span>
      <${Tags} tags=${proxy.tags} />
    </td>
    <td role="cell" data-label="Exit" class="cell-exit">${exitOf(proxy)}</td>
    <td role="cell" data-label="Latency" class="number">${lastCheck?.ok && lastCheck.latencyMs != null ? span(lastCheck.latencyMs) : html`<span class="muted">–</span>`}</td>
    <td role="cell" data-label="Checked" class="cell-short">${lastCheck
      ? html`<button type="button" class="link" title="What the check found" onClick=${details}><${Ago} time=${lastCheck.checkedAt} /></button>`
      : html`<span class="muted">Never</span>`}</td>
    <td role="cell" data-label="Used by" class="cell-short">${proxy.profileCount > 0
      ? html`<a href=${href('profiles', new URLSearchParams({ proxyId: proxy.id }))}>${count(proxy.profileCount, 'profile')}</a>`
      : html`<span class="muted">Nobody</span>`}</td>
    <td role="cell" class="cell-actions"><div class="actions">
      <button type="button" class="button small" aria-disabled=${busy} aria-label=${`Check ${name}`} onClick=${() => check(app, proxy)}><${Icon} name="pulse" />${busy ? 'Checking…' : 'Check'}</button>
      <button type="button" class="icon-button" aria-label=${`Edit ${name}`} title="Edit" onClick=${edit}><${Icon} name="edit" /></button>
      <${Menu} label=${`More for ${name}`} items=${[
        lastCheck && { label: 'Last check', icon: 'pulse', run: details },
        { label: 'Delete', icon: 'trash', danger: true, run: () => askToDeleteProxy(app, proxy) },
      ]} />
    </div></td>
  </tr>`;
}

// exitOf shows the exit that the last check found, or why it found none.
function exitOf({ status, lastCheck }) {
  if (status === 'dead' && lastCheck) {
    const { happened, advice } = faultWords(lastCheck.error) || { happened: 'The check failed.' };
    return html`<span class="bad-text">${happened}</span><span class="sub wrap">${advice}</span>`;
  }
  if (!lastCheck?.ok) return html`<span class="muted">Not known yet</span>`;
  return html`<span class="exit"><${Country} code=${lastCheck.country} name=${lastCheck.countryName} /><span class="mono">${lastCheck.exitIp}</span></span>
    ${lastCheck.timezone && html`<span class="sub">${lastCheck.timezone}</span>`}`;
}
