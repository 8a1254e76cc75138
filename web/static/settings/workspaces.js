// The workspaces: what each has of its quotas, and which keys see it.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Ago, Empty } from '../components.js';
import { ConfirmDialog, Dialog } from '../dialog.js';
import { number } from '../format.js';
import { Form, number as numberOf, Text, useForm } from '../forms.js';
import { Grid } from '../grid/grid.js';
import { ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList } from '../grid/use.js';
import { Icon } from '../icons.js';
import { Menu } from '../menu.js';
import { activityOf, href } from '../route.js';
import { Store, useStore } from '../store.js';
import { readKeys } from './allkeys.js';
import { Missing } from './read.js';

const NOTHING = html`<span class="muted not-in-card">–</span>`;
const GIB = 1024; // MiB

// QUOTAS are [member, label, words behind one and behind many in a card].
const QUOTAS = [['profiles', 'Profiles', 'profile', 'profiles'], ['running', 'Running', 'running', 'running'], ['diskMb', 'Disk', 'of disk', 'of disk'], ['proxies', 'Proxies', 'proxy', 'proxies']];

// figure writes a number of a quota. Disk is in binary units, in which it is limited.
function figure(member, n) {
  if (member !== 'diskMb') return number(n);
  return n < GIB ? `${number(n)} MiB` : `${number(Number((n / GIB).toFixed(n < 10 * GIB ? 1 : 0)))} GiB`;
}

// Used shows what a workspace uses of a quota, as a link to the list where there is one.
function Used({ member, use, quota, words, label, go }) {
  const shown = html`${figure(member, use)}${quota !== null && html`<span class=${use >= quota ? 'bad-text' : 'muted'}> of ${figure(member, quota)}</span>`}`;
  if (!use && quota === null) return NOTHING;
  return html`<span class="quota">${use > 0 && go ? html`<button type="button" class="link is-figure" title=${`Show them in ${label}`} onClick=${go}>${shown}</button>` : html`<span>${shown}</span>`}<span class="in-card"> ${words}</span>
    ${quota !== null && html`<meter class="gauge-bar" min="0" max="1" high="0.9" value=${quota ? Math.min(1, use / quota) : 1} aria-label=${`${label} in use`}></meter>`}</span>`;
}

function workspaceColumns(keys, go) {
  const amount = ([member, label, one, others], rank, place) => ({ id: member, label, width: 122, numeric: true, rank, card: member !== 'proxies',
    draw: ({ id, use, quotas }) => html`<${Used} ...${{ member, label }} use=${use[member]} quota=${quotas[member]} words=${(quotas[member] ?? use[member]) === 1 ? one : others} go=${place && (() => go(place, id))} />` });
  const [profiles, running, disk, proxies] = QUOTAS;
  return [
    { id: 'name', label: 'Workspace', min: 150, grow: 2, always: true, draw: ({ id, name }) => html`<span class="two-lines"><bdi class="title one-line" title=${name || id}>${name || id}</bdi>${name && html`<bdi class="sub">${id}</bdi>`}</span>` },
    amount(profiles, 1, 'profiles'),
    amount(running, 2, 'running'),
    amount(disk, 3),
    amount(proxies, 4, 'proxies'),
    { id: 'trash', label: 'Trash', width: 76, numeric: true, rank: 6, draw: ({ id, trashedCount }) => (trashedCount ? html`<button type="button" class="link is-figure" title="Show them in Trash" onClick=${() => go('trash', id)}>${number(trashedCount)}</button>` : NOTHING) },
    { id: 'keys', label: 'Keys that see it', min: 130, grow: 1.4, rank: 5, draw: ({ id }) => html`<${SeenBy} keys=${keys} id=${id} />` },
    { id: 'created', label: 'Created', width: 118, rank: 7, draw: ({ createdAt }) => html`<span class="muted"><${Ago} time=${createdAt} /></span>` },
  ];
}

function SeenBy({ keys, id }) {
  const known = useStore(keys);
  if (!known) return NOTHING;
  const names = known.filter(({ workspaces }) => !workspaces || workspaces.includes(id)).map(({ name }) => name);
  const words = names.length ? names.join(', ') : 'None';
  return html`<bdi class="one-line" title=${words}>${words}</bdi>`;
}

// useKeys reads the keys that are in force, and reads them again when one is made or revoked. null: unknown, or not allowed.
function useKeys() {
  const app = useApp();
  const [keys] = useState(() => new Store(null));
  useEffect(() => {
    const read = async () => keys.set((await readKeys(app.api)).filter(({ revokedAt, expiresAt }) => !revokedAt && !(expiresAt && Date.parse(expiresAt) < Date.now())));
    read().catch(() => {}); // the column stays empty
    return app.model.event.watch(({ type }) => type.startsWith('key.') && read().catch(() => {}));
  }, []);
  return keys;
}

