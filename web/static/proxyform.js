// Adds and changes a proxy by its fields, with an optional test before saving.
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { CheckResult } from './checkresult.js';
import { Name, ProblemBox, Waiting } from './components.js';
import { Conflict, useVersion } from './conflict.js';
import { Dialog } from './dialog.js';
import { proxyName } from './format.js';
import { Choice, Form, Lines, number, TagField, Text, useForm } from './forms.js';
import { useProxy } from './proxycache.js';
import { useStore } from './store.js';
import { PROXY_TYPES } from './words.js';

// FIELDS are what a conflict compares.
const FIELDS = [
  ['Type', 'type', (type) => PROXY_TYPES[type] || type],
  ['Host', 'host'], ['Port', 'port'], ['User name', 'username'], ['Name', 'name'],
  ['Tags', 'tags', (tags) => tags.join(', ')],
  ['Notes', 'notes'],
].map(([label, name, words = (value) => value]) => ({ label, names: [name], words: (values) => words(values[name]) || 'None' }));

// ProxyForm adds a proxy, or changes one. It then reads the proxy first, to start from its current values. done is called with the saved proxy.
export function ProxyForm({ proxy, done, close }) {
  const app = useApp();
  const [read, setRead] = useState(proxy ? null : { data: null, etag: null });
  const [problem, setProblem] = useState(null);
  const load = () => {
    setProblem(null);
    return app.api.full('GET', pathOf(proxy)).then(setRead, setProblem);
  };
  useEffect(() => {
    if (proxy) load();
  }, []);
  return html`<${Dialog} sheet title=${proxy ? html`Edit <${Name}>${proxyName(proxy)}<//>` : 'Add a proxy'} close=${close}>
    ${read
      ? html`<${Fields} proxy=${read.data} etag=${read.etag} ...${{ done, close }} />`
      : html`<div class="dialog-content"><${ProblemBox} problem=${problem} />${problem ? html`<button type="button" class="button" onClick=${load}>Try again</button>` : html`<${Waiting} />`}</div>`}
  <//>`;
}

function pathOf({ id }) {
  return `/proxies/${encodeURIComponent(id)}`;
}

function Fields({ proxy, etag, done, close }) {
  const app = useApp();
  const workspace = useStore(app.model.workspace);
  const form = useForm(toValues(proxy, workspace));
  const version = useVersion({ form, data: proxy, etag, read: () => app.api.full('GET', pathOf(proxy)), toValues: (data) => toValues(data, workspace), fields: FIELDS });
  const [result, setResult] = useState(null);
  const send = (values) => (proxy
    ? version.save((headers, before) => app.api.full('PUT', pathOf(before), { body: changes(before, values), headers }))
    : app.api.full('POST', '/proxies', { body: toBody(values) }));
  const save = async (values) => {
    const answer = await send(values);
    if (!answer) return; // there is a conflict to settle first
    app.proxies.keep(answer.data);
    app.toasts.say({ text: `${proxy ? 'Saved' : 'Added'} ${proxyName(answer.data)}.`, tone: 'good' });
    close();
    done?.(answer.data);
  };
  const test = () => form.send(async (values) => {
    setResult(null);
    setResult(await app.api.post('/proxies/check', toBody(values, true)));
  });
  const explain = ({ body }) => body?.existingId && html`<${Existing} id=${body.existingId} />`;
  const foot = html`
    ${!proxy && html`<button type="button" class="button apart" disabled=${form.busy} onClick=${test}>${form.busy ? 'One moment…' : 'Test connection'}</button>`}
    <button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy || Boolean(version.conflict)}>${form.busy ? 'One moment…' : proxy ? 'Save' : 'Add proxy'}</button>`;
  return html`<${Form} form=${form} work=${save} foot=${foot} explain=${explain} saved=${proxy ? version.first : undefined}>
    <${Conflict} version=${version} />
    <${Parts} form=${form} proxy=${proxy} />
    <div role="status">${result && html`<div class="panel"><${CheckResult} result=${result} /></div>`}</div>
    <${Labels} form=${form} proxy=${proxy} />
  <//>`;
}

// Existing names the proxy that is there already.
function Existing({ id }) {
  const proxy = useProxy(id);
  return proxy && html`<p>Its name is <${Name}>${proxyName(proxy)}<//>.</p>`;
}

