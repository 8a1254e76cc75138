// What happened: the log of what is recorded for good, and the events since the page was opened.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Ago, Empty } from '../components.js';
import { count, moment } from '../format.js';
import { Grid } from '../grid/grid.js';
import { Selection } from '../grid/selection.js';
import { Chips, ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList } from '../grid/use.js';
import { href } from '../route.js';
import { useStore } from '../store.js';
import { FixedRows } from './fixedrows.js';
import { Missing } from './read.js';
import { ABOUT, ACTIONS, EventSentence, Sentence } from './sentences.js';

const NOTHING = html`<span class="muted not-in-card">–</span>`;
const when = { id: 'at', label: 'When', width: 128, rank: 1, card: true, draw: ({ at }) => html`<span class="muted"><${Ago} time=${at} /></span>` };
const time = { id: 'time', label: 'Time', width: 190, rank: 6, hidden: true, draw: ({ at }) => html`<span class="number">${moment(at)}</span>` };
const workspace = { id: 'workspace', label: 'Workspace', width: 130, rank: 4, draw: ({ workspaceId }) => (workspaceId ? html`<bdi class="one-line">${workspaceId}</bdi>` : NOTHING) };

const LOG = [
  { id: 'what', label: 'What happened', min: 260, grow: 3, always: true, draw: (entry) => html`<span class="one-line sentence"><${Sentence} entry=${entry} /></span>` },
  when, time,
  { id: 'remote', label: 'From', width: 150, rank: 3, card: true, draw: ({ remote }) => html`<span class="number one-line" title=${remote}>${remote}</span>` },
  workspace,
  { id: 'request', label: 'Request', width: 292, rank: 7, hidden: true, draw: ({ requestId }) => html`<span class="mono">${requestId}</span>` },
];
const HAPPENED = [
  { id: 'what', label: 'What happened', min: 260, grow: 3, always: true, draw: (event) => html`<span class="one-line sentence"><${EventSentence} event=${event} /></span>` },
  when, time, workspace,
  { id: 'type', label: 'Type', width: 170, rank: 7, hidden: true, draw: ({ type }) => html`<span class="mono">${type}</span>` },
];

const LOG_FILTERS = [{ name: 'action', label: 'What', options: ACTIONS }];
const EVENT_FILTERS = [{ name: 'about', label: 'About', options: ABOUT }];

export function Activity({ params, path }) {
  const recent = path[1] === 'events';
  return html`<div class="settings-head"><p class="lead">${recent ? 'What has happened since this page was opened, newest first.' : 'Who read or exported passwords and cookies, changed workspaces, and installed browsers. Records are kept for good.'}</p>
      <nav class="segments" aria-label="Activity"><a class="segment-button" href=${href('settings', undefined, ['activity'])} aria-current=${recent ? undefined : 'page'}>Log</a>
        <a class="segment-button" href=${href('settings', undefined, ['activity', 'events'])} aria-current=${recent ? 'page' : undefined}>Events</a></nav></div>
    ${recent ? html`<${Events} key="events" params=${params} />` : html`<${Log} key="log" params=${params} />`}`;
}

function Log({ params }) {
  const action = params.get('action') || '';
  const { rows, selection, view } = useList('/audit', { action }, ({ type }, list) => /^(?:workspace\.|template\.|schedule\.(?:created|updated|deleted)|browser\.(?:installed|failed))/.test(type) && list.changed(null, true));
  const columns = useColumns('audit', () => LOG);
  if (view.problem) return html`<${Missing} problem=${view.problem} what="the log" />`;
  return html`<div class="filters"><${Chips} filters=${LOG_FILTERS} params=${params} /><${ViewMenu} columns=${columns} /></div>
    ${view.total === 0 ? html`<${Empty} title=${action ? 'No matches' : 'Nothing is recorded yet'} drawing=${false}><p>Each time a key reads or exports a password or cookies, it shows up here.</p><//>`
      : html`<div class="page-body"><${Grid} label="Log" ...${{ rows, columns, selection }} ticks=${false} what=${({ action: name }) => name} actionsWidth=${16} /></div>`}
    <p class="visually-hidden" role="status">${view.total !== null && count(view.total, 'record')}</p>`;
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