export function Workspaces() {
  const app = useApp();
  const keys = useKeys();
  const mayChange = useStore(keys) !== null; // who may read the keys is an administrator
  const { rows, selection, view } = useList('/workspaces', {}, ({ type }, list) => /^(workspace|profile|proxy)\./.test(type) && !/\.(checked|status)$/.test(type) && list.changed(null, true));
  const go = (place, id) => {
    app.model.chooseWorkspace(id);
    app.router.go(href(place));
  };
  const columns = useColumns('workspaces', () => workspaceColumns(keys, go));
  const reload = () => rows.reload().catch(() => {});
  const { total, problem } = view;
  const edit = (workspace) => app.open(WorkspaceForm, { workspace, done: reload });
  return html`
    <div class="settings-head"><p class="lead">A workspace keeps its profiles and proxies apart. A key sees all workspaces, or only those it was made for.${mayChange ? '' : ' To create and change them you need a key with the scope admin.'}</p>
      <div class="tools"><${ViewMenu} columns=${columns} />${mayChange && html`<button type="button" class="button primary" onClick=${() => app.open(WorkspaceForm, { done: reload })}><${Icon} name="plus" /><span>New workspace</span></button>`}</div></div>
    <${Missing} problem=${problem} what="the workspaces" scope="read" />
    ${total === 0 ? html`<${Empty} title="No workspaces yet" drawing=${false}><p>The first profile or proxy makes one.</p><//>` : html`<div class="page-body"><${Grid} label="Workspaces" ...${{ rows, columns, selection }} ticks=${false} what=${({ id, name }) => name || id} open=${mayChange ? edit : undefined}
      actionsWidth=${mayChange ? 132 : 16} actions=${mayChange ? (workspace) => html`<div class="actions"><button type="button" class="button small" aria-label=${`Edit ${workspace.name || workspace.id}`} onClick=${() => edit(workspace)}><${Icon} name="edit" />Edit</button>
        <${Menu} label=${`More for ${workspace.name || workspace.id}`} items=${[{ label: 'Activity', icon: 'activity', run: () => app.router.go(activityOf(workspace.id)) }, { label: 'Delete', icon: 'trash', danger: true, run: () => askToDelete(app, workspace, reload) }]} /></div>` : null} /></div>`}`;
}

// asFault shows at its field that the id is taken.
function asFault(problem) {
  if (problem.code === 'duplicate') Object.assign(problem, { code: 'validation_failed', errors: [{ location: 'body.id', message: 'There is a workspace with this id already.' }] });
  throw problem;
}

function askToDelete(app, workspace, reload) {
  app.open(ConfirmDialog, {
    title: 'Delete this workspace?',
    verb: 'Delete',
    work: async () => {
      await app.api.delete(`/workspaces/${encodeURIComponent(workspace.id)}`).catch((problem) => { if (problem.code !== 'workspace_not_found') throw problem; });
      if (app.model.workspace.value === workspace.id) app.model.chooseWorkspace('');
      app.toasts.say({ text: `Deleted the workspace ${workspace.name || workspace.id}.` });
      await reload();
    },
    children: html`<p><bdi>${workspace.name || workspace.id}</bdi> goes with its name, its defaults and its quotas. Only an empty workspace can be deleted.</p>`,
  });
}

// quotaValues are the form's texts for quotas. Disk is in GiB there, as people think of disks.
function quotaValues(quotas) {
  return Object.fromEntries(QUOTAS.map(([member]) => [member, quotas?.[member] == null ? '' : String(member === 'diskMb' ? Number((quotas[member] / GIB).toFixed(3)) : quotas[member])]));
}

// quotaBody returns the quotas that the person has changed. null is no limit.
function quotaBody(values, before) {
  const body = {};
  for (const [member] of QUOTAS) {
    if (values[member] === before[member]) continue;
    const value = numberOf(values[member]);
    body[member] = value === '' ? null : member === 'diskMb' && typeof value === 'number' ? Math.round(value * GIB) : value;
  }
  return body;
}

// WorkspaceForm makes a workspace, or changes the name and the quotas of one.
function WorkspaceForm({ workspace, done, close }) {
  const app = useApp();
  const before = quotaValues(workspace?.quotas);
  const form = useForm({ id: '', name: workspace?.name || '', ...before });
  const save = async ({ id, name, ...quotas }) => {
    const changed = quotaBody(quotas, before);
    const body = { ...(name.trim() !== (workspace?.name || '') && { name: name.trim() || null }), ...(Object.keys(changed).length && { quotas: changed }) };
    if (workspace) await app.api.call('PATCH', `/workspaces/${encodeURIComponent(workspace.id)}`, { body });
    else await app.api.post('/workspaces', { id: id.trim(), ...body }).catch(asFault);
    app.toasts.say({ text: workspace ? `Saved the workspace ${name.trim() || workspace.id}.` : `Created ${name.trim() || id.trim()}.`, tone: 'good' });
    done();
    close();
  };
  const quota = (name, label) => html`<${Text} form=${form} name=${name} member=${`quotas.${name}`} label=${label} inputmode="decimal" placeholder="No limit" hint=${workspace && `Now ${figure(name, workspace.use[name])}.`} />`;
  return html`<${Dialog} title=${workspace ? 'Edit the workspace' : 'New workspace'} lead=${workspace && html`<bdi>${workspace.id}</bdi>`} close=${close}><${Form} form=${form} work=${save} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy || (!workspace && !form.values.id.trim())}>${form.busy ? 'Saving…' : workspace ? 'Save' : 'Create'}</button>`}>
    <div class="fields">
      ${!workspace && html`<${Text} form=${form} name="id" label="ID" wide autofocus maxlength="64" class="mono" placeholder="team-b" hint="Programs name the workspace by it. It never changes. Letters, digits and . _ - are allowed." />`}
      <${Text} form=${form} name="name" label="Name" wide optional autofocus=${Boolean(workspace)} maxlength="200" placeholder="Team B" /></div>
    <fieldset class="group"><legend>Quotas</legend><div class="fields">
      ${quota('profiles', 'Profiles')}${quota('running', 'Running at once')}${quota('diskMb', 'Disk (GiB)')}${quota('proxies', 'Proxies')}
      <p class="hint wide">What would exceed one is refused. A quota below what is used removes nothing.</p></div></fieldset><//><//>`;
}
