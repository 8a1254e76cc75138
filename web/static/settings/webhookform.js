// The dialogs that make and change webhooks, and the secret, which is shown once.
import { useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Copy, Notice } from '../components.js';
import { Dialog } from '../dialog.js';
import { moment } from '../format.js';
import { Choice, Field, Form, TagField, Text, Tick, useForm } from '../forms.js';
import { useStore } from '../store.js';
import { TestResult, useTest } from './webhooktest.js';

const HOUR_MS = 3600 * 1000;

// EVENT_KINDS are the kinds of events that belong to a workspace, as [first word of their types, words].
export const EVENT_KINDS = [['profile', 'Profiles'], ['run', 'Browsers that run'], ['proxy', 'Proxies'], ['snapshot', 'Snapshots'], ['template', 'Templates'], ['schedule', 'Schedules'], ['extension', 'Extensions'], ['capability', 'Shared views'], ['workspace', 'The workspace'], ['webhook', 'Webhooks']];

// eventWords says of which events a webhook is told.
export function eventWords(patterns) {
  if (patterns.includes('*')) return 'Everything';
  return patterns.map((pattern) => (pattern.endsWith('.*') ? EVENT_KINDS.find(([kind]) => `${kind}.*` === pattern)?.[1] ?? pattern : pattern)).join(', ');
}

// toForm converts a webhook to the form's values.
function toForm(webhook, workspaceId = '') {
  const events = webhook?.events || ['run.*', 'proxy.died'];
  const isKind = (pattern) => EVENT_KINDS.some(([kind]) => `${kind}.*` === pattern);
  return { url: webhook?.url || '', all: events.includes('*'), kinds: events.filter(isKind), types: events.filter((pattern) => pattern !== '*' && !isKind(pattern)), workspaceId, enabled: webhook?.enabled ?? true };
}

function eventsOf({ all, kinds, types }) {
  return all ? ['*'] : [...kinds, ...types];
}

// WebhookDialog makes a webhook, or changes one. A new one's secret is shown in the same dialog: the end of a dialog of its own would close what is shown next.
export function WebhookDialog({ webhook, done, close }) {
  const app = useApp();
  const form = useForm(toForm(webhook, useStore(app.model.workspace)));
  const known = useStore(app.model.workspaces);
  const [made, setMade] = useState(null);
  const before = toForm(webhook);
  const save = async (values) => {
    const body = { url: values.url.trim(), events: eventsOf(values), enabled: values.enabled };
    if (!webhook) {
      const fresh = await app.api.post('/webhooks', { ...body, ...(values.workspaceId.trim() && { workspaceId: values.workspaceId.trim() }) });
      app.model.sawWorkspaces([fresh]);
      setMade(fresh);
      done?.(fresh);
      return;
    }
    const changed = Object.fromEntries(Object.entries(body).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify({ ...before, events: webhook.events }[name])));
    const saved = await app.api.put(`/webhooks/${encodeURIComponent(webhook.id)}`, changed);
    app.toasts.say({ text: 'Saved the webhook.', tone: 'good' });
    await done?.(saved);
    close();
  };
  const { values } = form;
  if (made) return html`<${Dialog} title="Created the webhook" lead=${html`<bdi class="path">${made.url}</bdi>`} close=${close}><${MadeSecret} webhook=${made} close=${close} /><//>`;
  return html`<${Dialog} title=${webhook ? 'Edit the webhook' : 'New webhook'} close=${close}><${Form} form=${form} work=${save} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy || !values.url.trim() || !eventsOf(values).length}>${form.busy ? 'Saving…' : webhook ? 'Save' : 'Create'}</button>`}>
    <div class="fields">
      <${Text} form=${form} name="url" label="Address" wide autofocus maxlength="2048" inputmode="url" class="mono" placeholder="https://example.com/hook" hint="Each event is a POST to it. It answers 2xx within 20 seconds, and works afterwards." />
      <${Kinds} form=${form} />
      ${!values.all && html`<${TagField} form=${form} name="types" label="Single events" hint="Types such as run.ended or proxy.died." />`}
      ${!webhook && html`<${Text} form=${form} name="workspaceId" label="Workspace" wide placeholder="default" list="webhook-workspaces" hint="Its events are told. * is the whole server. It cannot be changed later." />
        <datalist id="webhook-workspaces">${known.map((id) => html`<option key=${id} value=${id} />`)}<option value="*" /></datalist>`}
      <${Tick} form=${form} name="enabled" label="On" hint="While it is off nothing is sent, and new events are not kept for it." />
    </div><//><//>`;
}

