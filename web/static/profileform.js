// The dialogs that create and change profiles.
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.js';
import { begin, beginMany } from './actions.js';
import { Problem } from './api.js';
import { useApp } from './app-context.js';
import { Name, ProblemBox, Waiting } from './components.js';
import { Conflict, useVersion } from './conflict.js';
import { Dialog } from './dialog.js';
import { count } from './format.js';
import { Form, number, Section, Text, Tick, useForm } from './forms.js';
import { IDENTITY, IdentityFields, identitySummary, LimitFields, LIMITS, limitsSummary, NameField, NETWORK, NetworkFields, networkSummary, NOTES, NotesFields, ProfileProxy, Tags } from './profiles/form/fields.js';
import { changes, FIELDS, rebase, toBody, toValues } from './profiles/form/values.js';
import { DEALT } from './proxychoice.js';
import { useStore } from './store.js';
import { dealtWords, TemplateField } from './templatechoice.js';

const MOST_COPIES = 100;
const PAUSE_MS = 200; // in typing a workspace's name, before its defaults are read

// ProfileDialog creates a profile, or changes one. It then reads the profile first, to start from its current values.
export function ProfileDialog({ profile, done, close }) {
  const app = useApp();
  const [read, setRead] = useState(null);
  const [problem, setProblem] = useState(null);
  const path = profile && `/profiles/${encodeURIComponent(profile.id)}`;
  useEffect(() => {
    if (profile) app.api.full('GET', path).then(setRead, setProblem);
  }, []);
  if (!profile) return html`<${Dialog} sheet title="New profile" close=${close}><${NewForm} ...${{ done, close }} /><//>`;
  return html`<${Dialog} sheet title=${html`Edit <${Name}>${profile.name}<//>`} close=${close}>
    ${read
      ? html`<${EditForm} ...${{ ...read, path, done, close }} />`
      : html`<div class="dialog-content"><${ProblemBox} problem=${problem} />${!problem && html`<${Waiting} />`}</div>`}
  <//>`;
}

function EditForm({ data, etag, path, done, close }) {
  const app = useApp();
  const form = useForm(toValues(data));
  const version = useVersion({ form, data, etag, read: () => app.api.full('GET', path), toValues, fields: FIELDS });
  const save = async (values) => {
    const saved = await saveProfile(app, version, values);
    if (!saved) return;
    app.toasts.say({ text: `Saved ${saved.name}`, tone: 'good' });
    await done?.(saved);
    close();
  };
  const foot = html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy || Boolean(version.conflict)}>${form.busy ? 'Saving…' : 'Save'}</button>`;
  return html`<${Form} form=${form} work=${save} foot=${foot} saved=${version.first}>
    <${Conflict} version=${version} />
    <${Sections} form=${form} saved=${data} />
  <//>`;
}

// saveProfile saves a form's changes, on the version that they are based on. It resolves to null if there is something to choose first.
export async function saveProfile(app, version, values) {
  const saved = await version.save((headers, before) => app.api.full('PUT', `/profiles/${encodeURIComponent(before.id)}`, { body: changes(toBody(toValues(before)), toBody(values)), headers }));
  return saved && saved.data;
}

function NewForm({ done, close }) {
  const app = useApp();
  const workspace = useStore(app.model.workspace);
  const form = useForm({ ...toValues(null, workspace), copies: '1', each: false });
  const base = useBase(form, workspace);
  const copies = number(form.values.copies);
  const many = copies !== 1;
  const create = async ({ copies: _, each, ...values }) => {
    const given = changes(toBody(base.values), toBody(values));
    const body = { ...given, name: values.name, ...(values.workspaceId.trim() && { workspaceId: values.workspaceId.trim() }), ...(base.template && { templateId: base.template.id }) };
    if (!Number.isInteger(copies) || copies < 1 || copies > MOST_COPIES) throw new Problem(422, { code: 'validation_failed', errors: [{ location: 'body.count', message: 'is no such number' }] }, '');
    if (!many) return [await app.api.post('/profiles', body)];
    if (each) delete body.proxyId;
    return (await app.api.post('/profiles/batch-create', { count: copies, ...body, ...(each ? { proxies: 'each' } : {}) })).data;
  };
  const make = (then) => async (values) => {
    const made = await create(values);
    app.model.sawWorkspaces(made);
    app.toasts.say({ text: many ? `Created ${count(made.length, 'profile')}` : `Created ${made[0].name}`, tone: 'good' });
    await done?.(made[0]);
    close();
    then?.(made);
  };
  const start = (made) => (many ? beginMany(app, made) : begin(app, made[0]));
  const foot = html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button type="button" class="button" disabled=${form.busy} onClick=${() => form.send(make(start))}>Create and start</button>
    <button class="button primary" disabled=${form.busy}>${form.busy ? 'Creating…' : 'Create'}</button>`;
  return html`<${Form} form=${form} work=${make()} foot=${foot}>
    <${Sections} form=${form} many=${many} base=${base} />
  <//>`;
}

