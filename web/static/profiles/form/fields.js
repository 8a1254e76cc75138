// The fields of a profile, in groups: the drawer's tabs and the dialog show the same ones.
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { Name } from '../../components.js';
import { Country } from '../../flag.js';
import { number, proxyName } from '../../format.js';
import { Choice, Field, Lines, TagField, Text, Tick } from '../../forms.js';
import { Icon } from '../../icons.js';
import { Finder, ProxyField, proxyHint } from '../../proxychoice.js';
import { useProxy } from '../../proxycache.js';
import { useStore } from '../../store.js';
import { PROXY_STATUS, SYSTEMS } from '../../words.js';
import { ExtensionField } from './extensions.js';
import { CHOICES } from './values.js';

// The members of each group, for the sections that open when one of them has a fault.
export const IDENTITY = ['os', 'browserVersion', 'timezone', 'locale', 'geolocation', 'webrtc', 'screen', 'consistency'];
export const NETWORK = ['fallbackProxyIds', 'fallbackCountry', 'allowHosts', 'denyHosts', 'allowLocal', 'localhostVia', 'backgroundTraffic', 'logHosts'];
export const LIMITS = ['startUrls', 'headless', 'idleTimeoutMs', 'maxRunMs', 'snapshots', 'args', 'extensions', 'passkeys', 'startWithServer', 'limits', 'freezeAfter', 'placement', 'temporary'];
export const NOTES = ['notes', 'workspaceId'];

export function NameField({ form, hint }) {
  return html`<${Text} form=${form} name="name" label="Name" wide autofocus placeholder="Shop account, Berlin" hint=${hint} />`;
}

export function ProfileProxy({ form, workspaceId, dealt, hint = proxyHint(form.values.proxyId) }) {
  return html`<${ProxyField} ...${{ form, workspaceId, dealt, hint }} />`;
}

export function Tags({ form }) {
  return html`<${TagField} form=${form} name="tags" label="Tags" hint="Press Enter or comma to add a tag." />`;
}

export function IdentityFields({ form, saved }) {
  const systems = Object.entries(SYSTEMS);
  return html`
    <${Choice} form=${form} name="os" label="Operating system (as sites see it)" options=${saved ? systems : [['', 'Same as this computer'], ...systems]} />
    <${Text} form=${form} name="browserVersion" label="Browser version" inputmode="numeric" placeholder="Same as the installed browser" hint="The major version, such as 150." />
    <${OrOwn} form=${form} name="timezone" label="Timezone" options=${CHOICES.timezone} own=${{ name: 'timezoneOwn', label: 'Name of the timezone', placeholder: 'Europe/Berlin', list: 'zones' }} />
    <datalist id="zones">${zones().map((zone) => html`<option key=${zone} value=${zone} />`)}</datalist>
    <${OrOwn} form=${form} name="locale" label="Languages" options=${CHOICES.locale} own=${{ name: 'localeOwn', label: 'Languages, best first', placeholder: 'de-DE, de, en' }} />
    <${OrOwn} form=${form} name="geolocation" label="Location" options=${CHOICES.geolocation}
      own=${{ name: 'position', label: 'Latitude, longitude, meters', placeholder: '52.52, 13.405, 50', say: 'Write degrees, and the accuracy in meters if you like: 52.52, 13.405, 50.' }} />
    <${Choice} form=${form} name="webrtc" label="WebRTC" options=${CHOICES.webrtc} />
    <${Text} form=${form} name="screen" label="Screen" placeholder="1920 × 1080 × 1" hint="Width, height and pixel ratio. Leave empty for the default."
      say="Write width and height, and the pixel ratio if you like: 1920 × 1080 × 1." />
    <${Choice} form=${form} name="consistency" label="If it doesn’t match the proxy" options=${CHOICES.consistency} />`;
}

// OrOwn is a select whose last option opens a field for a custom value. Errors are shown at the field.
function OrOwn({ form, name, label, options, own }) {
  const typed = form.values[name] === 'own';
  return html`<${Choice} form=${form} name=${name} member=${typed ? '' : name} label=${label} options=${options} wide=${!typed} />
    ${typed && html`<${Text} form=${form} member=${name} ...${own} />`}`;
}

