// What happened: the audit log, and the events since the page was opened.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Ago, Empty } from '../components.js';
import { count, moment, number } from '../format.js';
import { Grid } from '../grid/grid.js';
import { Selection } from '../grid/selection.js';
import { Chips, ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList } from '../grid/use.js';
import { Icon } from '../icons.js';
import { saveBlob } from '../profiles/drawer/use.js';
import { href } from '../route.js';
import { useStore } from '../store.js';
import { EntryDialog, Result, Sentence } from './entry.js';
import { FixedRows } from './fixedrows.js';
import { LOG_FILTERS } from './logfilters.js';
import { Missing } from './read.js';
import { ABOUT, EventSentence } from './sentences.js';

const NOTHING = html`<span class="muted not-in-card">–</span>`;
const when = { id: 'at', label: 'When', width: 128, rank: 1, card: true, draw: ({ at }) => html`<span class="muted"><${Ago} time=${at} /></span>` };
const time = { id: 'time', label: 'Time', width: 190, rank: 6, hidden: true, draw: ({ at }) => html`<span class="number">${moment(at)}</span>` };
const workspace = { id: 'workspace', label: 'Workspace', width: 130, rank: 4, draw: ({ workspaceId }) => (workspaceId ? html`<bdi class="one-line">${workspaceId}</bdi>` : NOTHING) };

const LOG = [
  { id: 'what', label: 'What happened', min: 260, grow: 3, always: true, draw: (entry) => html`<span class="one-line sentence"><${Sentence} entry=${entry} /></span>` },
  { id: 'result', label: 'Result', width: 172, rank: 2, card: true, draw: (entry) => html`<${Result} entry=${entry} />` },
  when, time,
  { id: 'remote', label: 'From', width: 132, rank: 5, card: true, draw: ({ remote }) => (remote ? html`<span class="number one-line" title=${remote}>${remote}</span>` : NOTHING) },
  workspace,
  { id: 'action', label: 'Action', width: 160, rank: 8, hidden: true, draw: ({ action }) => html`<span class="mono">${action}</span>` },
  { id: 'request', label: 'Request', width: 292, rank: 7, hidden: true, draw: ({ requestId }) => html`<span class="mono">${requestId}</span>` },
];
const HAPPENED = [
  { id: 'what', label: 'What happened', min: 260, grow: 3, always: true, draw: (event) => html`<span class="one-line sentence"><${EventSentence} event=${event} /></span>` },
  when, time, workspace,
  { id: 'type', label: 'Type', width: 170, rank: 7, hidden: true, draw: ({ type }) => html`<span class="mono">${type}</span>` },
];

const EVENT_FILTERS = [{ name: 'about', label: 'About', options: ABOUT }];

export function Activity({ params, path }) {
  const recent = path[1] === 'events';
  return html`<div class="settings-head"><p class="lead">${recent ? 'What has happened since this page was opened, newest first.' : html`<${Kept} />`}</p>
      <nav class="segments" aria-label="Activity"><a class="segment-button" href=${href('settings', undefined, ['activity'])} aria-current=${recent ? undefined : 'page'}>Log</a>
        <a class="segment-button" href=${href('settings', undefined, ['activity', 'events'])} aria-current=${recent ? 'page' : undefined}>Events</a></nav></div>
    ${recent ? html`<${Events} key="events" params=${params} />` : html`<${Log} key="log" params=${params} />`}`;
}

// Kept says what the log has, and for how long.
function Kept() {
  const days = useStore(useApp().model.counts)?.auditDays;
  return html`Who changed what, read secrets, or was refused. Entries are kept ${days > 0 ? `for ${count(days, 'day')}` : days === 0 ? 'for ever' : ''}. Nobody can change one unseen: <code>warren check</code> verifies their chain.`;
}

// isRecorded says whether an event may come with a new record. Every change has one; readings have no event.
function isRecorded({ type }) {
  return !/\.(?:progress|checked|all_checked|status|expiring|exit_changed|returned|died)$/.test(type);
}

function Log({ params }) {
  const app = useApp();
  const query = Object.fromEntries(LOG_FILTERS.map(({ name }) => [name, params.get(name) || '']));
  const filtered = Object.values(query).some(Boolean);
  const { rows, selection, view } = useList('/audit', query, (event, list) => isRecorded(event) && list.changed(null, true));
  const columns = useColumns('audit', () => LOG);
  const [saving, setSaving] = useState(false);
  if (view.problem?.status === 403) return html`<${Missing} problem=${view.problem} what="the log" />`;
  const save = async () => {
    setSaving(true);
    try {
      const found = new URLSearchParams(Object.entries({ ...query, format: 'jsonl' }).filter(([, value]) => value));
      saveBlob(await (await app.api.open('GET', `api/v1/audit?${found}`)).blob(), `warren-audit-${new Date().toISOString().slice(0, 10)}.jsonl`);
    } catch (problem) {
      app.fail('The log was not exported', problem);
    }
    setSaving(false);
  };
  return html`<div class="filters"><${Chips} filters=${LOG_FILTERS} params=${params} />
      <button type="button" class="button quiet" disabled=${saving || !view.total} title="All entries that are listed here, as one JSON object a line" onClick=${save}><${Icon} name="download" /><span>${saving ? 'Exporting…' : 'Export'}</span></button><${ViewMenu} columns=${columns} /></div>
    <${Missing} problem=${view.problem} what="the log" />
    ${view.total === 0 ? html`<${Empty} title=${filtered ? 'No matches' : 'Nothing is recorded yet'} drawing=${false}><p>${filtered ? 'No entry fits all of these filters.' : 'Each change, and each reading of a password or of cookies, shows up here.'}</p><//>`
      : !view.problem && html`<div class="page-body"><${Grid} label="Log" ...${{ rows, columns, selection }} ticks=${false} open=${(entry) => app.open(EntryDialog, { entry })} what=${({ action, seq }) => `${action} ${number(seq)}`}
        actionsWidth=${88} actions=${(entry) => html`<div class="actions"><button type="button" class="button small" aria-label=${`Details of entry ${number(entry.seq)}`} onClick=${() => app.open(EntryDialog, { entry })}>Details</button></div>`} /></div>`}
    <p class="visually-hidden" role="status">${view.total !== null && count(view.total, 'entry', 'entries')}</p>`;
}

function Events({ params }) {
  const app = useApp();
  const about = params.get('about') || '';
  const all = useStore(app.model.recent);
  const rows = useMemo(() => new FixedRows(), []);
  const [selection] = useState(() => new Selection());
  const columns = useColumns('events', () => HAPPENED);
  const shown = about ? all.filter(({ type }) => type.startsWith(`${about}.`)) : all;
  useEffect(() => rows.set(shown), [all, about]);
  return html`<div class="filters"><${Chips} filters=${EVENT_FILTERS} params=${params} /><${ViewMenu} columns=${columns} /></div>
    ${shown.length === 0 ? html`<${Empty} title=${about ? 'No matches' : 'Nothing has happened yet'} drawing=${false}><p>Starts, checks and changes show up here as they happen.</p><//>`
      : html`<div class="page-body"><${Grid} label="Events" ...${{ rows, columns, selection }} ticks=${false} what=${({ type }) => type} actionsWidth=${16} /></div>`}`;
}
