// Creates and changes profiles.
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Name, ProblemBox, Waiting } from './components.js';
import { Dialog } from './dialog.js';
import { Choice, Form, Lines, linesOf, number, Section, TagField, Text, useForm } from './forms.js';
import { DELETED, ProxyField, proxyOf } from './proxychoice.js';
import { useStore } from './store.js';
import { SYSTEMS } from './words.js';

const IDENTITY = ['timezone', 'locale', 'geolocation', 'webrtc', 'screen', 'consistency'];

// ProfileDialog creates a profile, or changes one. It then reads the profile first, to start from its current values.
export function ProfileDialog({ profile, done, close }) {
  const app = useApp();
  const [read, setRead] = useState(profile ? null : { data: null, etag: null });
  const [problem, setProblem] = useState(null);
  const load = () => app.api.full('GET', `/profiles/${encodeURIComponent(profile.id)}`).then(setRead, setProblem);
  useEffect(() => {
    if (profile) load();
  }, []);
  const title = profile ? html`Edit <${Name}>${profile.name}<//>` : 'New profile';
  return html`<${Dialog} sheet title=${title} close=${close}>
    ${read
      ? html`<${ProfileForm} key=${read.etag} before=${read.data} etag=${read.etag} ...${{ done, close, load }} />`
      : html`<div class="dialog-content"><${ProblemBox} problem=${problem} />${!problem && html`<${Waiting} />`}</div>`}
  <//>`;
}

function ProfileForm({ before, etag, done, close, load }) {
  const app = useApp();
  const workspace = useStore(app.model.workspace);
  const form = useForm(toValues(before, workspace));
  const save = async (values) => {
    const wanted = toBody(values);
    const saved = before
      ? await app.api.put(`/profiles/${encodeURIComponent(before.id)}`, changes(toBody(toValues(before)), wanted), { headers: etag ? { 'If-Match': etag } : {} })
      : await app.api.post('/profiles', withoutDefaults(wanted));
    app.model.sawWorkspaces([saved]);
    app.toasts.say({ text: before ? `${saved.name} is saved.` : `${saved.name} is ready.`, tone: 'good' });
    await done?.(saved);
    close();
  };
  const explain = (problem) => problem.code === 'etag_mismatch'
    && html`<button type="button" class="button small" onClick=${load}>Load what is there now</button>`;
  const foot = html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy}>${form.busy ? 'Saving…' : before ? 'Save' : 'Create profile'}</button>`;
  return html`<${Form} form=${form} work=${save} foot=${foot} explain=${explain}>
    <${Basics} form=${form} before=${before} />
    <${Exit} form=${form} before=${before} />
    <${Identity} form=${form} />
    <${Reach} form=${form} />
    <${Limits} form=${form} />
  <//>`;
}

function Basics({ form, before }) {
  const known = useStore(useApp().model.workspaces);
  const systems = Object.entries(SYSTEMS);
  return html`<div class="fields">
    <${Text} form=${form} name="name" label="Name" wide autofocus placeholder="Shop account, Berlin" />
    <${Choice} form=${form} name="os" label="System it shows" options=${before ? systems : [['', 'This computer’s'], ...systems]} />
    <${Text} form=${form} name="browserVersion" label="Browser version" inputmode="numeric" placeholder="The installed one" hint="The major version, such as 150." />
    <${TagField} form=${form} name="tags" label="Tags" hint="Enter or a comma ends a tag." />
    <${Lines} form=${form} name="notes" label="Notes" optional rows=${2} />
    ${!before && html`<${Text} form=${form} name="workspaceId" label="Workspace" wide placeholder="default" list="known-workspaces" hint="A new name makes a new workspace. It cannot be changed later." />
      <datalist id="known-workspaces">${known.map((id) => html`<option key=${id} value=${id} />`)}</datalist>`}
  </div>`;
}

function Exit({ form, before }) {
  return html`<fieldset class="group"><legend>Way out and first pages</legend><div class="fields">
    <${ProxyField} form=${form} workspaceId=${before ? before.workspaceId : form.values.workspaceId.trim()} hint="All of its traffic goes through the proxy, and none beside it." />
    <${Lines} form=${form} name="startUrls" label="Start pages" optional rows=${2} placeholder="https://…" hint="One address a line." />
    <${Choice} form=${form} name="headless" label="Window" wide options=${[['', 'Where there is a screen'], ['false', 'Always a window'], ['true', 'Never a window (headless)']]} />
  </div></fieldset>`;
}

