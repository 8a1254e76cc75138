// The profiles: the grid, its filters, and what can be done with one or many.
import { useState } from 'preact/hooks';
import { html } from '../html.js';
import { askToDelete, connect, start, stop } from '../actions.js';
import { useApp } from '../app-context.js';
import { NoBrowser, useNoStart } from '../browsers.js';
import { Empty } from '../components.js';
import { number } from '../format.js';
import { Grid, GridProblem } from '../grid/grid.js';
import { Chips, ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList, useSort } from '../grid/use.js';
import { Icon } from '../icons.js';
import { CloneDialog, ExportDialog, FirstRun, ImportDialog, ProfileDialog, ProfileDrawer, ProxyDialog, TemplateDialog } from '../lazy.js';
import { Menu } from '../menu.js';
import { useFreshNodes, useSeveral } from '../nodes.js';
import { viewOf } from '../preview.js';
import { SearchBox } from '../searchbox.js';
import { useStore } from '../store.js';
import { ProfileBulk } from './bulk.js';
import { profileColumns } from './columns.js';
import { FILTERS, isFiltered, profileFilters, queryOf } from './filters.js';

// onProfileEvent keeps a list of profiles current.
export function onProfileEvent({ type, data }, rows) {
  const [kind, what] = type.split('.');
  if (kind !== 'profile' && kind !== 'run') return;
  const came = kind === 'profile' && ['created', 'batch_created', 'batch_changed', 'deleted', 'restored'].includes(what);
  rows.changed(data?.profileId || data?.id, came);
}

// isRefined says whether a change of a profile may move it into or out of the list, or to another place in it.
export function isRefined(query) {
  return FILTERS.some((name) => query[name]?.length > 0) || ['updatedAt', 'lastStartedAt', 'name'].includes(query.sort);
}

export function ProfilesPage({ params, path }) {
  const app = useApp();
  const workspaceId = useStore(app.model.workspace);
  const order = useSort(params, 'createdAt');
  const query = { ...queryOf(params, workspaceId), sort: order.sort, order: order.order };
  const { rows, selection, view } = useList('/profiles', query, onProfileEvent, { filtered: isRefined });
  const open = (profile) => app.router.open(profile.id);
  const several = useSeveral();
  useFreshNodes(several);
  const columns = useColumns('profiles', () => profileColumns({ choose: (tag) => app.router.refine({ tag }), open, several }), several);
  const filtered = isFiltered(params);
  const { total, atLeast } = view;
  const known = () => [...new Set(rows.loaded().flatMap(({ tags }) => tags || []))].sort();
  const { first, hold, end } = useFirst(total === 0 && !filtered && !view.problem, rows);
  return html`<div class="page" onDragOver=${(event) => dropped(event)} onDrop=${(event) => dropped(event, app)}>
    <header class="page-head">
      <h1 tabindex="-1">Profiles ${total !== null && html`<span class="total number">${number(total, atLeast)}</span>`}</h1>
      <div class="tools">
        ${!first && html`<${SearchBox} value=${params.get('search') || ''} label="Search profiles" change=${(search) => app.router.refine({ search }, { replace: true })} />`}
        <button type="button" class="button" onClick=${() => app.open(ImportDialog, {})}><${Icon} name="upload" /><span>Import</span></button>
        <button type="button" class=${first ? 'button' : 'button primary'} onClick=${() => create(app)}><${Icon} name="plus" /><span>New profile</span></button>
      </div>
    </header>
    ${!first && (filtered || total !== 0) && html`<div class="filters"><${Chips} filters=${profileFilters(known, app.nodes.all.value)} params=${params} /><${ViewMenu} columns=${columns} ...${order} /></div>`}
    <${NoBrowser} />
    <${GridProblem} rows=${rows} />
    <div class="page-body">${first ? html`<${FirstRun} hold=${hold} end=${end} />` : total === 0 && !view.problem ? html`<${NoProfiles} />` : html`<${Grid} label="Profiles" ...${{ rows, columns, selection, open }} ...${order} opened=${path[0]}
      what=${({ name }) => name} tone=${({ status }) => `is-${status}`} actionsWidth=${152}
      actions=${(profile) => html`<${RowActions} profile=${profile} rows=${rows} />`}
      keys=${{ s: (profile) => (canStart(profile) ? start(app, profile, rows) : stop(app, profile, rows)), v: (profile) => profile.status === 'running' && app.router.go(viewOf(profile.id)), e: (profile) => edit(app, profile, rows), p: (profile) => chooseProxy(app, profile, rows), d: (profile) => clone(app, profile), Delete: (profile) => askToDelete(app, profile, rows) }} />`}
      ${path[0] && html`<${ProfileDrawer} key=${path[0]} id=${path[0]} tab=${path[1]} rows=${rows} />`}</div>
    <${ProfileBulk} ...${{ selection, rows, total: total ?? 0 }} />
    <p class="visually-hidden" role="status">${total !== null && filtered ? `${number(total, atLeast)} profiles match` : ''}</p>
  </div>`;
}

