// The workspaces: what is in each, and which keys see it.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Ago, Empty } from '../components.js';
import { Dialog } from '../dialog.js';
import { number } from '../format.js';
import { Form, Text, useForm } from '../forms.js';
import { Grid } from '../grid/grid.js';
import { ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList } from '../grid/use.js';
import { Icon } from '../icons.js';
import { href } from '../route.js';
import { Store, useStore } from '../store.js';
import { Missing } from './read.js';

const NOTHING = html`<span class="muted not-in-card">–</span>`;
const PAGE = 200;
const MOST_KEYS = 1000; // that are read to say who sees a workspace

function workspaceColumns(keys, go) {
  const amount = (id, label, name, member, rank, words) => ({ id, label, width: 96, numeric: true, rank, card: true,
    draw: (workspace) => (workspace[member] ? html`<button type="button" class="link is-figure" title=${`Show them in ${label}`} onClick=${() => go(name, workspace.id)}>${number(workspace[member])}<span class="in-card"> ${words(workspace[member])}</span></button>` : html`<span class="muted not-in-card">–</span>`) });
  return [
    { id: 'name', label: 'Workspace', min: 170, grow: 2, always: true, draw: ({ id, name }) => html`<span class="two-lines"><bdi class="title one-line" title=${name || id}>${name || id}</bdi>${name && html`<bdi class="sub">${id}</bdi>`}</span>` },
    amount('profiles', 'Profiles', 'profiles', 'profileCount', 1, (n) => (n === 1 ? 'profile' : 'profiles')),
    amount('proxies', 'Proxies', 'proxies', 'proxyCount', 2, (n) => (n === 1 ? 'proxy' : 'proxies')),
    amount('trash', 'Trash', 'trash', 'trashedCount', 5, () => 'in the trash'),
    { id: 'keys', label: 'Keys that see it', min: 170, grow: 2, rank: 3, draw: ({ id }) => html`<${SeenBy} keys=${keys} id=${id} />` },
    { id: 'created', label: 'Created', width: 118, rank: 6, draw: ({ createdAt }) => html`<span class="muted"><${Ago} time=${createdAt} /></span>` },
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
    const read = async () => {
      const all = [];
      for (let after = ''; all.length < MOST_KEYS;) {
        const { data, next, hasMore } = await app.api.get('/keys', { limit: PAGE, after });
        all.push(...data);
        if (!hasMore) break;
        after = next;
      }
      keys.set(all.filter(({ revokedAt, expiresAt }) => !revokedAt && !(expiresAt && Date.parse(expiresAt) < Date.now())));
    };
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
  const rename = (workspace) => app.open(WorkspaceForm, { workspace, done: reload });
  return html`
    <div class="settings-head"><p class="lead">A workspace keeps its profiles and proxies apart. A key sees all workspaces, or only those it was made for.${mayChange ? '' : ' To create and rename them you need a key with the scope admin.'}</p>
      <div class="tools"><${ViewMenu} columns=${columns} />${mayChange && html`<button type="button" class="button primary" onClick=${() => app.open(WorkspaceForm, { done: reload })}><${Icon} name="plus" /><span>New workspace</span></button>`}</div></div>
    <${Missing} problem=${problem} what="the workspaces" scope="read" />
    ${total === 0 ? html`<${Empty} title="No workspaces yet" drawing=${false}><p>The first profile or proxy makes one.</p><//>` : html`<div class="page-body"><${Grid} label="Workspaces" ...${{ rows, columns, selection }} ticks=${false} what=${({ id, name }) => name || id}
      actionsWidth=${mayChange ? 104 : 16} actions=${mayChange ? (workspace) => html`<div class="actions"><button type="button" class="button small" aria-label=${`Rename ${workspace.name || workspace.id}`} onClick=${() => rename(workspace)}>Rename</button></div>` : null} /></div>`}`;
}

// asFault shows at its field that the id is taken.
function asFault(problem) {
  if (problem.code === 'duplicate') Object.assign(problem, { code: 'validation_failed', errors: [{ location: 'body.id', message: 'There is a workspace with this id already.' }] });
  throw problem;
}

// WorkspaceForm makes a workspace, or gives one another name.
function WorkspaceForm({ workspace, done, close }) {
  const app = useApp();
  const form = useForm({ id: '', name: workspace?.name || '' });
  const save = async ({ id, name }) => {
    if (workspace) await app.api.call('PATCH', `/workspaces/${encodeURIComponent(workspace.id)}`, { body: { name: name.trim() || null } });
    else await app.api.post('/workspaces', { id: id.trim(), ...(name.trim() ? { name: name.trim() } : {}) }).catch(asFault);
    app.toasts.say({ text: workspace ? `Renamed ${workspace.id}.` : `Created ${name.trim() || id.trim()}.`, tone: 'good' });
    done();
    close();
  };
  return html`<${Dialog} title=${workspace ? 'Rename the workspace' : 'New workspace'} lead=${workspace && html`<bdi>${workspace.id}</bdi>`} close=${close}><${Form} form=${form} work=${save} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy || (!workspace && !form.values.id.trim())}>${form.busy ? 'Saving…' : workspace ? 'Rename' : 'Create'}</button>`}>
    <div class="fields">
      ${!workspace && html`<${Text} form=${form} name="id" label="ID" wide autofocus maxlength="64" class="mono" placeholder="team-b" hint="Programs name the workspace by it. It never changes. Letters, digits and . _ - are allowed." />`}
      <${Text} form=${form} name="name" label="Name" wide optional autofocus=${Boolean(workspace)} maxlength="200" placeholder="Team B" /></div><//><//>`;
}