function Identity({ form }) {
  const { timezone, locale, geolocation, webrtc, consistency } = form.values;
  const auto = timezone === 'auto' && locale === 'auto' && geolocation === 'auto' && webrtc === 'proxy_only' && consistency === 'warn';
  return html`<${Section} form=${form} title="How it shows itself" names=${IDENTITY} summary=${auto ? 'As at the exit' : 'Set by hand'}>
    <${OrOwn} form=${form} name="timezone" label="Timezone" options=${[['auto', 'As at the exit'], ['system', 'As on this computer'], ['own', 'This one:']]}
      own=${{ name: 'timezoneOwn', label: 'Timezone’s name', placeholder: 'Europe/Berlin', list: 'zones' }} />
    <datalist id="zones">${zones().map((zone) => html`<option key=${zone} value=${zone} />`)}</datalist>
    <${OrOwn} form=${form} name="locale" label="Languages" options=${[['auto', 'As at the exit'], ['system', 'As on this computer'], ['own', 'These:']]}
      own=${{ name: 'localeOwn', label: 'Languages, best first', placeholder: 'de-DE, de, en' }} />
    <${OrOwn} form=${form} name="geolocation" label="Position" options=${[['auto', 'As at the exit'], ['off', 'Denied'], ['own', 'This one:']]}
      own=${{ name: 'position', label: 'Latitude, longitude, metres', placeholder: '52.52, 13.405, 50', say: 'Write degrees, and the accuracy in metres if you like: 52.52, 13.405, 50.' }} />
    <${Choice} form=${form} name="webrtc" label="WebRTC" options=${[['proxy_only', 'Through the proxy only'], ['off', 'Off'], ['default', 'As Chrome does']]} />
    <${Text} form=${form} name="screen" label="Screen" placeholder="1920 × 1080 × 1" hint="Width, height and pixel ratio. Empty: as it comes."
      say="Write width and height, and the pixel ratio if you like: 1920 × 1080 × 1." />
    <${Choice} form=${form} name="consistency" label="When it contradicts the exit" options=${[['warn', 'Start, and say so'], ['block', 'Do not start'], ['off', 'Start']]} />
  <//>`;
}

// OrOwn is a select whose last option opens a field for a custom value. Errors are shown at the field.
function OrOwn({ form, name, label, options, own }) {
  const typed = form.values[name] === 'own';
  return html`<${Choice} form=${form} name=${name} member=${typed ? '' : name} label=${label} options=${options} />
    ${typed ? html`<${Text} form=${form} member=${name} ...${own} />` : html`<span></span>`}`;
}

function Limits({ form }) {
  return html`<${Section} form=${form} title="Limits" names=${['idleTimeoutMs', 'maxRunMs']} summary=${form.values.idleTimeoutMs || form.values.maxRunMs ? 'Set' : 'None'}>
    <${Text} form=${form} name="idleTimeoutMs" label="Close when idle, after minutes" inputmode="decimal" placeholder="Never" />
    <${Text} form=${form} name="maxRunMs" label="Close in any case, after minutes" inputmode="decimal" placeholder="Never" />
  <//>`;
}

function Reach({ form }) {
  const { backgroundTraffic, ...texts } = form.values;
  const names = ['allowHosts', 'denyHosts', 'allowLocal', 'localhostVia'];
  const byHand = names.some((name) => texts[name].trim()) || backgroundTraffic === 'allow';
  return html`<${Section} form=${form} title="What it may reach" names=${[...names, 'backgroundTraffic']} summary=${byHand ? 'Set by hand' : 'The outside alone'}>
    <${Lines} form=${form} name="allowHosts" label="Only these hosts" optional rows=${2} placeholder="example.com" hint="One a line; a name stands for all below it too. Also *.example.com, cdn-*.example.com, 192.0.2.0/24, example.com:443. None: every host." />
    <${Lines} form=${form} name="denyHosts" label="Never these hosts" optional rows=${2} placeholder="ads.example.com" hint="In the same form. They are refused whatever is allowed." />
    <${Lines} form=${form} name="allowLocal" label="Services of this computer" optional rows=${2} placeholder="localhost:3000" hint="One host:port a line, reached beside the proxy. All else here stays out of reach." />
    <${Lines} form=${form} name="localhostVia" label="Ports of this computer by a name" optional rows=${2} placeholder="app.test:3000" hint="One a line: app.test:3000 is port 3000 here, under that name; a port alone is localhost’s." />
    <${Choice} form=${form} name="backgroundTraffic" label="Chrome’s own services" options=${[['refuse', 'Refuse updates and the like'], ['allow', 'Let them through the proxy']]} />
  <//>`;
}

