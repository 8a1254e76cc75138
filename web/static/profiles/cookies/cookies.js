// The cookies of a profile: a list that is read on demand, and what can be done with one or many of them.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { Ago, copyText, Empty, ProblemBox, Waiting } from '../../components.js';
import { count, number } from '../../format.js';
import { BulkBar } from '../../grid/bulkbar.js';
import { Grid } from '../../grid/grid.js';
import { Selection } from '../../grid/selection.js';
import { ViewMenu } from '../../grid/toolbar.js';
import { useColumns } from '../../grid/use.js';
import { Icon } from '../../icons.js';
import { Menu } from '../../menu.js';
import { SearchBox } from '../../searchbox.js';
import { FixedRows } from '../../settings/fixedrows.js';
import { Missing } from '../../settings/read.js';
import { useStore } from '../../store.js';
import { cookieColumns } from './columns.js';
import { DeleteDialog } from './delete.js';
import { EditDialog } from './edit.js';
import { ExportDialog } from './export.js';
import { ImportDialog } from './import.js';
import { Jar, matching, sorted } from './jar.js';

export function Cookies({ profile, path }) {
  const app = useApp();
  const jar = useMemo(() => new Jar(app.api, path), [app, path]);
  const { cookies, problem, busy } = useStore(jar.state);
  const running = profile.status === 'running';
  if (cookies) return html`<${List} ...${{ profile, jar }} />`;
  if (problem?.status === 403) return html`<${Missing} problem=${problem} what="cookies: they are secrets" scope="secrets" />`;
  return html`<${ProblemBox} problem=${problem} />
    <div class="quiet-box cookie-ask"><p>Whoever has a profile’s cookies is signed in as its user. They are read when you ask for them, and each time is recorded.</p>
      <p class="hint">${running ? 'They come from the browser that is running.' : 'The profile is stopped: a hidden browser without a network is opened for a moment.'}</p>
      <div class="button-line"><button type="button" class="button primary" aria-disabled=${busy} onClick=${() => !busy && jar.read()}>${busy ? 'Reading…' : 'Read the cookies'}</button>
        <button type="button" class="button" onClick=${() => app.open(ImportDialog, { profile, jar })}><${Icon} name="upload" />Import</button></div></div>
    ${busy && html`<${Waiting} />`}`;
}

// useShown says which values are shown: all, or those of some ids. {isShown, toggle, toggleAll, all}.
function useShown() {
  const [{ all, ids }, set] = useState({ all: false, ids: new Set() }); // ids are the exceptions
  return {
    all, ids,
    toggle: (id) => set((now) => {
      const next = new Set(now.ids);
      if (!next.delete(id)) next.add(id);
      return { all: now.all, ids: next };
    }),
    toggleAll: () => set({ all: !all, ids: new Set() }),
  };
}

