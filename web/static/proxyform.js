// Adds and changes a proxy, by one pasted line or by its fields, with an optional check before saving.
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { CheckResult } from './checkresult.js';
import { Name, ProblemBox, Waiting } from './components.js';
import { Dialog } from './dialog.js';
import { proxyName } from './format.js';
import { Choice, Form, Lines, number, TagField, Text, useForm } from './forms.js';
import { useProxy } from './proxycache.js';
import { useStore } from './store.js';
import { PROXY_TYPES } from './words.js';

// ProxyForm adds a proxy, or changes one. It then reads the proxy first, to start from its current values.
export function ProxyForm({ proxy, done, close }) {
  const app = useApp();
  const [read, setRead] = useState(proxy ? null : { data: null, etag: null });
  const [problem, setProblem] = useState(null);
  const load = () => {
    setProblem(null);
    return app.api.full('GET', `/proxies/${encodeURIComponent(proxy.id)}`).then(setRead, (fault) => {
      setRead(null);
      setProblem(fault);
    });
  };
  useEffect(() => {
    if (proxy) load();
  }, []);
  return html`<${Dialog} sheet title=${proxy ? html`Edit <${Name}>${proxyName(proxy)}<//>` : 'Add a proxy'} close=${close}>
    ${read
      ? html`<${Fields} key=${read.etag} proxy=${read.data} etag=${read.etag} ...${{ done, close, load }} />`
      : html`<div class="dialog-content"><${ProblemBox} problem=${problem} />${problem ? html`<button type="button" class="button" onClick=${load}>Try again</button>` : html`<${Waiting} />`}</div>`}
  <//>`;
}

function Fields({ proxy, etag, done, close, load }) {
  const app = useApp();
  const workspace = useStore(app.model.workspace);
  const form = useForm(toValues(proxy, workspace));
  const [byLine, setByLine] = useState(!proxy);
  const [result, setResult] = useState(null);
  const save = async (values) => {
    const body = proxy ? changes(proxy, values) : toBody(values, byLine);
    const saved = proxy ? await app.api.put(`/proxies/${encodeURIComponent(proxy.id)}`, body, { headers: etag ? { 'If-Match': etag } : {} }) : await app.api.post('/proxies', body);
    app.proxies.keep(saved);
    close();
    done(saved);
  };
  const tryOut = () => form.send(async (values) => {
    setResult(null);
    setResult(await app.api.post('/proxies/check', toBody(values, byLine, true)));
  });
  const change = (line) => {
    setByLine(line);
    setResult(null);
    form.setProblem(null);
  };
  const explain = (problem) => {
    if (problem.code === 'etag_mismatch') return html`<button type="button" class="button small" onClick=${load}>Load what is there now</button>`;
    return problem.body?.existingId && html`<${Existing} id=${problem.body.existingId} />`;
  };
  const foot = html`
    ${!proxy && html`<button type="button" class="button apart" disabled=${form.busy} onClick=${tryOut}>${form.busy ? 'One moment…' : 'Check first'}</button>`}
    <button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy}>${form.busy ? 'One moment…' : proxy ? 'Save' : 'Add proxy'}</button>`;
  return html`<${Form} form=${form} work=${save} foot=${foot} explain=${explain}>
    ${!proxy && html`<${Ways} byLine=${byLine} change=${change} />`}
    ${byLine ? html`<${PastedLine} form=${form} />` : html`<${Parts} form=${form} proxy=${proxy} />`}
    <div role="status">${result && html`<div class="panel"><${CheckResult} result=${result} /></div>`}</div>
    <${Labels} form=${form} proxy=${proxy} />
  <//>`;
}

// Existing names the proxy that is there already.
function Existing({ id }) {
  const proxy = useProxy(id);
  return proxy && html`<p>It is the one called <${Name}>${proxyName(proxy)}<//>.</p>`;
}

function Ways({ byLine, change }) {
  return html`<fieldset class="segments"><legend class="visually-hidden">How to enter it</legend>
    <label class="segment"><input type="radio" name="way" checked=${byLine} onChange=${() => change(true)} /><span>One line</span></label>
    <label class="segment"><input type="radio" name="way" checked=${!byLine} onChange=${() => change(false)} /><span>Fields</span></label>
  </fieldset>`;
}

function PastedLine({ form }) {
  return html`<div class="fields">
    <${Text} form=${form} name="url" label="Address" wide autofocus class="mono" placeholder="socks5://user:password@host:1080"
      hint=${html`Or as providers write it, <code>host:port:user:password</code>, which is taken as SOCKS5. Another kind comes first: <code>http://</code>, <code>https://</code> or <code>socks4://</code>.`} />
  </div>`;
}

function Parts({ form, proxy }) {
  const { values } = form;
  const saved = proxy?.hasPassword && !values.forget;
  const moved = saved && !values.password && isElsewhere(proxy, values);
  const asked = moved && 'The saved password was given for the old server. Type it again for this one, or have it forgotten. Only a key that may read passwords can do without.';
  const again = form.faults('password').some((fault) => fault.message.startsWith('Type the password again'));
  return html`<div class="fields">
    <${Choice} form=${form} name="type" label="Type" wide options=${Object.entries(PROXY_TYPES)}
      hint=${values.type === 'socks4' && 'SOCKS4 knows a user name only, no password.'} />
    <${Text} form=${form} name="host" label="Host" class="mono" placeholder="proxy.example.net" />
    <${Text} form=${form} name="port" label="Port" class="mono" inputmode="numeric" placeholder="1080" />
    <${Text} form=${form} name="username" label="User name" optional autocomplete="off" />
    ${values.type !== 'socks4' && html`<${Text} form=${form} name="password" label="Password" optional type="password" autocomplete="new-password"
      placeholder=${moved ? 'Type it again' : saved ? 'Saved. Type to replace it.' : ''} hint=${asked}
      say=${again && 'Type the password again: the saved one does not go to another server.'} />`}
    ${values.type !== 'socks4' && proxy?.hasPassword && html`<label class="tick wide"><input type="checkbox" checked=${form.values.forget} onChange=${(event) => form.set('forget', event.currentTarget.checked)} />
      <span>Forget the saved password</span></label>`}
  </div>`;
}

// isElsewhere reports whether the values name another server, or another protocol, than the proxy's.
function isElsewhere(proxy, values) {
  return values.type !== proxy.type || values.host.trim().toLowerCase() !== proxy.host || number(values.port) !== proxy.port;
}

function Labels({ form, proxy }) {
  const known = useStore(useApp().model.workspaces);
  return html`<fieldset class="group"><legend>For you</legend><div class="fields">
    <${Text} form=${form} name="name" label="Name" optional wide placeholder="Berlin, home line" />
    <${TagField} form=${form} name="tags" label="Tags" />
    <${Lines} form=${form} name="notes" label="Notes" optional rows=${2} />
    ${!proxy && html`<${Text} form=${form} name="workspaceId" label="Workspace" wide placeholder="default" list="known-workspaces" hint="Profiles of the same workspace can use it." />
      <datalist id="known-workspaces">${known.map((id) => html`<option key=${id} value=${id} />`)}</datalist>`}
  </div></fieldset>`;
}

function toValues(proxy, workspace) {
  const p = proxy || {};
  return {
    url: '',
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
function toBody(values, byLine, bare = false) {
  const body = byLine ? { url: values.url.trim() } : { type: values.type, host: values.host.trim(), port: number(values.port) };
  const given = { workspaceId: values.workspaceId.trim() };
  if (!byLine) Object.assign(given, { username: values.username, password: values.type === 'socks4' ? '' : values.password });
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
