// The dialog that changes a cookie or adds one. The server checks it, and what it refuses is shown at its field.
import { useState } from 'preact/hooks';
import { html } from '../../html.js';
import { Problem } from '../../api.js';
import { useApp } from '../../app-context.js';
import { Dialog, useTold } from '../../dialog.js';
import { Choice, Field, Form, number, Section, Text, Tick, useForm } from '../../forms.js';
import { Icon } from '../../icons.js';
import { bare, idOf, keyOf } from './jar.js';

const SAME_SITE = [['', 'Not given: as Lax'], ['Lax', 'Lax'], ['Strict', 'Strict'], ['None', 'None']];
const LASTING = [['session', 'With the session'], ['date', 'At a time']];
const PRIORITIES = [['Low', 'Low'], ['Medium', 'Medium'], ['High', 'High']];
const SCHEMES = [['', 'The usual one'], ['Secure', 'Secure'], ['NonSecure', 'Not secure'], ['Unset', 'Not known']];
const MORE = ['site', 'priority', 'scheme', 'port'];

// FIELDS say at which field a sentence of the server is shown, by its first match.
const FIELDS = [
  [/^Name and value|neither a name|^It has no name|name begins|name or the value|^The name/, 'name'], [/^The value/, 'value'],
  [/one host|domain|subdomains|hostOnly/i, 'domain'], [/\bpath\b/, 'path'], [/expired|\bdate\b|expires/, 'date'], [/^SameSite/, 'sameSite'], [/must be secure/, 'secure'],
  [/partition key|partitionKey/, 'site'], [/sourcePort/, 'port'], [/sourceScheme/, 'scheme'],
];

// faultsOf returns the server's refusals as errors of the form's fields.
function faultsOf(reasons) {
  const sentences = reasons.flatMap((reason) => reason.split(/(?<=\.) (?=[A-Z])/));
  return sentences.map((message) => ({ location: `body.${(FIELDS.find(([words]) => words.test(message)) || [])[1] || ''}`, message }));
}

