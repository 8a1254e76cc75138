// What a webhook was told: each message with its attempts.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp, useNow } from '../app-context.js';
import { Ago, Copy, Empty, ProblemBox, Status, Waiting } from '../components.js';
import { Dialog } from '../dialog.js';
import { Facts, useObject } from '../drawer.js';
import { count, moment, number, soon } from '../format.js';
import { Grid } from '../grid/grid.js';
import { Chips, ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList } from '../grid/use.js';
import { Icon } from '../icons.js';
import { href } from '../route.js';
import { Missing } from './read.js';
import { Actions, State } from './webhookactions.js';
import { eventWords } from './webhookform.js';
import { Attempts, STATES } from './webhooktest.js';

const LOOK_MS = 3000; // between two looks at messages that are about to be sent
const SOON_MS = 15_000;

const FILTERS = [{ name: 'state', label: 'State', options: Object.entries(STATES).map(([value, { text }]) => [value, text]) }];

const stateOf = ({ state }) => STATES[state] || { text: state, tone: 'quiet' };

// attemptWords says what came of an attempt.
function attemptWords({ status, error }) {
  if (error && error.code !== 'bad_status') return error.message;
  return `Answered ${status}`;
}

const COLUMNS = [
  { id: 'type', label: 'Event', min: 150, grow: 1.4, always: true, draw: ({ type }) => html`<span class="mono title one-line">${type}</span>` },
  { id: 'state', label: 'State', width: 116, rank: 1, card: true, draw: (delivery) => html`<${Status} of=${stateOf(delivery)} />` },
  { id: 'last', label: 'Last answer', min: 180, grow: 2.4, rank: 2, draw: ({ attempts }) => (attempts.length ? html`<span class="one-line" title=${attemptWords(attempts.at(-1))}>${attemptWords(attempts.at(-1))}</span>` : html`<span class="muted">None yet</span>`) },
  { id: 'tries', label: 'Attempts', width: 88, numeric: true, rank: 4, card: true, draw: ({ attempts }) => html`${number(attempts.length)}<span class="in-card"> ${attempts.length === 1 ? 'attempt' : 'attempts'}</span>` },
  { id: 'created', label: 'Happened', width: 118, rank: 3, card: true, draw: ({ createdAt }) => html`<span class="muted"><${Ago} time=${createdAt} /></span>` },
  { id: 'next', label: 'Next attempt', width: 142, rank: 5, draw: ({ nextAt }) => (nextAt ? html`<time class="number" datetime=${nextAt} title=${moment(nextAt)}>${soon(nextAt)}</time>` : html`<span class="muted not-in-card">–</span>`) },
  { id: 'event', label: 'Event ID', width: 292, rank: 9, hidden: true, draw: ({ eventId }) => html`<span class="mono">${eventId}</span>` },
];