function zones() {
  return Intl.supportedValuesOf ? Intl.supportedValuesOf('timeZone') : [];
}

// toValues converts a profile to the form's values.
function toValues(profile, workspace = '') {
  const p = profile || {};
  const zone = p.timezone ?? 'auto';
  const locale = p.locale ?? 'auto';
  const place = p.geolocation ?? 'auto';
  const byHand = Array.isArray(locale) || !['auto', 'system'].includes(locale);
  return {
    name: p.name || '',
    os: p.os || '',
    browserVersion: p.browserVersion || '',
    tags: p.tags || [],
    notes: p.notes || '',
    workspaceId: p.workspaceId || workspace,
    proxyId: proxyOf(p),
    startUrls: (p.startUrls || []).join('\n'),
    headless: p.headless == null ? '' : String(p.headless),
    timezone: ['auto', 'system'].includes(zone) ? zone : 'own',
    timezoneOwn: ['auto', 'system'].includes(zone) ? '' : zone,
    locale: byHand ? 'own' : locale,
    localeOwn: byHand ? [].concat(locale).join(', ') : '',
    geolocation: typeof place === 'object' ? 'own' : place,
    position: typeof place === 'object' ? [place.latitude, place.longitude, place.accuracy].filter((n) => n != null).join(', ') : '',
    webrtc: p.webrtc || 'proxy_only',
    consistency: p.consistency || 'warn',
    screen: p.screen ? [p.screen.width, p.screen.height, p.screen.deviceScaleFactor].filter((n) => n != null).join(' × ') : '',
    idleTimeoutMs: minutes(p.idleTimeoutMs),
    maxRunMs: minutes(p.maxRunMs),
    allowLocal: (p.allowLocal || []).join('\n'),
    allowHosts: (p.allowHosts || []).join('\n'),
    denyHosts: (p.denyHosts || []).join('\n'),
    localhostVia: (p.localhostVia || []).join('\n'),
    backgroundTraffic: p.backgroundTraffic || 'refuse',
  };
}

function minutes(ms) {
  return ms == null ? '' : String(ms / 60_000);
}

function milliseconds(text) {
  const value = number(text);
  if (value === '') return null;
  return typeof value === 'number' ? Math.round(value * 60_000) : value;
}

// toBody converts the values to a profile of the API. null stands for a member's default.
function toBody(values) {
  const [latitude, longitude, accuracy] = values.position.split(',').map(number);
  const [width, height, deviceScaleFactor] = values.screen.split(/[×x,;\s]+/i).filter(Boolean).map(number);
  return {
    name: values.name,
    os: values.os || null,
    browserVersion: values.browserVersion.trim() || null,
    tags: values.tags,
    notes: values.notes,
    workspaceId: values.workspaceId.trim() || null,
    proxyId: values.proxyId === DELETED ? undefined : values.proxyId || null, // unchanged, or as chosen
    startUrls: linesOf(values.startUrls),
    headless: values.headless === '' ? null : values.headless === 'true',
    timezone: values.timezone === 'own' ? values.timezoneOwn.trim() : values.timezone,
    locale: values.locale === 'own' ? values.localeOwn.split(',').map((tag) => tag.trim()).filter(Boolean) : values.locale,
    geolocation: values.geolocation === 'own' ? { latitude, longitude, ...(accuracy === undefined ? {} : { accuracy }) } : values.geolocation,
    webrtc: values.webrtc,
    consistency: values.consistency,
    screen: width === undefined ? null : { width, height, ...(deviceScaleFactor === undefined ? {} : { deviceScaleFactor }) },
    idleTimeoutMs: milliseconds(values.idleTimeoutMs),
    maxRunMs: milliseconds(values.maxRunMs),
    allowLocal: linesOf(values.allowLocal),
    allowHosts: listOrNull(values.allowHosts),
    denyHosts: listOrNull(values.denyHosts),
    localhostVia: listOrNull(values.localhostVia),
    backgroundTraffic: values.backgroundTraffic,
  };
}

function listOrNull(text) {
  const list = linesOf(text);
  return list.length ? list : null;
}

// changes returns the differences only: an update merges, so that other people's changes are kept.
function changes(before, after) {
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])));
}

// withoutDefaults omits from a new profile what the server should decide.
function withoutDefaults(body) {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}
