// The dialog that creates and changes templates.
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Name, ProblemBox, Waiting } from './components.js';
import { Conflict, useVersion } from './conflict.js';
import { Dialog } from './dialog.js';
import { Choice, Form, Section, Text, useForm } from './forms.js';
import { IDENTITY, IdentityFields, identitySummary, LimitFields, LIMITS, limitsSummary, NameField, NETWORK, NetworkFields, networkSummary, NOTES, NotesFields, ProfileProxy, Tags } from './profiles/form/fields.js';
import { changes, FIELDS, toBody, toValues } from './profiles/form/values.js';
import { href } from './route.js';
import { useStore } from './store.js';
import { dealtWords, PICKS } from './templatechoice.js';

// HOW are the ways in which a template's profiles get a proxy, as [value, words].
const HOW = [['', 'Left to each profile'], ['one', 'All the same proxy'], ['tag', 'One of those with a tag'], ['each', 'One that no profile uses yet']];

// toForm converts a template, or a profile, to the form's values.
function toForm(template, workspace = '') {
  const { proxies } = template || {};
  return {
    ...toValues({ ...template, proxies: undefined }, workspace),
    how: proxies === 'each' ? 'each' : proxies ? 'tag' : template?.proxyId ? 'one' : '',
    tag: proxies?.tag || '',
    pick: proxies?.each ? 'each' : proxies?.pick || 'leastUsed',
  };
}

// toTemplate converts the form's values to a template of the API. null takes a setting out.
function toTemplate(values) {
  const { how, tag, pick } = values;
  return {
    ...toBody(values),
    proxyId: (how === 'one' && values.proxyId) || null,
    proxies: how === 'each' ? 'each' : how === 'tag' ? (pick === 'each' ? { tag, each: true } : { tag, pick }) : null,
  };
}

// TEMPLATE_FIELDS are the settings in words, for somebody who compares two versions.
const TEMPLATE_FIELDS = [
  ...FIELDS.filter(({ names }) => names[0] !== 'proxyId'),
  { label: 'Proxy', names: ['how', 'proxyId', 'tag', 'pick'], words: ({ how, proxyId, tag }) => (how === 'one' && proxyId ? { proxies: [proxyId] } : how === 'tag' ? dealtWords({ tag }) : HOW.find(([value]) => value === how)[1]) },
];

// TemplateDialog creates a template, or changes one. With a profile it begins with the profile's settings.
export function TemplateDialog({ template, profile, done, close }) {
  const app = useApp();
  const [read, setRead] = useState(null);
  const [problem, setProblem] = useState(null);
  const path = template ? `/templates/${encodeURIComponent(template.id)}` : profile && `/profiles/${encodeURIComponent(profile.id)}`;
  useEffect(() => {
    if (path) app.api.full('GET', path).then(setRead, setProblem);
  }, []);
  const title = template ? html`Edit <${Name}>${template.name}<//>` : 'New template';
  return html`<${Dialog} sheet title=${title} lead=${profile && html`With the settings of <${Name}>${profile.name}<//>`} close=${close}>
    ${path && !read ? html`<div class="dialog-content"><${ProblemBox} problem=${problem} />${!problem && html`<${Waiting} />`}</div>`
    : template ? html`<${EditForm} ...${{ ...read, path, done, close }} />` : html`<${NewForm} profile=${read?.data} ...${{ done, close }} />`}
  <//>`;
}

// asFault shows at its field that the name is taken.
function asFault(problem) {
  if (problem.code === 'duplicate') Object.assign(problem, { code: 'validation_failed', errors: [{ location: 'body.name', message: 'There is a template with this name already. Choose another.' }] });
  throw problem;
}

function NewForm({ profile, done, close }) {
  const app = useApp();
  const workspace = useStore(app.model.workspace);
  const form = useForm({ ...toForm(profile && { ...profile, temporary: false }, workspace) });
  const create = async (values) => {
    const given = Object.entries(changes(toTemplate(toForm(null)), toTemplate(values))).filter(([, value]) => value !== null);
    const made = await app.api.post('/templates', { ...Object.fromEntries(given), name: values.name }).catch(asFault);
    app.model.sawWorkspaces([made]);
    app.toasts.say({ text: `Created the template ${made.name}.`, tone: 'good', action: profile && { label: 'Show', run: () => app.router.go(href('settings', undefined, ['templates'])) } });
    await done?.(made);
    close();
  };
  const foot = html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy}>${form.busy ? 'Creating…' : 'Create'}</button>`;
  return html`<${Form} form=${form} work=${create} foot=${foot}><${Sections} form=${form} fixed=${profile?.workspaceId} /><//>`;
}

function EditForm({ data, etag, path, done, close }) {
  const app = useApp();
  const form = useForm(toForm(data));
  const version = useVersion({ form, data, etag, read: () => app.api.full('GET', path), toValues: toForm, fields: TEMPLATE_FIELDS });
  const save = async (values) => {
    const saved = await version.save((headers, before) => app.api.full('PUT', path, { body: changes(toTemplate(toForm(before)), toTemplate(values)), headers })).catch(asFault);
    if (!saved) return;
    app.toasts.say({ text: `Saved the template ${saved.data.name}.`, tone: 'good' });
    await done?.(saved.data);
    close();
  };
  const foot = html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy || Boolean(version.conflict)}>${form.busy ? 'Saving…' : 'Save'}</button>`;
  return html`<${Form} form=${form} work=${save} foot=${foot} saved=${version.first}>
    <${Conflict} version=${version} />
    <${Sections} form=${form} fixed=${data.workspaceId} />
  <//>`;
}

// Sections are the fields. fixed is the workspace, if it cannot be chosen.
function Sections({ form, fixed }) {
  const { values } = form;
  const workspaceId = fixed || values.workspaceId.trim();
  return html`<div class="fields">
      <p class="hint wide">What you leave as it is stays open: the workspace or the server decides it for each new profile.</p>
      <${NameField} form=${form} />
      <${Choice} form=${form} name="how" member="proxies" label="Proxy" options=${HOW} wide />
      ${values.how === 'one' && html`<${ProfileProxy} form=${form} workspaceId=${workspaceId} />`}
      ${values.how === 'tag' && html`<${Text} form=${form} name="tag" member="proxies" label="Tag" maxlength="64" placeholder="de" /><${Choice} form=${form} name="pick" member="" label="Which one" options=${PICKS} />`}
      <${Tags} form=${form} />
    </div>
    <${Section} form=${form} title="Identity" names=${IDENTITY} summary=${identitySummary(values)}><${IdentityFields} form=${form} /><//>
    <${Section} form=${form} title="Network" names=${NETWORK} summary=${networkSummary(values)}><${NetworkFields} form=${form} workspaceId=${workspaceId} /><//>
    <${Section} form=${form} title="Start and limits" names=${LIMITS} summary=${limitsSummary(values)}><${LimitFields} form=${form} /><//>
    <${Section} form=${form} title=${fixed ? 'Notes' : 'Notes and workspace'} names=${NOTES} summary=${values.notes.trim() ? 'Written' : fixed ? 'None' : workspaceId || 'default'}><${NotesFields} form=${form} saved=${Boolean(fixed)} /><//>`;
}