// dropped opens the import of a file that is dropped on the page. What is dragged inside the page is none.
function dropped(event, app) {
  if (!event.dataTransfer?.types.includes('Files') || event.target.closest('dialog')) return;
  event.preventDefault();
  if (app && event.dataTransfer.files[0]) app.open(ImportDialog, { file: event.dataTransfer.files[0] });
}

// useFirst says whether the first run is shown: while there is no profile, and until the first one was started: hold keeps it meanwhile, end ends it.
function useFirst(none, rows) {
  const [held, setHeld] = useState(false);
  const end = async () => {
    await rows.reload().catch(() => {});
    setHeld(false);
  };
  return { first: none || held, hold: () => setHeld(true), end };
}

function NoProfiles() {
  const app = useApp();
  return html`<${Empty} title="No matches"><p>No profile matches ${app.router.current.value.params.get('search') ? 'this search' : 'these filters'}.</p>
    <button type="button" class="button" onClick=${() => app.router.refine(Object.fromEntries(FILTERS.map((name) => [name, ''])))}>Show all profiles</button><//>`;
}

export function create(app) {
  app.open(ProfileDialog, {});
}

function edit(app, profile, rows) {
  app.open(ProfileDialog, { profile, done: (changed) => rows.patch(profile.id, changed) });
}

function chooseProxy(app, profile, rows) {
  app.open(ProxyDialog, { profile, done: (changed) => rows.patch(profile.id, changed) });
}

function clone(app, profile) {
  app.open(CloneDialog, { profile });
}

function canStart({ status }) {
  return status === 'stopped' || status === 'failed';
}

export function RowActions({ profile, rows }) {
  const app = useApp();
  const busy = useStore(app.busy).has(profile.id);
  const offline = useStore(app.offline);
  const why = useNoStart();
  const { name, status } = profile;
  const running = status === 'running';
  return html`<div class="actions">
    ${running && html`<a class="icon-button" href=${viewOf(profile.id)} aria-label=${`View ${name}`} title="View"><${Icon} name="eye" /></a>`}
    ${running || status === 'stopping'
      ? html`<button type="button" class="button small" disabled=${offline} aria-disabled=${busy || !running} aria-label=${`Stop ${name}`} onClick=${() => stop(app, profile, rows)}><${Icon} name="stop" />Stop</button>`
      : html`<button type="button" class="button small go" disabled=${Boolean(why)} title=${why || undefined} aria-disabled=${busy || status === 'starting'} aria-label=${`Start ${name}`} onClick=${() => start(app, profile, rows)}><${Icon} name="play" />Start</button>`}
    <${Menu} label=${`More for ${name}`} items=${[
      running && { label: 'Connect', icon: 'plug', run: () => connect(app, profile, rows) },
      { label: 'Edit', icon: 'edit', keys: 'E', run: () => edit(app, profile, rows) },
      { label: 'Choose a proxy', icon: 'proxies', keys: 'P', run: () => chooseProxy(app, profile, rows) },
      { label: 'Clone', icon: 'copy', keys: 'D', run: () => clone(app, profile) },
      { label: 'Export', icon: 'download', run: () => app.open(ExportDialog, { profiles: [profile] }) },
      { label: 'Save as a template', icon: 'bookmark', run: () => app.open(TemplateDialog, { profile }) },
      'line',
      { label: 'Move to trash', icon: 'trash', danger: true, run: () => askToDelete(app, profile, rows) },
    ]} />
  </div>`;
}