// useBase is what a new profile gets where the form leaves it: {values, template, choose, dealt}. What the person has not changed follows it.
function useBase(form, workspace) {
  const { api } = useApp();
  const [template, choose] = useState(null);
  const [defaults, setDefaults] = useState({});
  const [values, setValues] = useState(form.values);
  const id = form.values.workspaceId.trim() || 'default';
  useEffect(() => {
    const ending = new AbortController();
    const timer = setTimeout(() => api.get(`/workspaces/${encodeURIComponent(id)}`, undefined, { signal: ending.signal }).then((found) => setDefaults(found.defaults || {}), () => setDefaults({})), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [id]);
  useEffect(() => { if (template && template.workspaceId !== id) choose(null); }, [id]); // it is of another workspace
  const { proxyId: _, proxies: __, ...further } = defaults; // a template's choice of a proxy stands for both
  const given = template ? { ...(template.proxyId || template.proxies ? further : defaults), ...template } : defaults;
  useEffect(() => {
    const after = { ...toValues({ ...given, name: '', workspaceId: '' }, workspace) };
    delete after.name;
    delete after.workspaceId;
    form.setAll((now) => rebase(now, values, after));
    setValues((now) => ({ ...now, ...after }));
  }, [template, defaults]);
  return { values, template, choose, dealt: given.proxies ? dealtWords(given.proxies) : '' };
}

function Sections({ form, saved, many = false, base }) {
  const workspaceId = saved ? saved.workspaceId : form.values.workspaceId.trim();
  const { values } = form;
  const each = many && values.each && values.proxyId !== DEALT;
  return html`<div class="fields">
      <${NameField} form=${form} hint=${many && 'Write {n} where the number of each goes. Without it all have this name.'} />
      ${base && html`<${TemplateField} form=${form} workspaceId=${workspaceId || 'default'} template=${base.template} choose=${base.choose} />`}
      ${!each && html`<${ProfileProxy} form=${form} workspaceId=${workspaceId} dealt=${base?.dealt} />`}
      <${Tags} form=${form} />
      ${!saved && html`<${Copies} form=${form} many=${many} workspaceId=${workspaceId} />`}
    </div>
    <${Section} form=${form} title="Identity" names=${IDENTITY} summary=${identitySummary(values)}><${IdentityFields} form=${form} saved=${Boolean(saved)} /><//>
    <${Section} form=${form} title="Network" names=${NETWORK} summary=${networkSummary(values)}><${NetworkFields} form=${form} workspaceId=${workspaceId} /><//>
    <${Section} form=${form} title="Start, limits and extensions" names=${LIMITS} summary=${limitsSummary(values)}><${LimitFields} form=${form} workspaceId=${workspaceId} kept=${Boolean(saved) && !saved.temporary} /><//>
    <${Section} form=${form} title=${saved ? 'Notes' : 'Notes and workspace'} names=${NOTES} summary=${values.notes.trim() ? 'Written' : saved ? 'None' : workspaceId || 'default'}><${NotesFields} form=${form} saved=${Boolean(saved)} /><//>`;
}

// Copies makes many profiles at once, each with another proxy if there are enough.
function Copies({ form, many, workspaceId }) {
  const { api } = useApp();
  const [proxies, setProxies] = useState(null);
  useEffect(() => {
    setProxies(null);
    if (many) api.get('/proxies', { limit: 1, page: 1, workspaceId: workspaceId || 'default' }).then(({ total }) => setProxies(total), () => {});
  }, [many, workspaceId]);
  const wanted = number(form.values.copies);
  const enough = proxies !== null && proxies >= wanted;
  return html`<${Text} form=${form} name="copies" member="count" label="Copies" type="number" min="1" max=${MOST_COPIES} inputmode="numeric" say=${many && `Write a number from 1 to ${MOST_COPIES}.`} />
    ${many && (enough || form.values.each
      ? html`<${Tick} form=${form} name="each" member="proxies" label="A different proxy for each" hint="Proxies that no profile uses yet, the oldest first." />`
      : proxies !== null && html`<p class="hint wide">There are ${count(proxies, 'proxy', 'proxies')}: not enough for a different one for each.</p>`)}`;
}