function Parts({ form, proxy }) {
  const { values } = form;
  const saved = proxy?.hasPassword && !values.forget;
  const moved = saved && !values.password && isElsewhere(proxy, values);
  const asked = moved && 'The saved password belongs to the old server. Type it again for this one, or remove it. Only a key that may read passwords can keep it.';
  const again = form.faults('password').some((fault) => fault.message.startsWith('Type the password again'));
  return html`<div class="fields">
    <${Choice} form=${form} name="type" label="Type" wide options=${Object.entries(PROXY_TYPES)}
      hint=${values.type === 'socks4' && 'SOCKS4 has a user name only, no password.'} />
    <${Text} form=${form} name="host" label="Host" class="mono" placeholder="proxy.example.net" autofocus=${!proxy} />
    <${Text} form=${form} name="port" label="Port" class="mono" inputmode="numeric" placeholder="1080" />
    <${Text} form=${form} name="username" label="User name" optional autocomplete="off" />
    ${values.type !== 'socks4' && html`<${Text} form=${form} name="password" label="Password" optional type="password" autocomplete="new-password"
      placeholder=${moved ? 'Type it again' : saved ? 'Saved. Type to replace it.' : ''} hint=${asked}
      say=${again && 'Type the password again. The saved one is not sent to another server.'} />`}
    ${values.type !== 'socks4' && proxy?.hasPassword && html`<label class="tick wide"><input type="checkbox" checked=${form.values.forget} onChange=${(event) => form.set('forget', event.currentTarget.checked)} />
      <span>Remove the saved password</span></label>`}
  </div>`;
}

// isElsewhere reports whether the values name another server, or another protocol, than the proxy's.
function isElsewhere(proxy, values) {
  return values.type !== proxy.type || values.host.trim().toLowerCase() !== proxy.host || number(values.port) !== proxy.port;
}

function Labels({ form, proxy }) {
  const known = useStore(useApp().model.workspaces);
  return html`<fieldset class="group"><legend>Details</legend><div class="fields">
    <${Text} form=${form} name="name" label="Name" optional wide placeholder="Berlin 1" />
    <${TagField} form=${form} name="tags" label="Tags" hint="Press Enter or comma to add a tag." />
    <${Lines} form=${form} name="notes" label="Notes" optional rows=${2} />
    ${!proxy && html`<${Text} form=${form} name="workspaceId" label="Workspace" wide placeholder="default" list="known-workspaces" hint="Profiles of the same workspace can use it." />
      <datalist id="known-workspaces">${known.map((id) => html`<option key=${id} value=${id} />`)}</datalist>`}
  </div></fieldset>`;
}

function toValues(proxy, workspace) {
  const p = proxy || {};
  return {
    type: p.type || 'socks5',
    host: p.host || '',
    port: p.port ? String(p.port) : '',
    username: p.username || '',
    password: '',
    forget: false,
    name: p.name || '',
    tags: p.tags || [],
    notes: p.notes || '',
    workspaceId: p.workspaceId || workspace,
  };
}

// toBody converts the values to a new proxy. A check does not need the labels.
function toBody(values, bare = false) {
  const body = { type: values.type, host: values.host.trim(), port: number(values.port) };
  const given = { workspaceId: values.workspaceId.trim(), username: values.username, password: values.type === 'socks4' ? '' : values.password };
  if (!bare) Object.assign(given, { name: values.name.trim(), notes: values.notes });
  for (const [name, value] of Object.entries(given)) if (value) body[name] = value;
  if (!bare && values.tags.length) body.tags = values.tags;
  return body;
}

// changes returns the differences. The password is unknown here: only a typed one, or its removal, is sent.
function changes(proxy, values) {
  const wanted = {
    type: values.type,
    host: values.host.trim(),
    port: number(values.port),
    username: values.username || null,
    name: values.name.trim(),
    tags: values.tags,
    notes: values.notes,
  };
  const known = { ...toValues(proxy, ''), port: proxy.port, username: proxy.username || null };
  const body = Object.fromEntries(Object.entries(wanted).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(known[name])));
  const none = values.forget || !values.username || values.type === 'socks4';
  if (values.password && values.type !== 'socks4') body.password = values.password;
  else if (proxy.hasPassword && none) body.password = null;
  return body;
}