// localTime returns a moment as a datetime-local field has it, to the minute.
function localTime(seconds) {
  const at = new Date(seconds * 1000);
  return new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const MONTH = 30 * 86_400;

function valuesOf(cookie) {
  const { name = '', value = '', domain = '', path = '/', session = true, expires, secure = true, httpOnly = false, sameSite = '', priority = 'Medium', partitionKey, sourceScheme = '', sourcePort = '' } = cookie || {};
  return {
    name, value, domain: bare(domain), subdomains: domain.startsWith('.'), path, lasting: session ? 'session' : 'date', date: localTime(session ? Math.floor(Date.now() / 1000) + MONTH : expires), secure, httpOnly, sameSite, priority,
    site: partitionKey?.topLevelSite || '', ancestor: partitionKey?.hasCrossSiteAncestor ?? false, scheme: sourceScheme, port: String(sourcePort),
  };
}

// cookieOf returns what is sent. What nobody has touched goes as it came: a date to the microsecond, and no other source.
function cookieOf(values, before, cookie) {
  const { name, value, domain, subdomains, path, lasting, date, secure, httpOnly, sameSite, priority, site, ancestor, scheme, port } = values;
  const kept = before.scheme === scheme && before.port === port && before.secure !== secure; // it comes from elsewhere then
  return {
    name, value, domain: subdomains ? `.${bare(domain.trim())}` : domain.trim(), path: path.trim(), secure, httpOnly, priority,
    expires: lasting === 'session' ? -1 : cookie && !cookie.session && date === before.date ? cookie.expires : Date.parse(date) / 1000,
    ...(sameSite && { sameSite }), ...(site.trim() && { partitionKey: { topLevelSite: site.trim(), hasCrossSiteAncestor: ancestor } }),
    ...(!kept && scheme && { sourceScheme: scheme }), ...(!kept && port.trim() && { sourcePort: number(port) }),
  };
}

// checked returns the cookie that is sent, or throws what the page alone sees.
function checked(values, before, cookie, jar) {
  const next = cookieOf(values, before, cookie);
  const errors = [];
  if (Number.isNaN(next.expires)) errors.push({ location: 'body.date', message: 'Choose a day and a time.' });
  if (!(cookie && idOf(next) === idOf(cookie)) && jar.has(next)) errors.push({ location: 'body.name', message: 'This domain and path have a cookie with this name already. Change that one, or choose another name.' });
  if (errors.length) throw new Problem(422, { code: 'validation_failed', errors }, '');
  return next;
}

// worded gives the server's refusals to the fields. Other problems stay as they are.
function worded(problem) {
  if (problem.status === 422 && problem.errors.some(({ location }) => /^body\.cookies\[0]/.test(location))) problem.errors = faultsOf(problem.errors.map(({ message }) => message));
  return problem;
}

// sameAs says whether two cookies are the same but for what a read adds.
function sameAs(a, b) {
  return JSON.stringify([valuesOf(a), a.expires]) === JSON.stringify([valuesOf(b), b.expires]);
}

// EditDialog changes a cookie, or adds one if none is given. A running browser may have changed it meanwhile: then it asks.
export function EditDialog({ cookie, profile, jar, close }) {
  const app = useApp();
  const [before] = useState(() => valuesOf(cookie));
  const form = useForm(before);
  const [seen, setSeen] = useState(cookie);
  const told = useTold(cookie ? 'The cookie was not saved' : 'The cookie was not added');
  const { values } = form;
  const save = (now) => told(async () => {
    const next = checked(now, before, cookie, jar);
    if (seen && profile.status === 'running') {
      const there = await jar.now(cookie);
      if (!there || !sameAs(there, seen)) {
        setSeen(there);
        throw meanwhile(there);
      }
    }
    const { refused, notices } = await jar.change([next], cookie ? [keyOf(cookie)] : []).catch((problem) => { throw worded(problem); });
    if (refused.length) throw new Problem(422, { code: 'cookie_refused', title: 'The browser did not take it', detail: `${refused.map(({ reason }) => reason).join(' ')} Nothing was changed.` }, '');
    app.toasts.say({ text: `${cookie ? 'Saved' : 'Added'} ${next.name || 'the cookie'} of ${next.domain}.`, more: notices.map(({ message }) => message).join(' '), tone: notices.length ? 'wait' : 'good' });
    close();
  });
  const foot = html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy}>${form.busy ? 'Saving…' : cookie ? 'Save' : 'Add'}</button>`;
  const summary = [values.site ? 'Partitioned' : 'Not partitioned', values.priority !== 'Medium' && `${values.priority} priority`].filter(Boolean).join(', ');
  return html`<${Dialog} title=${cookie ? 'Edit cookie' : 'Add a cookie'} lead=${cookie ? html`<bdi>${cookie.name || 'Without a name'}</bdi> of <bdi>${cookie.domain}</bdi>` : undefined} about=${cookie && idOf(cookie)} close=${close}><${Form} form=${form} work=${save} foot=${foot}>
    <div class="fields"><${Text} form=${form} name="name" label="Name" wide autofocus class="mono" maxlength="4096" />
      <${ValueField} form=${form} hidden=${Boolean(cookie)} />
      <${Text} form=${form} name="domain" label="Domain" placeholder="shop.example" class="mono" /><${Text} form=${form} name="path" label="Path" class="mono" />
      <${Tick} form=${form} name="subdomains" label="Sent to subdomains too" />
      <${Choice} form=${form} name="lasting" label="It ends" options=${LASTING} />
      ${values.lasting === 'date' ? html`<${Text} form=${form} name="date" label="Time" type="datetime-local" />` : html`<span></span>`}
      <${Tick} form=${form} name="secure" label="Secure" hint="Sent over HTTPS alone." /><${Tick} form=${form} name="httpOnly" label="HttpOnly" hint="Scripts of pages do not see it." />
      <${Choice} form=${form} name="sameSite" label="SameSite" wide options=${SAME_SITE} hint="Lax and Strict keep it from requests that come from other sites." /></div>
    <${Section} form=${form} title="Partition, priority and source" summary=${summary} names=${MORE}>
      <${Text} form=${form} name="site" label="Partition: site of the top page" optional wide class="mono" placeholder="https://…" hint="The cookie is sent within pages of this site alone (CHIPS)." />
      ${values.site && html`<${Tick} form=${form} name="ancestor" label="A frame of another site is between" />`}
      <${Choice} form=${form} name="priority" label="Priority" options=${PRIORITIES} />
      <${Choice} form=${form} name="scheme" label="Source" options=${SCHEMES} /><${Text} form=${form} name="port" label="Source port" optional inputmode="numeric" hint="-1: not known." /><//><//><//>`;
}

function meanwhile(there) {
  return new Problem(409, there
    ? { code: 'cookie_changed', title: 'This cookie changed meanwhile', detail: 'The browser has another value or another time for it. Save again to replace that, or close this and reload the list.' }
    : { code: 'cookie_gone', title: 'This cookie is gone', detail: 'The browser has deleted it meanwhile. Save again to make it anew.' }, '');
}

// ValueField is the value, as dots until it is asked for.
function ValueField({ form, hidden }) {
  const [shown, setShown] = useState(!hidden);
  const typed = (event) => form.set('value', event.currentTarget.value);
  const control = (tied) => html`<div class="value-field">${shown ? html`<textarea rows="3" class="mono" ...${tied} value=${form.values.value} onInput=${typed} spellcheck=${false}></textarea>`
    : html`<input type="password" class="mono" ...${tied} value=${form.values.value} onInput=${typed} autocomplete="new-password" />`}
    ${hidden && html`<button type="button" class="icon-button" aria-pressed=${shown} aria-label="Show the value" title=${shown ? 'Hide the value' : 'Show the value'} onClick=${() => setShown(!shown)}><${Icon} name="eye" /></button>`}</div>`;
  return html`<${Field} wide ...${{ form, name: 'value', label: 'Value', control }} />`;
}