// NetworkFields are all but the proxy itself.
export function NetworkFields({ form, workspaceId }) {
  return html`
    <${Fallbacks} form=${form} workspaceId=${workspaceId} name="fallbackProxyIds" />
    ${form.values.fallbackProxyIds.length > 0 && html`<${Choice} form=${form} name="fallbackCountry" label="Use a fallback" wide options=${CHOICES.fallbackCountry} />`}
    <${Lines} form=${form} name="allowHosts" label="Allowed hosts" optional rows=${2} placeholder="example.com" hint="One per line. A name stands for all names below it. Also: *.example.com, 192.0.2.0/24, example.com:443. Leave empty to allow every host." />
    <${Lines} form=${form} name="denyHosts" label="Blocked hosts" optional rows=${2} placeholder="ads.example.com" hint="One per line. Blocked even if they are allowed above." />
    <${Lines} form=${form} name="allowLocal" label="Local services" optional rows=${2} placeholder="localhost:3000" hint="One host:port per line. They are reached directly, not through the proxy. Everything else on this computer stays out of reach." />
    <${Lines} form=${form} name="localhostVia" label="Local ports under another name" optional rows=${2} placeholder="app.test:3000" hint="One per line: app.test:3000 is port 3000 of this computer, under that name." />
    <${Choice} form=${form} name="backgroundTraffic" label="Chrome’s background requests" wide options=${CHOICES.backgroundTraffic} />
    <${Tick} form=${form} name="logHosts" label="Keep a log of the hosts of each run" hint="Host names only, never pages. The runs list shows them." />`;
}

// Fallbacks is the ordered list of the proxies that take over when the profile's own is dead.
function Fallbacks({ form, workspaceId, name }) {
  const ids = form.values[name];
  const set = (list) => form.set(name, list);
  const move = (at, by) => {
    const list = [...ids];
    list.splice(at + by, 0, ...list.splice(at, 1));
    set(list);
  };
  const adding = { ...form, values: { proxyId: '' }, set: (_, id) => id && set([...ids, id]) };
  const control = (tied) => html`<div class="ordered">${ids.length > 0 && html`<ol class="ordered-list">${ids.map((id, i) => html`<li key=${id}><span class="ordered-number number">${i + 1}</span><${ProxyWords} id=${id} />
      <button type="button" class="icon-button" aria-label=${`Move fallback ${i + 1} up`} disabled=${i === 0} onClick=${() => move(i, -1)}><${Icon} name="up" /></button>
      <button type="button" class="icon-button" aria-label=${`Move fallback ${i + 1} down`} disabled=${i === ids.length - 1} onClick=${() => move(i, 1)}><${Icon} name="down" /></button>
      <button type="button" class="icon-button" aria-label=${`Remove fallback ${i + 1}`} onClick=${() => set(ids.filter((other) => other !== id))}><${Icon} name="close" /></button></li>`)}</ol>`}
    <${Finder} form=${adding} ...${{ workspaceId, tied }} none="" empty="Add a fallback proxy" skip=${[...ids, form.values.proxyId]} /></div>`;
  return html`<${Field} wide ...${{ form, name, control }} label="Fallback proxies" optional hint="They take over in this order when the proxy dies while the browser runs." />`;
}

function ProxyWords({ id }) {
  const proxy = useProxy(id);
  if (!proxy) return html`<span class="ordered-name muted">${proxy === null ? 'A deleted proxy' : '…'}</span>`;
  return html`<span class="ordered-name"><${Country} code=${proxy.lastCheck?.country} /> <${Name}>${proxyName(proxy)}<//>${proxy.status !== 'alive' && html` <span class="muted">${(PROXY_STATUS[proxy.status] || PROXY_STATUS.unknown).text.toLowerCase()}</span>`}</span>`;
}

