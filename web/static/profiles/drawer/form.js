// A form of some of the profile's settings, as a part of a tab.
import { useEffect } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { Waiting } from '../../components.js';
import { Conflict, useVersion } from '../../conflict.js';
import { Form, useForm } from '../../forms.js';
import { saveProfile } from '../../profileform.js';
import { useStore } from '../../store.js';
import { FIELDS, toValues } from '../form/values.js';

// ProfileForm draws fields by its children, a function of the form. A profile that changes elsewhere is shown at once while nothing is typed; else a line says so.
export function ProfileForm({ object, ...rest }) {
  return object.data && object.etag ? html`<${Inside} object=${object} ...${rest} />` : html`<${Waiting} />`;
}

function Inside({ object, path, rows, children, pending = [] }) {
  const app = useApp();
  const offline = useStore(app.offline);
  const { data, etag } = object;
  const form = useForm(toValues(data));
  const version = useVersion({ form, data, etag, read: () => app.api.full('GET', path), toValues, fields: FIELDS });
  const newer = etag !== version.etag && data.updatedAt > version.data.updatedAt;
  useEffect(() => {
    if (!newer || version.changed || form.busy) return;
    form.setAll(toValues(data));
    version.rebase({ data, etag });
  }, [etag, version.changed, form.busy]);
  const save = async (values) => {
    const saved = await saveProfile(app, version, values);
    if (!saved) return;
    rows.patch(saved.id, saved);
    object.reload();
    app.toasts.say({ text: `Saved ${saved.name}`, more: saved.run?.pending?.length ? 'Some of it takes effect when the browser starts next.' : '', tone: 'good' });
  };
  const reset = () => {
    form.setProblem(null);
    form.setAll(JSON.parse(version.first));
  };
  const foot = version.changed && html`<button type="button" class="button" disabled=${form.busy} onClick=${reset}>Undo changes</button>
    <button class="button primary" disabled=${form.busy || offline || Boolean(version.conflict)}>${form.busy ? 'Saving…' : 'Save'}</button>`;
  return html`<${Form} plain form=${form} work=${save} foot=${foot} saved=${version.first}>
    <${Conflict} version=${version} />
    ${newer && version.changed && !version.conflict && !form.busy && html`<p class="meanwhile" role="status"><span>This profile was changed elsewhere meanwhile.</span> <button type="button" class="button small" onClick=${() => version.compare({ data, etag })}>Compare</button></p>`}
    <div class="fields">${children(form)}</div>
    ${pending.length > 0 && html`<p class="hint">${`Takes effect when the browser starts next: ${pending.join(', ')}.`}</p>`}
  <//>`;
}

// pendingWords returns the labels of the members that wait for the next start.
export function pendingWords(members = []) {
  return members.map((name) => FIELDS.find(({ names }) => names[0] === name)?.label || name);
}
