// The profiles: the list with its search and filters, and its rows.
import { useEffect, useMemo } from 'preact/hooks';
import { html } from './html.js';
import { askToDelete, start, stop } from './actions.js';
import { useApp, useNow } from './app-context.js';
import { Ago, Country, Empty, Menu, Name, Pager, ProblemBox, Status, Tags, Waiting } from './components.js';
import { lasting, moment, number, proxyName, since, span } from './format.js';
import { Icon } from './icons.js';
import { PAGE_SIZE, ProfileList } from './list.js';
import { Preview, viewOf } from './preview.js';
import { ProfileDialog } from './profileform.js';
import { ProxyDialog } from './proxychoice.js';
import { SearchBox } from './searchbox.js';
import { useStore } from './store.js';
import { endWords, faultWords, PROFILE_STATUS, SYSTEMS } from './words.js';

const SORTS = { '': 'Newest first', name: 'By name', lastStartedAt: 'Last started', updatedAt: 'Last changed' };

// useProfiles keeps a list of profiles in sync with the route and the server.
export function useProfiles(query) {
  const app = useApp();
  const workspaceId = useStore(app.model.workspace);
  const list = useMemo(() => new ProfileList(app.api), [app]);
  const asked = JSON.stringify({ ...query, workspaceId });
  useEffect(() => {
    list.show(JSON.parse(asked)).then(() => app.model.sawWorkspaces(list.view.value.rows || []));
  }, [asked]);
  useEffect(() => {
    const unwatch = app.model.event.watch((event) => list.onEvent(event));
    return () => {
      unwatch();
      list.stop();
    };
  }, []);
  return { list, view: useStore(list.view) };
}

