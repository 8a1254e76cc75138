// The servers of one database: how each does, and draining and removing them.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Name, Status, Tags, Waiting } from '../components.js';
import { ConfirmDialog } from '../dialog.js';
import { ago, count, moment, number } from '../format.js';
import { Grid } from '../grid/grid.js';
import { Selection } from '../grid/selection.js';
import { ViewMenu } from '../grid/toolbar.js';
import { useColumns } from '../grid/use.js';
import { Icon } from '../icons.js';
import { Menu } from '../menu.js';
import { nodeState, useFreshNodes } from '../nodes.js';
import { activityOf, href } from '../route.js';
import { useStore } from '../store.js';
import { FixedRows } from './fixedrows.js';
import { Missing } from './read.js';

const NOTHING = html`<span class="muted not-in-card">–</span>`;

const SOON = 5; // seconds, in which a beat comes again
const MINUTE = 60;

// seen says when a server's beat moved last, so many seconds ago.
function seen(seconds) {
  if (seconds >= SOON && seconds < MINUTE) return `${Math.round(seconds)} s ago`;
  const now = Date.now();
  return ago(new Date(now - 1000 * seconds).toISOString(), now);
}

const COLUMNS = [
  { id: 'name', label: 'Server', min: 200, grow: 2, always: true, draw: (node) => html`<${NameCell} node=${node} />` },
  { id: 'state', label: 'State', width: 124, rank: 1, card: true, draw: (node) => html`<span class="two-lines"><${Status} of=${nodeState(node)} />${node.draining && node.state !== 'up' && html`<span class="sub">Draining</span>`}</span>` },
  { id: 'running', label: 'Running', width: 100, numeric: true, rank: 2, card: true, draw: ({ running, maxRunning }) => html`<span title="Browsers that run there, and may run at once">${number(running)}${maxRunning !== null && html`<span class="muted"> of ${number(maxRunning)}</span>`}<span class="in-card"> running</span></span>` },
  { id: 'pressure', label: 'Pressure', width: 96, numeric: true, rank: 3, card: true, draw: ({ state, pressure }) => (state === 'up' ? html`<span title="What the machine has least of: processor, memory or places for browsers">${number(pressure)} %<span class="in-card"> busy</span></span>` : NOTHING) },
  { id: 'labels', label: 'Labels', min: 120, grow: 1.2, rank: 4, draw: ({ labels }) => html`<${Tags} tags=${Object.entries(labels).map(([name, value]) => `${name}=${value}`)} most=${2} />` },
  { id: 'seen', label: 'Seen', width: 116, rank: 5, draw: ({ seenSecondsAgo: s, startedAt }) => html`<span class="muted number" title=${`Started ${moment(startedAt)}`}>${seen(s)}</span>` },
  { id: 'version', label: 'Version', width: 110, rank: 6, draw: ({ version }) => html`<span class="one-line" title=${version}>${version}</span>` },
  { id: 'browsers', label: 'Browsers', min: 120, grow: 1, rank: 7, hidden: true, draw: ({ browsers }) => html`<span class="one-line">${browsers.map(({ version }) => version).join(', ') || 'None'}</span>` },
  { id: 'id', label: 'ID', width: 292, rank: 9, hidden: true, draw: ({ id }) => html`<span class="mono">${id}</span>` },
];

function NameCell({ node: { name, address, self } }) {
  return html`<span class="two-lines"><span class="with-mark"><span class="title" title=${name}><${Name}>${name}<//></span>${self && html`<span class="mark" title="The server that answers this page">This page</span>`}</span>
    <span class="sub" title=${address}>${address}</span></span>`;
}

// useMayChange says whether the key is an administrator's: who may read the keys is one.
function useMayChange() {
  const { api } = useApp();
  const [may, setMay] = useState(false);
  useEffect(() => { api.get('/keys', { limit: 1 }).then(() => setMay(true), () => {}); }, []);
  return may;
}