// LimitFields leaves out what only a new profile can be: one that is kept never becomes temporary.
export function LimitFields({ form, kept, workspaceId }) {
  return html`
    <${Lines} form=${form} name="startUrls" label="Start pages" optional rows=${2} placeholder="https://…" hint="One URL per line." />
    <${Choice} form=${form} name="headless" label="Window" wide options=${CHOICES.headless} />
    <${Text} form=${form} name="idleTimeoutMs" label="Close when idle (minutes)" inputmode="decimal" placeholder="Never" />
    <${Text} form=${form} name="maxRunMs" label="Maximum run time (minutes)" inputmode="decimal" placeholder="No limit" />
    <${Choice} form=${form} name="snapshots" label="Snapshots" wide options=${CHOICES.snapshots} />
    <${Lines} form=${form} name="args" label="Chrome switches" optional rows=${2} placeholder="--mute-audio" hint="One per line. They apply from the next start. Only switches that keep every promise are accepted." />
    <${ExtensionField} form=${form} workspaceId=${workspaceId} name="extensions" />
    <${Choice} form=${form} name="passkeys" label="Passkeys" wide options=${CHOICES.passkeys} hint="They apply from the next start. A person allows them in the live view." />
    <${Tick} form=${form} name="startWithServer" label="Start with the server" hint="The browser starts when the server does." />
    <${RunLimits} form=${form} name="limits" />
    <${Text} form=${form} name="freezeAfter" label="Freeze when nobody needs it (seconds)" inputmode="numeric" placeholder="As the server says" hint="Its memory is given back until somebody comes. 0: never." />
    <${Text} form=${form} name="placement" label="Servers with these labels" wide placeholder="Any server" hint="Of several servers with one database: where it may start first, such as zone=berlin, ssd=yes. It stays there then."
      say="Write labels as zone=berlin, ssd=yes: letters, digits, and . _ / - between them." />
    ${!kept && html`<${Tick} form=${form} name="temporary" label="Temporary" hint="Deletes the profile with its data when its run has ended." />`}`;
}

// RunLimits are what a run may use of the machine. An empty field shows what the server gives.
function RunLimits({ form, name }) {
  const given = useStore(useApp().model.counts)?.runLimits;
  const limits = form.values[name];
  const field = (member, label, hint) => {
    const placeholder = !given ? '' : given[member] == null ? 'No limit' : number(given[member]);
    const control = (tied) => html`<input type="text" inputmode="numeric" ...${tied} value=${limits[member]} placeholder=${placeholder} onInput=${(event) => form.set(name, { ...limits, [member]: event.currentTarget.value })} />`;
    return html`<${Field} ...${{ form, name: member, member: `${name}.${member}`, label, hint, control }} />`;
  };
  return html`<div class="three wide" role="group" aria-label="Limits of the run">
    ${field('memoryMb', 'Memory (MiB)', 'With more, it ends.')}${field('cpuPercent', 'Processor (%)', '100 is one core.')}${field('pids', 'Processes', 'Threads count, too.')}</div>`;
}

export function NotesFields({ form, saved }) {
  const known = useStore(useApp().model.workspaces);
  return html`<${Lines} form=${form} name="notes" label="Notes" optional rows=${3} />
    ${!saved && html`<${Text} form=${form} name="workspaceId" label="Workspace" wide placeholder="default" list="known-workspaces" hint="A new name makes a new workspace. It cannot be changed later." />
      <datalist id="known-workspaces">${known.map((id) => html`<option key=${id} value=${id} />`)}</datalist>`}`;
}

// summaries say what a folded group holds.
export function identitySummary({ os, browserVersion, timezone, locale, geolocation, webrtc, screen, consistency }) {
  const auto = !browserVersion && !screen && timezone === 'auto' && locale === 'auto' && geolocation === 'auto' && webrtc === 'proxy_only' && consistency === 'warn';
  return `${os ? `${SYSTEMS[os]}, ` : ''}${auto ? 'match the proxy' : 'custom'}`.replace(/^./, (c) => c.toUpperCase());
}

export function networkSummary({ fallbackProxyIds, backgroundTraffic, logHosts, ...texts }) {
  const custom = fallbackProxyIds.length || backgroundTraffic === 'allow' || logHosts || ['allowHosts', 'denyHosts', 'allowLocal', 'localhostVia'].some((name) => texts[name].trim());
  return custom ? 'Custom' : 'Internet only';
}

export function limitsSummary({ startUrls, headless, idleTimeoutMs, maxRunMs, snapshots, args, extensions, passkeys, startWithServer, limits, freezeAfter, placement, temporary }) {
  if (temporary) return 'Temporary';
  return startUrls.trim() || headless || idleTimeoutMs || maxRunMs || snapshots || args.trim() || extensions.length || passkeys !== 'off' || startWithServer || freezeAfter.trim() || placement.trim() || Object.values(limits).some((one) => one.trim()) ? 'Custom' : 'Default';
}

function zones() {
  return Intl.supportedValuesOf ? Intl.supportedValuesOf('timeZone') : [];
}