export function ProfilesPage({ params }) {
  const app = useApp();
  const page = Math.max(1, Number(params.get('page')) || 1);
  const [search, status, tag, proxyId, sort] = ['search', 'status', 'tag', 'proxyId', 'sort'].map((name) => params.get(name) || '');
  const order = sort === 'name' ? 'asc' : '';
  const { list, view } = useProfiles({ page, search, status, tag, proxyId, sort, order });
  const refine = (changes, options) => app.router.refine(changes, options);
  const filtered = Boolean(search || status || tag || proxyId);
  const create = () => app.open(ProfileDialog, { done: () => list.reload() });
  const { rows, total, atLeast, more, problem } = view;
  return html`
    <header class="page-head">
      <h1 tabindex="-1">Profiles ${rows && html`<span class="total">${number(total, atLeast)}</span>`}</h1>
      ${(filtered || rows?.length !== 0) && html`<div class="tools">
        <${SearchBox} value=${search} label="Search profiles" change=${(text) => refine({ search: text }, { replace: true })} />
        <select aria-label="Status" value=${status} onChange=${(event) => refine({ status: event.currentTarget.value })}>
          <option value="" selected=${!status}>Any status</option>
          ${Object.entries(PROFILE_STATUS).map(([value, { text }]) => html`<option value=${value} selected=${value === status}>${text}</option>`)}
        </select>
        <select aria-label="Order" value=${sort} onChange=${(event) => refine({ sort: event.currentTarget.value })}>
          ${Object.entries(SORTS).map(([value, text]) => html`<option value=${value} selected=${value === sort}>${text}</option>`)}
        </select>
        <button type="button" class="button primary" onClick=${create}><${Icon} name="plus" />New profile</button>
      </div>`}
    </header>
    <${Filters} tag=${tag} proxyId=${proxyId} refine=${refine} />
    <${ProblemBox} problem=${problem}><button type="button" class="button small" onClick=${() => list.reload()}>Try again</button><//>
    ${!rows && !problem && html`<${Waiting} />`}
    ${rows?.length > 0 && html`<${ProfileTable} rows=${rows} list=${list} choose=${(chosen) => refine({ tag: chosen })} />`}
    ${rows?.length === 0 && !problem && (filtered
      ? html`<${Empty} title="Nothing fits" drawing=${false}><p>No profile fits this search.</p>
          <button type="button" class="button" onClick=${() => refine({ search: '', status: '', tag: '', proxyId: '' })}>Show all profiles</button><//>`
      : html`<${Empty} title="No profiles yet">
          <p>A profile is a browser of its own: its own cookies, its own tabs, its own way out.</p>
          <button type="button" class="button primary large" onClick=${create}><${Icon} name="plus" />Create the first profile</button><//>`)}
    ${rows && html`<${Pager} page=${page} size=${PAGE_SIZE} shown=${rows.length} ...${{ more, total, atLeast }} go=${(to) => refine({ page: to > 1 ? String(to) : '' })} />`}
    <p class="visually-hidden" role="status">${rows && filtered ? `${number(total, atLeast)} profiles fit` : ''}</p>`;
}

// Filters shows the active filters that have no box of their own.
function Filters({ tag, proxyId, refine }) {
  const { model } = useApp();
  const proxy = useStore(model.proxies)?.get(proxyId);
  if (!tag && !proxyId) return null;
  return html`<p class="filters">Only
    ${tag && html`<button type="button" class="tag chosen" onClick=${() => refine({ tag: '' })}>tag <bdi>${tag}</bdi><${Icon} name="close" /><span class="visually-hidden">Remove</span></button>`}
    ${proxyId && html`<button type="button" class="tag chosen" onClick=${() => refine({ proxyId: '' })}>proxy <bdi>${proxy ? proxyName(proxy) : proxyId}</bdi><${Icon} name="close" /><span class="visually-hidden">Remove</span></button>`}
  </p>`;
}

const COLUMNS = ['Status', 'Profile', 'Tags', 'Proxy', 'Last run'];

function ProfileTable({ rows, list, choose }) {
  const several = useStore(useApp().model.workspaces).length > 1;
  return html`<table class="table profiles" role="table">
    <caption class="visually-hidden">Profiles</caption>
    <thead role="rowgroup"><tr role="row">
      ${COLUMNS.map((name) => html`<th key=${name} role="columnheader" scope="col">${name}</th>`)}
      <th role="columnheader" scope="col"><span class="visually-hidden">Actions</span></th>
    </tr></thead>
    <tbody role="rowgroup">${rows.map((profile) => html`<${ProfileRow} key=${profile.id} ...${{ profile, list, choose, several }} />`)}</tbody>
  </table>`;
}

function ProfileRow({ profile, list, choose, several }) {
  const app = useApp();
  const edit = () => app.open(ProfileDialog, { profile, done: (changed) => list.patch(profile.id, changed) });
  return html`<tr role="row" data-id=${profile.id} class=${`is-${profile.status}`}>
    <td role="cell" class="cell-status"><${Status} of=${PROFILE_STATUS[profile.status] || { text: profile.status, tone: 'quiet' }} /></td>
    <td role="cell" class="cell-main">${profile.status === 'running' && html`<${Preview} profile=${profile} />`}
      <button type="button" class="link title" title=${profile.name} onClick=${edit}><${Name}>${profile.name}<//></button>
      <span class="sub">${SYSTEMS[profile.os] || profile.os} · ${profile.browserVersion}${several ? html` · <bdi>${profile.workspaceId}</bdi>` : ''}</span>
    </td>
    <td role="cell" class="cell-tags"><${Tags} tags=${profile.tags} choose=${choose} /></td>
    <td role="cell" data-label="Proxy" class="cell-proxy"><${ProxyCell} profile=${profile} list=${list} /></td>
    <td role="cell" data-label="Last run" class="cell-run"><${LastRun} profile=${profile} /></td>
    <td role="cell" class="cell-actions"><${RowActions} ...${{ profile, list, edit }} /></td>
  </tr>`;
}

function RowActions({ profile, list, edit }) {
  const app = useApp();
  const busy = useStore(app.busy).has(profile.id);
  const { name, status } = profile;
  const runs = status === 'running' || status === 'stopping';
  const choose = () => app.open(ProxyDialog, { profile, done: (changed) => list.patch(profile.id, changed) });
  return html`<div class="actions">
    ${status === 'running' && html`<a class="button small" href=${viewOf(profile.id)} aria-label=${`View ${name}`}><${Icon} name="eye" />View</a>
      <button type="button" class="button small" aria-disabled=${busy} aria-label=${`Connect to ${name}`} onClick=${() => start(app, profile, list)}>
      <${Icon} name="plug" />Connect</button>`}
    ${runs
      ? html`<button type="button" class="button small" aria-disabled=${busy || status !== 'running'} aria-label=${`Stop ${name}`} onClick=${() => stop(app, profile, list)}>
          <${Icon} name="stop" />Stop</button>`
      : html`<button type="button" class="button small go" aria-disabled=${busy || status === 'starting'} aria-label=${`Start ${name}`} onClick=${() => start(app, profile, list)}>
          <${Icon} name="play" />Start</button>`}
    <button type="button" class="icon-button" aria-label=${`Edit ${name}`} title="Edit" onClick=${edit}><${Icon} name="edit" /></button>
    <${Menu} label=${`More for ${name}`} items=${[
      { label: 'Choose a proxy', icon: 'proxies', run: choose },
      { label: 'Move to trash', icon: 'trash', danger: true, run: () => askToDelete(app, profile, list) },
    ]} />
  </div>`;
}

// ProxyCell shows the profile's proxy, and changes it.
function ProxyCell({ profile, list }) {
  const app = useApp();
  const proxy = useStore(app.model.proxies)?.get(profile.proxyId);
  const choose = () => app.open(ProxyDialog, { profile, done: (changed) => list.patch(profile.id, changed) });
  const title = 'Choose another proxy';
  if (profile.proxyMissing) {
    return html`<button type="button" class="link" title=${title} onClick=${choose}><span class="bad-text">Its proxy is gone</span></button><span class="sub">Choose another to start</span>`;
  }
  if (!profile.proxyId) return html`<button type="button" class="link muted" title=${title} onClick=${choose}>Direct</button>`;
  if (!proxy) return html`<span class="muted">…</span>`;
  const { lastCheck } = proxy;
  const exit = profile.run?.proxy?.exitIp ? profile.run.proxy : proxy.status === 'alive' ? lastCheck : null;
  return html`<button type="button" class="link" title=${title} onClick=${choose}>
      <${Country} code=${exit?.country} name=${lastCheck?.countryName} /><${Name}>${proxyName(proxy)}<//></button>
    <span class="sub">${proxy.status === 'dead' && !exit
      ? html`<span class="bad-text">${faultWords(lastCheck?.error)?.happened || 'The last check failed.'}</span>`
      : exit?.exitIp ? html`${exit.exitIp}${exit.latencyMs != null ? ` · ${span(exit.latencyMs)}` : ''}` : 'Not checked yet'}</span>`;
}

function LastRun({ profile }) {
  const now = useNow();
  const { run, lastRun, status } = profile;
  if (run?.startedAt && status !== 'failed') {
    return html`<span class="age">${lasting(run.startedAt, now)}</span>
      <span class="sub">since <time datetime=${run.startedAt} title=${moment(run.startedAt)}>${since(run.startedAt, now)}</time></span>`;
  }
  if (!lastRun) return html`<span class="muted">Never</span>`;
  const ended = lastRun.endedAt || lastRun.startedAt;
  const took = lastRun.durationMs ?? Date.parse(lastRun.endedAt) - Date.parse(lastRun.startedAt);
  return html`<${Ago} time=${ended} /><span class="sub">${status === 'failed'
    ? html`<span class="bad-text" title=${(lastRun.lines || []).join('\n')}>${endWords(lastRun)}${lastRun.signal ? `, ${lastRun.signal}` : lastRun.exitCode > 0 ? `, exit code ${lastRun.exitCode}` : ''}</span>`
    : `${endWords(lastRun)}${took >= 0 ? ` after ${span(took)}` : ''}`}</span>`;
}