export function Nodes() {
  const app = useApp();
  const all = useStore(app.nodes.all);
  const [problem, setProblem] = useState(null);
  useFreshNodes(true, setProblem);
  const mayChange = useMayChange();
  const rows = useMemo(() => new FixedRows(), []);
  const selection = useMemo(() => new Selection(), []);
  useEffect(() => rows.set(all), [all]);
  const columns = useColumns('nodes', () => COLUMNS);
  const show = ({ id }) => app.router.go(href('profiles', new URLSearchParams({ nodeId: id })));
  return html`
    <div class="settings-head"><p class="lead">The servers that share the database. A profile runs on the one that has its data.${mayChange ? '' : ' To drain and remove them you need a key with the scope admin that sees all workspaces.'}</p>
      <div class="tools"><${ViewMenu} columns=${columns} /></div></div>
    <${Missing} problem=${problem} what="the servers" scope="read" />
    ${!all.length ? !problem && html`<${Waiting} />` : html`<div class="page-body"><${Grid} label="Servers" ...${{ rows, columns, selection }} ticks=${false} open=${show} what=${({ name }) => name} tone=${({ state }) => (state === 'up' ? '' : 'is-over')}
      actionsWidth=${mayChange ? 144 : 60} actions=${(node) => html`<${Actions} ...${{ node, mayChange, show }} />`} /></div>`}
    <p class="visually-hidden" role="status">${all.length > 0 && count(all.length, 'server')}</p>`;
}

function Actions({ node, mayChange, show }) {
  const app = useApp();
  const busy = useStore(app.busy).has(node.id);
  const { name, draining } = node;
  return html`<div class="actions">
    ${mayChange && html`<button type="button" class="button small" disabled=${busy} aria-label=${`${draining ? 'Undrain' : 'Drain'} ${name}`} onClick=${() => (draining ? undrain(app, node) : askToDrain(app, node))}>${draining ? 'Undrain' : 'Drain'}</button>`}
    <${Menu} label=${`More for ${name}`} items=${[
      { label: 'Show its profiles', icon: 'profiles', run: () => show(node) },
      mayChange && { label: 'Activity', icon: 'activity', run: () => app.router.go(activityOf(node.id)) },
      mayChange && node.state !== 'up' && { label: 'Remove', icon: 'trash', danger: true, run: () => askToRemove(app, node) },
    ]} /></div>`;
}

// again shows the servers as they are now. What was asked for is done, whether they can be read or not.
function again(app) {
  return app.nodes.read().catch(() => {});
}

function undrain(app, { id, name }) {
  return app.during(id, async () => {
    try {
      await app.api.post(`/nodes/${encodeURIComponent(id)}/undrain`);
      app.toasts.say({ text: `${name} takes starts again.`, tone: 'good' });
    } catch (problem) {
      app.fail(`${name} still takes no starts`, problem);
    }
    await again(app);
  });
}

function askToDrain(app, { id, name }) {
  app.open(ConfirmDialog, {
    title: 'Drain this server?',
    verb: 'Drain',
    tone: 'primary',
    work: async () => {
      await app.api.post(`/nodes/${encodeURIComponent(id)}/drain`);
      app.toasts.say({ text: `${name} takes no new starts.` });
      await again(app);
    },
    children: html`<p><${Name}>${name}<//> takes no new starts, over its restarts too, until you undrain it. What runs there goes on.</p>
      <p>Profiles whose data it has cannot start meanwhile. Those without a server go to others.</p>`,
  });
}

function askToRemove(app, node) {
  const forget = { current: false };
  app.open(ConfirmDialog, {
    title: 'Remove this server?',
    verb: 'Remove',
    work: async () => {
      await app.api.delete(`/nodes/${encodeURIComponent(node.id)}`, { forget: forget.current ? 'true' : '' }).catch((problem) => { if (problem.status !== 404) throw problem; });
      app.toasts.say({ text: `Removed the server ${node.name}.` });
      await again(app);
    },
    children: html`<${WhatGoes} ...${{ node, forget }} />`,
  });
}

// WhatGoes says what a removal does, and asks whether the data are given up. forget is a place for the answer.
function WhatGoes({ node: { id, name, seenSecondsAgo }, forget }) {
  const { api } = useApp();
  const [profiles, setProfiles] = useState(null);
  const box = useRef(null);
  useEffect(() => { api.get('/profiles', { nodeId: id, limit: 1, page: 1 }).then(({ total }) => setProfiles(total), () => {}); }, []);
  return html`<p>Only for a server that does not come back. <${Name}>${name}<//> was last seen ${seen(seenSecondsAgo)}. Its runs count as lost.</p>
    ${profiles > 0 && html`<p>It has the data of ${count(profiles, 'profile')}. ${profiles === 1 ? 'It waits' : 'They wait'} for the server, unless you give the data up.</p>`}
    <label class="tick"><input type="checkbox" ref=${box} onChange=${() => { forget.current = box.current.checked; }} /> Give up the data. The profiles start anew on other servers, without their logins.</label>`;
}
