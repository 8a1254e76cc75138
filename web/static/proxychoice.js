// Chooses a proxy for a profile: a form field, and a dialog for it alone.
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Combobox } from './combobox.js';
import { Name } from './components.js';
import { Dialog } from './dialog.js';
import { Country } from './flag.js';
import { proxyName } from './format.js';
import { Field, Form, useForm } from './forms.js';
import { useProxy } from './proxycache.js';
import { PROXY_STATUS } from './words.js';

// DELETED stands for a deleted proxy until another is chosen. It is not the choice of no proxy.
export const DELETED = 'gone';

// DEALT stands for a choice that a template or a workspace makes for each new profile.
export const DEALT = 'dealt';

// proxyOf returns ProxyField's initial value for a profile, or for what a template gives to one.
export function proxyOf(profile) {
  return profile.proxyId || (profile.proxies ? DEALT : profile.proxyMissing ? DELETED : '');
}

// proxyHint says what a choice means for the profile's traffic.
export function proxyHint(id) {
  if (id === DELETED) return '';
  if (id === DEALT) return 'It is chosen when the profile is created. All traffic goes through it.';
  return id ? 'All traffic goes through this proxy. Nothing bypasses it.' : 'Sites see this computer’s own address.';
}

// ProxyField finds one of the workspace's proxies by typing; the empty value is none. A proxy's line that is typed or pasted can be added at once. `none`,
// `empty` and `dealt` are Finder's.
export function ProxyField({ form, workspaceId, hint, label = 'Proxy', none, empty, dealt }) {
  const control = (tied) => html`<${Finder} ...${{ form, workspaceId, tied, none, empty, dealt }} />`;
  return html`<${Field} wide ...${{ form, name: 'proxyId', label, hint, control }} />`;
}

// Finder is the field's control. Without `none` no proxy cannot be chosen; `empty` are the words of no choice, `skip` the ids that are not offered, and
// `dealt` the words of DEALT, if that may be chosen.
export function Finder({ form, workspaceId, tied, none = 'No proxy (direct connection)', empty = none, skip = [], dealt = '' }) {
  const { api } = useApp();
  const chosen = form.values.proxyId;
  const proxy = useProxy(chosen && chosen !== DELETED && chosen !== DEALT ? chosen : '');
  const words = chosen === DEALT ? dealt : chosen === DELETED ? 'Its proxy was deleted. Choose another, or none.' : !chosen ? empty : proxy ? describe(proxy) : proxy === null ? 'Unknown proxy' : '…';
  const choose = (id) => form.set('proxyId', id);
  const add = (text, close) => form.send(async () => {
    const made = await api.post('/proxies', { url: text.trim(), ...(workspaceId ? { workspaceId } : {}) }).catch((problem) => {
      if (problem.code !== 'duplicate' || !problem.body?.existingId) throw asProxyFault(problem);
      return { id: problem.body.existingId };
    });
    choose(made.id);
    close();
  });
  const optionsOf = (data, text) => [
    ...(looksLikeLine(text) ? [{ key: 'add', words: `Add ${hideLogin(text)} and use it`, run: (close) => add(text, close), stays: true }] : []),
    ...(dealt ? [{ key: 'dealt', words: dealt, run: () => choose(DEALT) }] : []),
    ...(none ? [{ key: 'none', words: none, run: () => choose('') }] : []),
    ...data.filter(({ id }) => !skip.includes(id)).map((one) => ({ key: one.id, words: html`<${Country} code=${one.lastCheck?.country} /> <bdi>${describe(one)}</bdi>`, run: () => choose(one.id) })),
  ];
  return html`<${Combobox} ...${{ tied, workspaceId, words, optionsOf }} path="/proxies" label="Proxies" chosen=${Boolean(chosen)} placeholder="Search, or paste host:port:user:password" />`;
}

// looksLikeLine says whether a text may be a proxy's line. The server reads it.
function looksLikeLine(text) {
  return /^\s*(?:[a-z0-9]+:\/\/\S+|\S*[^\s:]+[:@]\S*\d{2,5}\S*)\s*$/i.test(text);
}

// hideLogin shortens a line to what may be seen over a shoulder.
function hideLogin(text) {
  const [, host] = /(?:@|^(?:[a-z0-9]+:\/\/)?)([^@:\s/]+:\d+)/i.exec(text.trim()) || [];
  return host || 'this proxy';
}

// asProxyFault shows the fault of a line at the field of the proxy.
function asProxyFault(problem) {
  problem.errors = problem.errors.map((error) => ({ ...error, location: 'body.proxyId' }));
  return problem;
}

function describe(proxy) {
  const status = proxy.status === 'alive' ? '' : ` (${(PROXY_STATUS[proxy.status] || PROXY_STATUS.unknown).text.toLowerCase()})`;
  return `${proxyName(proxy)}${status}`;
}

// ProxyDialog changes only a profile's proxy.
export function ProxyDialog({ profile, done, close }) {
  const app = useApp();
  const form = useForm({ proxyId: proxyOf(profile) });
  const save = async (values) => {
    const changed = await app.api.put(`/profiles/${encodeURIComponent(profile.id)}`, { proxyId: values.proxyId || null });
    done?.(changed);
    close();
  };
  const running = ['running', 'starting'].includes(profile.status);
  return html`<${Dialog} title="Choose a proxy" lead=${html`For <${Name}>${profile.name}<//>`} close=${close}>
    <${Form} form=${form} work=${save} foot=${html`
      <button type="button" class="button" onClick=${close}>Cancel</button>
      <button class="button primary" disabled=${form.busy || form.values.proxyId === DELETED}>${form.busy ? 'Saving…' : 'Save'}</button>`}>
      <${ProxyField} form=${form} workspaceId=${profile.workspaceId}
        hint=${running ? 'The running browser uses it for new connections at once. Choosing no proxy takes effect at the next start.' : proxyHint(form.values.proxyId)} />
    <//>
  <//>`;
}
