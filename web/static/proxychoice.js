// Chooses a proxy for a profile: a form field, and a dialog for it alone.
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Name } from './components.js';
import { Dialog } from './dialog.js';
import { proxyName } from './format.js';
import { Field, Form, useForm } from './forms.js';
import { useStore } from './store.js';
import { PROXY_STATUS } from './words.js';

// Above this number of proxies the list gets a filter.
const MANY = 12;
const SHOWN = 300;

// DELETED stands for a deleted proxy until another is chosen. It is not the choice of no proxy.
export const DELETED = 'gone';

// proxyOf returns ProxyField's initial value for a profile.
export function proxyOf(profile) {
  return profile.proxyId || (profile.proxyMissing ? DELETED : '');
}

// ProxyField is a select of the workspace's proxies; the empty value is none.
export function ProxyField({ form, workspaceId, hint }) {
  const { model } = useApp();
  const all = useStore(model.proxies);
  const [filter, setFilter] = useState('');
  const chosen = form.values.proxyId;
  const own = [...(all || new Map()).values()].filter((proxy) => !workspaceId || proxy.workspaceId === workspaceId);
  const fitting = own.filter((proxy) => proxy.id === chosen || describe(proxy).toLowerCase().includes(filter.toLowerCase())).slice(0, SHOWN);
  const control = (tied) => html`
    ${own.length > MANY && html`<input type="text" class="narrow" aria-label="Narrow the list of proxies" placeholder="Type to narrow the list"
      value=${filter} onInput=${(event) => setFilter(event.currentTarget.value)} spellcheck=${false} />`}
    <select ...${tied} value=${chosen} onChange=${(event) => form.set('proxyId', event.currentTarget.value)}>
      ${chosen === DELETED && html`<option value=${DELETED} selected>Its proxy was deleted: choose another, or none</option>`}
      <option value="" selected=${!chosen}>None: go out directly</option>
      ${fitting.map((proxy) => html`<option key=${proxy.id} value=${proxy.id} selected=${proxy.id === chosen}>${describe(proxy)}</option>`)}
      ${chosen && chosen !== DELETED && !own.some((proxy) => proxy.id === chosen) && html`<option value=${chosen} selected>${chosen}</option>`}
    </select>`;
  const none = all && own.length === 0 ? 'There are no proxies in this workspace yet. Add one under Proxies.' : hint;
  return html`<${Field} wide ...${{ form, name: 'proxyId', label: 'Proxy', hint: none, control }} />`;
}

function describe(proxy) {
  const country = proxy.lastCheck?.country;
  const status = proxy.status === 'alive' ? '' : ` (${(PROXY_STATUS[proxy.status] || PROXY_STATUS.unknown).text.toLowerCase()})`;
  return `${country ? `${country} · ` : ''}${proxyName(proxy)}${status}`;
}

// ProxyDialog changes only a profile's proxy.
export function ProxyDialog({ profile, done, close }) {
  const app = useApp();
  const form = useForm({ proxyId: proxyOf(profile) });
  const save = async (values) => {
    const changed = await app.api.put(`/profiles/${encodeURIComponent(profile.id)}`, { proxyId: values.proxyId || null });
    done?.(changed);
    app.model.recountProxies();
    close();
  };
  const running = ['running', 'starting'].includes(profile.status);
  return html`<${Dialog} title="Choose a proxy" lead=${html`For <${Name}>${profile.name}<//>`} close=${close}>
    <${Form} form=${form} work=${save} foot=${html`
      <button type="button" class="button" onClick=${close}>Cancel</button>
      <button class="button primary" disabled=${form.busy || form.values.proxyId === DELETED}>${form.busy ? 'Saving…' : 'Save'}</button>`}>
      <${ProxyField} form=${form} workspaceId=${profile.workspaceId}
        hint=${running ? 'The running browser’s new connections go through it at once. Going out directly counts from the next start.' : 'All of the profile’s traffic goes through it, and none beside it.'} />
    <//>
  <//>`;
}