function List({ profile, jar }) {
  const app = useApp();
  const box = useRef(null);
  const { cookies, problem, old } = useStore(jar.state);
  const offline = useStore(app.offline);
  const [search, setSearch] = useState('');
  const [{ sort, order }, setSort] = useState({ sort: 'domain', order: 'asc' });
  const { all, ids, toggle, toggleAll } = useShown();
  const selection = useMemo(() => new Selection(), []);
  const rows = useMemo(() => new FixedRows(), []);
  const found = useMemo(() => sorted(matching(cookies, search), sort, order), [cookies, search, sort, order]);
  const shown = useMemo(() => found.map((row) => (all === ids.has(row.id) ? row : { ...row, shown: true })), [found, all, ids]);
  const edit = (row) => (row.cookie.partitionKeyOpaque ? app.toasts.say({ text: 'This cookie cannot be changed.', more: 'It is of an opaque partition, which ends with its page.' })
    : app.open(EditDialog, { cookie: row.cookie, profile, jar }));
  const columns = useColumns('cookies', () => cookieColumns(edit));
  const drop = (some) => app.open(DeleteDialog, { cookies: some.map(({ cookie }) => cookie), jar, done: () => selection.clear() });
  const chosen = () => shown.filter(({ id }) => selection.has(id));
  useEffect(() => rows.set(shown), [shown]);
  useEffect(() => { // what is chosen is what is shown: nothing else is deleted with it
    const there = new Set(found.map(({ id }) => id));
    const { all: every, ids: some } = selection.state.value;
    if (every) selection.clear();
    else if (some.size) selection.keep([...some].filter(([id]) => there.has(id)));
  }, [found]);
  useEffect(() => box.current.querySelector('input')?.focus(), []); // the button that read them is gone
  const actions = useMemo(() => (row) => html`<${RowActions} ...${{ row, toggle, edit, drop }} />`, []);
  const escape = (event) => {
    if (event.key !== 'Escape' || event.target.closest('[popover]') || !(search || selection.size(found.length))) return;
    event.preventDefault(); // the drawer stays
    if (selection.size(found.length)) selection.clear();
    else setSearch('');
  };
  return html`<div class="cookies" ref=${box} onKeyDown=${escape}>
    <div class="cookie-tools tools">
      <${SearchBox} value=${search} label="Search cookies" change=${setSearch} />
      <button type="button" class="button" aria-pressed=${all} onClick=${toggleAll}><${Icon} name="eye" /><span>${all ? 'Hide values' : 'Show values'}</span></button>
      <button type="button" class="button" disabled=${offline} onClick=${() => app.open(ImportDialog, { profile, jar })}><${Icon} name="upload" /><span>Import</span></button>
      <button type="button" class="button" disabled=${offline} onClick=${() => app.open(ExportDialog, { profile, jar, cookies: search ? found.map(({ cookie }) => cookie) : [] })}><${Icon} name="download" /><span>Export</span></button>
      <button type="button" class="button primary" disabled=${offline} onClick=${() => app.open(EditDialog, { profile, jar })}><${Icon} name="plus" /><span>Add cookie</span></button>
    </div>
    <${Line} ...${{ profile, jar, columns, sort, order, search, some: found.length }} onSort=${(by, way) => setSort({ sort: by, order: way })} />
    <${ProblemBox} problem=${problem}><p>${old ? 'The list below is from before your last change, which was made.' : 'The list below is as it was.'}</p>
      <button type="button" class="button small" onClick=${() => jar.read()}>Try again</button><//>
    ${cookies.length === 0 ? html`<${Empty} title="No cookies"><p>Sites set them when the profile visits them. You can also import a file.</p><//>`
      : found.length === 0 ? html`<${Empty} title="No matches"><p>No cookie has this in its name, its domain or its value.</p><button type="button" class="button" onClick=${() => { setSearch(''); box.current.querySelector('input').focus(); }}>Show all cookies</button><//>`
      : html`<${Grid} label="Cookies" ...${{ rows, columns, selection, sort, order, actions, open: edit }} onSort=${(by, way) => setSort({ sort: by, order: way })} actionsWidth=${100}
        what=${({ name, cookie }) => `${name || '(no name)'} of ${cookie.domain}`} keys=${{ e: edit, v: ({ id }) => toggle(id), Delete: (row) => drop([row]) }} />`}
    <${BulkBar} selection=${selection} total=${found.length} what="cookies" actions=${[
      { label: 'Export', icon: 'download', run: () => app.open(ExportDialog, { profile, jar, cookies: chosen().map(({ cookie }) => cookie), chosen: true }) },
      { label: 'Delete', icon: 'trash', danger: true, run: () => drop(chosen()) },
    ]} />
  </div>`;
}

// Line says how many cookies there are, from when the list is, and whether the browser may have changed them since.
function Line({ profile, jar, columns, sort, order, onSort, search, some }) {
  const { cookies, busy, at } = useStore(jar.state);
  const running = profile.status === 'running';
  return html`<div class="cookie-line"><p class="muted"><span role="status">${search ? `${number(some)} of ${count(cookies.length, 'cookie')}` : count(cookies.length, 'cookie')}</span> · read <${Ago} time=${at} />${running && '. Its browser goes on changing them.'}</p>
    <button type="button" class="button quiet" aria-disabled=${busy} title=${running ? undefined : 'Opens a hidden browser for a moment'} onClick=${() => !busy && jar.read()}><${Icon} name="reload" /><span>${busy ? 'Reading…' : 'Reload'}</span></button>
    <span class="view-button"><${ViewMenu} ...${{ columns, sort, order, onSort }} /></span></div>`;
}

function RowActions({ row, toggle, edit, drop }) {
  const app = useApp();
  const { id, name, shown, cookie } = row;
  const what = name || 'the cookie without a name';
  const copy = async () => {
    await copyText(cookie.value);
    app.toasts.say({ text: `Copied the value of ${what}.`, tone: 'good' });
  };
  return html`<div class="actions">
    <button type="button" class="icon-button" aria-pressed=${Boolean(shown)} aria-label=${`Show the value of ${what}`} title=${shown ? 'Hide the value' : 'Show the value'} onClick=${() => toggle(id)}><${Icon} name="eye" /></button>
    <button type="button" class="icon-button" aria-label=${`Edit ${what}`} title="Edit" disabled=${cookie.partitionKeyOpaque} onClick=${() => edit(row)}><${Icon} name="edit" /></button>
    <${Menu} label=${`More for ${what}`} items=${[
      { label: 'Copy the value', icon: 'copy', run: copy },
      'line',
      { label: 'Delete', icon: 'trash', danger: true, run: () => drop([row]) },
    ]} /></div>`;
}
