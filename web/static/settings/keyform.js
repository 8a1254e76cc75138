// The form for a new key, and the key itself, which is shown once.
import { useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Copy, Name, Notice } from '../components.js';
import { Dialog } from '../dialog.js';
import { Choice, Field, Form, TagField, Text, useForm } from '../forms.js';
import { useStore } from '../store.js';
import { SCOPES } from './scopes.js';

const DAY_MS = 24 * 3600 * 1000;
const LIVES = [['', 'Never'], ['7', 'In 7 days'], ['30', 'In 30 days'], ['90', 'In 90 days'], ['365', 'In a year'], ['day', 'On a day…']];

export function KeyForm({ done, close }) {
  const app = useApp();
  const known = useStore(app.model.workspaces);
  const form = useForm({ name: '', scopes: ['read', 'run', 'write'], workspaces: [], life: '', day: '' });
  const [made, setMade] = useState(null);
  const make = async (values) => {
    const key = await app.api.post('/keys', toBody(values));
    setMade(key);
    done?.(key);
  };
  const { values } = form;
  // One dialog for both: the end of a dialog of its own would close what is shown next, and the key is shown once.
  return html`<${Dialog} title=${made ? html`Created <${Name}>${made.name}<//>` : 'New key'} close=${close}>${made ? html`<${MadeKey} made=${made} close=${close} />` : html`<${Form} form=${form} work=${make} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy || !values.name.trim() || !values.scopes.length || (values.life === 'day' && !values.day)}>${form.busy ? 'Creating…' : 'Create key'}</button>`}>
    <div class="fields">
      <${Text} form=${form} name="name" label="Name" wide autofocus maxlength="200" placeholder="Nightly tests" hint="Who or what uses it." />
      <${Scopes} form=${form} />
      <${TagField} form=${form} name="workspaces" label="Workspaces" hint=${`Leave empty for all workspaces.${known.length > 1 ? ` There are: ${known.join(', ')}.` : ''}`} />
      <${Choice} form=${form} name="life" member="expiresAt" label="Expires" options=${LIVES} />
      ${values.life === 'day' && html`<${Text} form=${form} name="day" label="Day" type="date" min=${new Date(Date.now() + DAY_MS).toISOString().slice(0, 10)} />`}
    </div><//>`}<//>`;
}

// Scopes are checkboxes. Admin contains all the others.
function Scopes({ form }) {
  const { scopes } = form.values;
  const all = scopes.includes('admin');
  const toggle = (scope, on) => form.set('scopes', on ? [...scopes, scope] : scopes.filter((other) => other !== scope));
  const control = ({ id, name: _, ...tied }) => html`<div role="group" id=${id} aria-label="What it may do" class="scopes" ...${tied}>${SCOPES.map(([scope, words, what]) => html`<label key=${scope} class="tick scope">
    <input type="checkbox" checked=${all || scopes.includes(scope)} disabled=${all && scope !== 'admin'} onChange=${(event) => toggle(scope, event.currentTarget.checked)} />
    <span><span class="scope-name">${words}</span> <code>${scope}</code><span class="hint scope-what">${what}</span></span></label>`)}</div>`;
  return html`<${Field} wide form=${form} name="scopes" label="May" control=${control} />`;
}

function toBody({ name, scopes, workspaces, life, day }) {
  const body = { name: name.trim(), scopes: scopes.includes('admin') ? ['admin'] : scopes };
  if (workspaces.length) body.workspaces = workspaces;
  if (life === 'day') body.expiresAt = new Date(`${day}T23:59:59`).toISOString();
  else if (life) body.expiresAt = new Date(Date.now() + Number(life) * DAY_MS).toISOString();
  return body;
}

function MadeKey({ made, close }) {
  return html`<div class="dialog-content"><${Notice}><p>Copy the key now. It is not shown again.</p><//>
      <div class="copy-line"><span class="copy-label">Key</span><code tabindex="0" role="group" aria-label="The key">${made.key}</code><${Copy} text=${made.key} label="Copy the key" /></div>
      <p class="hint">Programs send it as <code>Authorization: Bearer …</code>, or read it from <code>WARREN_API_KEY</code>. People log in to this page with it.</p></div>
    <footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer>`;
}