// Deliveries is the page of one webhook.
export function Deliveries({ id, params }) {
  const app = useApp();
  const path = `/webhooks/${encodeURIComponent(id)}`;
  const object = useObject(path, ({ type, data }) => type.startsWith('webhook.') && data?.id === id);
  const state = params.get('state') || '';
  const { rows, selection, view } = useList(`${path}/deliveries`, { state }, ({ type }, list) => !type.endsWith('.progress') && list.changed(null, true)); // any event may be one of its own
  const columns = useColumns('deliveries', () => COLUMNS);
  const now = useNow();
  const waits = object.data?.enabled && rows.loaded().some(({ nextAt }) => nextAt && Date.parse(nextAt) < now + SOON_MS);
  useEffect(() => {
    if (!waits) return undefined;
    const timer = setInterval(() => document.hidden || rows.reload().catch(() => {}), LOOK_MS);
    return () => clearInterval(timer);
  }, [waits, rows]);
  const webhook = object.data;
  const back = href('settings', undefined, ['webhooks']);
  if (object.problem && !webhook) return html`<p><a class="button" href=${back}><${Icon} name="back" />All webhooks</a></p><${Missing} problem=${object.problem} what="the webhooks" />`;
  if (!webhook) return html`<${Waiting} />`;
  const reload = async () => {
    await object.reload();
    await rows.reload().catch(() => {});
  };
  return html`
    <div class="settings-head"><div class="webhook-head"><a class="icon-button" href=${back} aria-label="All webhooks" title="All webhooks"><${Icon} name="back" /></a>
        <span class="two-lines"><h2 class="one-line" title=${webhook.url}><bdi>${webhook.url}</bdi></h2><span class="sub">${eventWords(webhook.events)} · ${webhook.workspaceId}${webhook.oldSecretUntil ? ` · two secrets until ${moment(webhook.oldSecretUntil)}` : ''}</span></span><${State} webhook=${webhook} /></div>
      <div class="tools"><${Actions} webhook=${webhook} reload=${reload} gone=${() => app.router.go(back)} /></div></div>
    ${webhook.dropped > 0 && html`<p class="bad-text">${`${count(webhook.dropped, 'message was', 'messages were')} dropped, as more than 10,000 were waiting.`}</p>`}
    <div class="filters"><${Chips} filters=${FILTERS} params=${params} /><${ViewMenu} columns=${columns} /></div>
    <${Missing} problem=${view.problem} what="the messages" />
    ${view.total === 0 ? html`<${Empty} title=${state ? 'No matches' : 'Nothing was sent yet'} drawing=${false}><p>${state ? '' : 'Its messages are listed here, with each attempt to deliver them.'}</p><//>`
      : html`<div class="page-body"><${Grid} label="Messages" ...${{ rows, columns, selection }} ticks=${false} open=${(delivery) => app.open(DeliveryDialog, { delivery, webhook, done: reload })} what=${({ type }) => type} tone=${(delivery) => (delivery.state === 'failed' ? 'is-failed' : '')}
        actionsWidth=${104} actions=${(delivery) => html`<div class="actions"><button type="button" class="button small" aria-label=${`Attempts of ${delivery.type}`} onClick=${() => app.open(DeliveryDialog, { delivery, webhook, done: reload })}>Attempts</button></div>`} /></div>`}
    <p class="visually-hidden" role="status">${view.total !== null && count(view.total, 'message')}</p>`;
}

// DeliveryDialog shows a message's attempts, and sends it again.
function DeliveryDialog({ delivery, webhook, done, close }) {
  const app = useApp();
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const { type, state, attempts, nextAt, createdAt, eventId } = delivery;
  const replay = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await app.api.post(`/webhooks/${encodeURIComponent(webhook.id)}/deliveries/${encodeURIComponent(delivery.id)}/replay`);
      app.toasts.say({ text: 'The message is sent again.', tone: 'good' });
      close();
      await done();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${html`<span class="mono">${type}</span>`} about=${delivery.id} close=${close}><div class="dialog-content">
      <${Facts} pairs=${[['State', html`<${Status} of=${stateOf(delivery)} />`], ['Happened', html`<span class="number">${moment(createdAt)}</span>`], ['Next attempt', nextAt && html`<span class="number">${moment(nextAt)}</span>`],
        ['ID of the event', html`<span class="with-copy"><span class="mono path">${eventId}</span><${Copy} text=${eventId} label="Copy the event’s ID" /></span>`]]} />
      ${attempts.length ? html`<${Attempts} attempts=${attempts} />` : html`<p class="muted">No attempt yet.</p>`}
      <${ProblemBox} problem=${problem} /></div>
    <footer class="dialog-foot"><button type="button" class="button" autofocus onClick=${close}>Close</button>
      <button type="button" class="button primary" disabled=${busy} onClick=${replay}>${busy ? 'Sending…' : state === 'pending' ? 'Send now' : 'Send again'}</button></footer><//>`;
}
