// The API keys: who may do what, until when, and when each was last used.
import { html } from '../html.js';
import { useApp, useNow } from '../app-context.js';
import { Ago, Empty, Name, Status } from '../components.js';
import { ConfirmDialog } from '../dialog.js';
import { count, number } from '../format.js';
import { BulkBar } from '../grid/bulkbar.js';
import { Grid } from '../grid/grid.js';
import { ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList } from '../grid/use.js';
import { Icon } from '../icons.js';
import { activityOf } from '../route.js';
import { readKey } from '../session.js';
import { KeyForm } from './keyform.js';
import { Missing } from './read.js';
import { scopeWords } from './scopes.js';

const HINT = 8; // characters of a key that the server shows

// isOwn says whether a key is the one that this page uses, as far as its beginning tells.
export function isOwn(key) {
  return !key.revokedAt && key.hint === readKey().slice(0, HINT);
}

// stateOf returns a key's state: active, expired or revoked.
function stateOf({ revokedAt, expiresAt }, now) {
  if (revokedAt) return { text: 'Revoked', tone: 'quiet', over: true };
  if (expiresAt && Date.parse(expiresAt) <= now) return { text: 'Expired', tone: 'quiet', over: true };
  return { text: 'Active', tone: 'good', over: false };
}

const COLUMNS = [
  { id: 'name', label: 'Key', min: 190, grow: 2, always: true, draw: (key) => html`<${NameCell} apiKey=${key} />` },
  { id: 'state', label: 'State', width: 104, rank: 2, card: true, draw: (key) => html`<${State} apiKey=${key} />` },
  { id: 'scopes', label: 'May', min: 180, grow: 1.6, rank: 1, draw: ({ scopes }) => html`<span class="one-line" title=${scopeWords(scopes)}>${scopeWords(scopes)}</span>` },
  { id: 'workspaces', label: 'Workspaces', min: 110, grow: 1, rank: 5, draw: ({ workspaces }) => (workspaces ? html`<bdi class="one-line" title=${workspaces.join(', ')}>${workspaces.join(', ')}</bdi>` : html`<span class="muted">All</span>`) },
  { id: 'used', label: 'Last used', width: 118, rank: 3, card: true, draw: ({ lastUsedAt }) => (lastUsedAt ? html`<span class="in-card">Used </span><${Ago} time=${lastUsedAt} />` : html`<span class="muted">Not used yet</span>`) },
  { id: 'expires', label: 'Expires', width: 112, rank: 4, draw: ({ expiresAt }) => (expiresAt ? html`<${Until} time=${expiresAt} />` : html`<span class="muted">Never</span>`) },
  { id: 'created', label: 'Created', width: 112, rank: 6, draw: ({ createdAt }) => html`<span class="muted"><${Ago} time=${createdAt} /></span>` },
  { id: 'id', label: 'ID', width: 292, rank: 9, hidden: true, draw: ({ id }) => html`<span class="mono">${id}</span>` },
];

function NameCell({ apiKey: key }) {
  return html`<span class="two-lines"><span class="title" title=${key.name}><${Name}>${key.name}<//></span>
    <span class="with-mark"><span class="sub mono">${key.hint}…</span>${isOwn(key) && html`<span class="mark">This page</span>`}${key.session && html`<span class="mark is-quiet" title="Made by logging in to the page">Login</span>`}</span></span>`;
}

function State({ apiKey }) {
  return html`<${Status} of=${stateOf(apiKey, useNow())} />`;
}

// Until shows a day to come, with the time in the tooltip.
function Until({ time }) {
  const at = Date.parse(time);
  return html`<time datetime=${time} title=${new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }).format(at)}>${new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' }).format(at)}</time>`;
}

export function Keys() {
  const app = useApp();
  const { rows, selection, view } = useList('/keys', {}, ({ type }, list) => type.startsWith('key.') && list.changed(null, true));
  const columns = useColumns('keys', () => COLUMNS);
  const { total, problem } = view;
  if (problem?.status === 403) return html`<${Missing} problem=${problem} what="the keys" />`;
  const make = () => app.open(KeyForm, { done: () => rows.reload().catch(() => {}) });
  return html`
    <div class="settings-head"><p class="lead">A key is a password for programs and people. Give each its own, with no more than it needs.</p>
      <div class="tools"><${ViewMenu} columns=${columns} /><button type="button" class="button primary" onClick=${make}><${Icon} name="plus" /><span>New key</span></button></div></div>
    <${Missing} problem=${problem} what="the keys" />
    ${total === 0 ? html`<${Empty} title="No keys yet" drawing=${false} />` : html`<div class="page-body"><${Grid} label="Keys" ...${{ rows, columns, selection }} what=${({ name }) => name} tone=${(key) => (key.revokedAt ? 'is-over' : '')}
      actionsWidth=${172} actions=${(key) => html`<div class="actions"><a class="button small" href=${activityOf(key.id, 'keyId')} aria-label=${`Activity of ${key.name}`}>Activity</a>${!key.revokedAt && html`<button type="button" class="button small" aria-label=${`Revoke ${key.name}`} onClick=${() => askToRevoke(app, [key], rows)}>Revoke</button>`}</div>`} /></div>`}
    <${BulkBar} selection=${selection} total=${total ?? 0} what="key" actions=${[{ label: 'Revoke', icon: 'close', danger: true, run: () => {
      const keys = rows.loaded().filter((key) => selection.has(key.id) && !key.revokedAt);
      selection.clear();
      if (keys.length) askToRevoke(app, keys, rows);
    } }]} />
    <p class="visually-hidden" role="status">${total !== null && count(total, 'key')}</p>`;
}

// askToRevoke asks, and says what ends with the keys. The page's own key goes last.
function askToRevoke(app, keys, rows) {
  const own = keys.some(isOwn);
  const used = keys.length === 1 && keys[0].lastUsedAt;
  app.open(ConfirmDialog, {
    title: keys.length === 1 ? 'Revoke this key?' : `Revoke ${number(keys.length)} keys?`,
    verb: 'Revoke',
    work: async () => {
      for (const key of [...keys].sort((a, b) => isOwn(a) - isOwn(b))) {
        await app.api.delete(`/keys/${encodeURIComponent(key.id)}`).catch((problem) => { if (problem.status !== 404) throw problem; });
      }
      app.toasts.say({ text: keys.length === 1 ? `${keys[0].name} is revoked.` : `${number(keys.length)} keys are revoked.` });
      await rows.reload().catch(() => {});
    },
    children: html`${own && html`<p class="bad-text"><strong>This page is logged in with ${keys.length === 1 ? 'this key' : 'one of them'}.</strong> You are logged out at once.</p>`}
      <p>${keys.length === 1 ? html`Whoever uses <${Name}>${keys[0].name}<//> is refused from now on.` : 'Whoever uses them is refused from now on.'} Live views and clients that came with ${keys.length === 1 ? 'it' : 'them'} are cut off. This cannot be undone.</p>
      ${used && html`<p class="muted">Last used <${Ago} time=${used} />.</p>`}`,
  });
}
