// The first run: three steps from nothing to a running browser, shown while there is no profile.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.js';
import { start } from '../actions.js';
import { useApp } from '../app-context.js';
import { useNoStart } from '../browsers.js';
import { Burrows, Icon } from '../icons.js';
import { Country } from '../flag.js';
import { count, proxyName, span } from '../format.js';
import { Form, Text, useForm } from '../forms.js';
import { boxValues, ProxyBox } from '../proxies/box/box.js';
import { useReading } from '../proxies/box/reading.js';
import { addProxies } from '../proxies/box/send.js';
import { ProxyField, proxyHint } from '../proxychoice.js';
import { useProxy } from '../proxycache.js';
import { useStore } from '../store.js';
import { faultWords } from '../words.js';

// FirstRun shows the steps. hold keeps them while the first profile starts, end shows the list instead.
export function FirstRun({ hold, end }) {
  const app = useApp();
  const counts = useStore(app.model.counts);
  const workspaceId = useStore(app.model.workspace);
  const [proxyId, setProxyId] = useState(undefined); // undefined: not decided; '': none
  const [starting, setStarting] = useState('');
  const there = counts?.proxies.total > 0;
  useEffect(() => {
    if (!there || proxyId !== undefined) return;
    app.api.get('/proxies', { workspaceId, limit: 1, page: 1 }).then(({ data }) => setProxyId((now) => now ?? data[0]?.id), () => {}); // the newest
  }, [there]);
  const decided = proxyId !== undefined;
  const steps = [
    { title: 'Add a proxy', state: decided ? 'done' : 'now' },
    { title: 'Create a profile', state: starting ? 'done' : decided ? 'now' : 'later' },
    { title: 'Start it', state: starting ? 'now' : 'later' },
  ];
  const bodies = [
    decided ? html`<${ProxyDone} id=${proxyId} total=${counts?.proxies.total ?? 0} change=${() => setProxyId(undefined)} fixed=${Boolean(starting)} />` : html`<${ProxyStep} workspaceId=${workspaceId} decide=${setProxyId} />`,
    starting ? html`<p><bdi>${starting}</bdi></p>` : decided ? html`<${ProfileStep} key=${proxyId} proxyId=${proxyId} workspaceId=${workspaceId} began=${(name) => { hold(); setStarting(name); }} end=${end} />` : html`<p class="muted">A profile is a browser of its own, with its own cookies, tabs and proxy.</p>`,
    starting ? html`<p role="status" class="status wait"><span class="dot"></span>Starting…</p>` : html`<p class="muted">View it here, or connect Playwright or Puppeteer.</p>`,
  ];
  return html`<div class="first"><header class="first-head"><${Burrows} /><div><h2>Set up your first profile</h2><p class="muted">Three steps to a running browser.</p></div></header>
    <ol class="first-steps">${steps.map(({ title, state }, i) => html`<li key=${title} class=${`first-step is-${state}`} aria-current=${state === 'now' ? 'step' : undefined}>
      <span class="first-mark" aria-hidden="true">${state === 'done' ? html`<${Icon} name="check" />` : i + 1}</span>
      <div class="first-body"><h3>${title}<span class="visually-hidden">${{ done: ' (done)', now: ' (next)', later: ' (later)' }[state]}</span></h3>${bodies[i]}</div></li>`)}</ol></div>`;
}

function ProxyStep({ workspaceId, decide }) {
  const app = useApp();
  const form = useForm(boxValues());
  const reading = useReading({ ...form.values, workspaceId });
  const ready = reading.answer?.created ?? 0;
  const send = async (values) => {
    const { answer, ids, rest } = await addProxies(app, { values, choices: reading.choices, workspaceId });
    const first = ids[0] ?? answer.results.find(({ existingId }) => existingId)?.existingId;
    if (rest) form.setAll({ ...values, text: rest });
    if (first) decide(first);
  };
  const foot = html`<button class="button primary" aria-keyshortcuts="Control+Enter Meta+Enter" title="Ctrl Enter" disabled=${form.busy || !form.values.text.trim() || (reading.answer && !ready && !reading.answer.duplicate)}>${form.busy ? 'Adding…' : ready > 1 ? `Add ${count(ready, 'proxy', 'proxies')}` : 'Add proxy'}</button>
    <button type="button" class="button quiet" onClick=${() => app.leaving(() => decide(''))}>Go without a proxy</button>`;
  return html`<p class="muted">Sites see the proxy’s address, not yours.</p>
    <${Form} plain form=${form} work=${send} foot=${foot}><${ProxyBox} form=${form} reading=${reading} rows=${3} brief autofocus /><//>`;
}

// ProxyDone says which proxy it is, and what its check found.
function ProxyDone({ id, total, change, fixed }) {
  const proxy = useProxy(id);
  const check = proxy?.lastCheck;
  const words = !id ? 'No proxy: the profile connects directly.' : !proxy ? '…' : html`<bdi>${proxyName(proxy)}</bdi>`;
  return html`<p class="first-done"><span>${words}</span>
    ${check?.ok && html`<span class="good-text"><${Country} code=${check.country} name=${check.countryName} /> ${check.exitIp}${check.latencyMs != null && ` · ${span(check.latencyMs)}`}</span>`}
    ${check && !check.ok && html`<span class="bad-text">${faultWords(check.error)?.happened || 'The check failed.'}</span>`}
    ${id && proxy && !check && html`<span class="status wait"><span class="dot"></span>Checking</span>`}
    ${total > 1 && html`<span class="muted">${count(total, 'proxy', 'proxies')} in all</span>`}
    ${!fixed && html`<button type="button" class="button quiet small" onClick=${change}>${id ? 'Add another' : 'Add a proxy'}</button>`}</p>`;
}

function ProfileStep({ proxyId, workspaceId, began, end }) {
  const app = useApp();
  const form = useForm({ name: '', proxyId });
  const why = useNoStart();
  const create = (run) => async ({ name, proxyId: chosen }) => {
    const profile = await app.api.post('/profiles', { name: name.trim(), ...(chosen ? { proxyId: chosen } : {}), ...(workspaceId ? { workspaceId } : {}) });
    app.model.sawWorkspaces([profile]);
    if (!run) return end();
    began(profile.name);
    return start(app, profile).finally(end);
  };
  const foot = html`<button class="button primary" disabled=${form.busy || Boolean(why)} title=${why || undefined}><${Icon} name="play" />Create and start</button>
    <button type="button" class="button" disabled=${form.busy} onClick=${() => form.send(create(false))}>Create only</button>`;
  return html`<${Form} plain form=${form} work=${create(true)} foot=${foot}><div class="fields">
    <${Text} form=${form} name="name" label="Name" wide autofocus placeholder="Shop account, Berlin" />
    <${ProxyField} form=${form} workspaceId=${workspaceId} hint=${proxyHint(form.values.proxyId)} /></div><//>`;
}
