// The webhooks: addresses that are told of events, and what each was told.
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Ago, Empty } from '../components.js';
import { count, number } from '../format.js';
import { Grid } from '../grid/grid.js';
import { ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList } from '../grid/use.js';
import { Icon } from '../icons.js';
import { href } from '../route.js';
import { useStore } from '../store.js';
import { Deliveries } from './deliveries.js';
import { Missing } from './read.js';
import { Actions, State } from './webhookactions.js';
import { eventWords, WebhookDialog } from './webhookform.js';

const COLUMNS = [
  { id: 'url', label: 'Address', min: 220, grow: 2.4, always: true, draw: ({ id, url }) => html`<a class="title one-line" href=${href('settings', undefined, ['webhooks', id])} title=${url}><bdi>${url}</bdi></a>` },
  { id: 'state', label: 'State', width: 164, rank: 1, card: true, draw: (webhook) => html`<${State} webhook=${webhook} />` },
  { id: 'events', label: 'Told of', min: 150, grow: 1.4, rank: 2, card: true, draw: ({ events }) => html`<span class="one-line" title=${events.join(', ')}>${eventWords(events)}</span>` },
  { id: 'dropped', label: 'Dropped', width: 92, numeric: true, rank: 5, draw: ({ dropped, lastDroppedAt }) => (dropped ? html`<span class="bad-text" title="Messages that were dropped, as more than 10,000 were waiting">${number(dropped)}<span class="visually-hidden">, last <${Ago} time=${lastDroppedAt} /></span></span>` : html`<span class="muted not-in-card">–</span>`) },
  { id: 'workspace', label: 'Workspace', width: 120, rank: 3, draw: ({ workspaceId }) => (workspaceId === '*' ? 'Whole server' : html`<bdi class="one-line">${workspaceId}</bdi>`) },
  { id: 'created', label: 'Created', width: 112, rank: 4, draw: ({ createdAt }) => html`<span class="muted"><${Ago} time=${createdAt} /></span>` },
  { id: 'id', label: 'ID', width: 292, rank: 9, hidden: true, draw: ({ id }) => html`<span class="mono">${id}</span>` },
];

export function Webhooks({ params, path }) {
  return path[1] ? html`<${Deliveries} key=${path[1]} id=${path[1]} params=${params} />` : html`<${List} />`;
}

function List() {
  const app = useApp();
  const workspaceId = useStore(app.model.workspace);
  const { rows, selection, view } = useList('/webhooks', { workspaceId }, ({ type }, list) => type.startsWith('webhook.') && list.changed(null, true));
  const columns = useColumns('webhooks', () => COLUMNS);
  const { total, problem } = view;
  if (problem?.status === 403) return html`<${Missing} problem=${problem} what="the webhooks" />`;
  const reload = () => rows.reload().catch(() => {});
  const make = () => app.open(WebhookDialog, { done: reload });
  return html`
    <div class="settings-head"><p class="lead">A webhook is an address that Warren tells of events, signed with a secret. What is not taken is sent again, for up to three days.</p>
      <div class="tools">${total > 0 && html`<${ViewMenu} columns=${columns} />`}<button type="button" class="button primary" onClick=${make}><${Icon} name="plus" /><span>New webhook</span></button></div></div>
    <${Missing} problem=${problem} what="the webhooks" />
    ${total === 0 && !problem ? html`<${Empty} title="No webhooks yet" drawing=${false}><p>With one, a program of yours hears when a browser ends or a proxy dies.</p><//>` : html`<div class="page-body"><${Grid} label="Webhooks" ...${{ rows, columns, selection }} ticks=${false} open=${({ id }) => app.router.go(href('settings', undefined, ['webhooks', id]))} what=${({ url }) => url}
      actionsWidth=${132} actions=${(webhook) => html`<${Actions} webhook=${webhook} reload=${reload} />`} /></div>`}
    <p class="visually-hidden" role="status">${total !== null && count(total, 'webhook')}</p>`;
}