// Kinds are checkboxes. Everything contains all the others.
function Kinds({ form }) {
  const { all, kinds } = form.values;
  const toggle = (pattern, on) => form.set('kinds', on ? [...kinds, pattern] : kinds.filter((other) => other !== pattern));
  const control = ({ id, name: _, ...tied }) => html`<div role="group" id=${id} aria-label="Tell it of" class="event-kinds" ...${tied}>
    <label class="tick wide"><input type="checkbox" checked=${all} onChange=${(event) => form.set('all', event.currentTarget.checked)} /><span>Everything</span></label>
    ${EVENT_KINDS.map(([kind, words]) => html`<label key=${kind} class="tick"><input type="checkbox" checked=${all || kinds.includes(`${kind}.*`)} disabled=${all} onChange=${(event) => toggle(`${kind}.*`, event.currentTarget.checked)} /><span>${words}</span></label>`)}</div>`;
  return html`<${Field} wide form=${form} name="events" label="Tell it of" control=${control} />`;
}

// MadeSecret shows a secret once, and can send a test.
function MadeSecret({ webhook, close, more }) {
  const test = useTest(webhook);
  return html`<div class="dialog-content"><${Notice}><p>Copy the secret now. It is not shown again.</p><//>
      <div class="copy-line"><span class="copy-label">Secret</span><code tabindex="0" role="group" aria-label="The secret">${webhook.secret}</code><${Copy} text=${webhook.secret} label="Copy the secret" /></div>
      <p class="hint">The endpoint verifies the header <code>webhook-signature</code> with it, by the rules of Standard Webhooks.${more}</p>
      <${TestResult} test=${test} /></div>
    <footer class="dialog-foot"><button type="button" class="button apart" disabled=${test.busy} onClick=${test.send}>${test.busy ? 'Sending…' : 'Send a test'}</button>
      <button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer>`;
}

const KEEP = [['0', 'At once: others know it'], [String(HOUR_MS), 'In an hour'], [String(24 * HOUR_MS), 'In 24 hours'], [String(7 * 24 * HOUR_MS), 'In 7 days']];

// RotateDialog gives a webhook another secret.
export function RotateDialog({ webhook, done, close }) {
  const app = useApp();
  const form = useForm({ keepOldMs: String(24 * HOUR_MS) });
  const [made, setMade] = useState(null);
  const rotate = async ({ keepOldMs }) => {
    setMade(await app.api.post(`/webhooks/${encodeURIComponent(webhook.id)}/rotate-secret`, { keepOldMs: Number(keepOldMs) }));
    done?.();
  };
  return html`<${Dialog} title=${made ? 'The new secret' : 'Make a new secret?'} lead=${html`<bdi class="path">${webhook.url}</bdi>`} close=${close}>${made
    ? html`<${MadeSecret} webhook=${made} close=${close} more=${made.oldSecretUntil ? ` The former secret signs too until ${moment(made.oldSecretUntil)}.` : ' The former secret signs nothing more.'} />`
    : html`<${Form} form=${form} work=${rotate} foot=${html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy}>${form.busy ? 'Making…' : 'New secret'}</button>`}>
      <div class="fields"><${Choice} form=${form} name="keepOldMs" label="The former secret ends" wide options=${KEEP} hint="Until then both sign each message, so that the endpoint can change at leisure." /></div><//>`}<//>`;
}
