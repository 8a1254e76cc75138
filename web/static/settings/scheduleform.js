// The dialog that creates and changes schedules.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Name, ProblemBox, Waiting } from '../components.js';
import { Conflict, useVersion } from '../conflict.js';
import { Dialog } from '../dialog.js';
import { Choice, Form, Lines, linesOf, number, Text, Tick, useForm } from '../forms.js';
import { count, moment, sentence } from '../format.js';
import { useStore } from '../store.js';

// ACTIONS_OF are what schedules do, as [value, words].
export const ACTIONS_OF = [['start', 'Start profiles'], ['stop', 'Stop profiles'], ['snapshot', 'Keep snapshots of profiles'], ['check', 'Check proxies'], ['rotate', 'Change the exits of proxies']];

const WHEN = [['cron', 'At certain times'], ['every', 'At an interval']];

function ofProxies(action) {
  return action === 'check' || action === 'rotate';
}

// toForm converts a schedule to the form's values.
function toForm(schedule, workspace = '') {
  const s = schedule || {};
  return {
    name: s.name || '',
    workspaceId: s.workspaceId || workspace,
    when: s.everyMs == null ? 'cron' : 'every',
    cron: s.cron || '',
    timeZone: s.timeZone || (schedule ? '' : Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'),
    everyMs: s.everyMs == null ? '' : String(Number((s.everyMs / 60_000).toFixed(6))),
    action: s.action || 'start',
    by: s.profileIds || s.proxyIds ? 'ids' : 'tag',
    tag: s.tag || '',
    ids: (s.profileIds || s.proxyIds || []).join('\n'),
    startUrls: (s.startUrls || []).join('\n'),
    maxRunMs: s.maxRunMs == null ? '' : String(s.maxRunMs / 60_000),
    catchUp: Boolean(s.catchUp),
    enabled: s.enabled ?? true,
  };
}

function milliseconds(text, empty) {
  const value = number(text);
  if (value === '') return empty;
  return typeof value === 'number' ? Math.round(value * 60_000) : value;
}

// toSchedule converts the form's values to the members of a request.
function toSchedule(values) {
  const start = values.action === 'start';
  const urls = linesOf(values.startUrls);
  return {
    name: values.name,
    enabled: values.enabled,
    ...(values.when === 'cron' ? { cron: values.cron.trim(), timeZone: values.timeZone.trim() || null } : { everyMs: milliseconds(values.everyMs, 0) }),
    action: values.action,
    ...(values.by === 'tag' ? { tag: values.tag } : { [ofProxies(values.action) ? 'proxyIds' : 'profileIds']: linesOf(values.ids) }),
    ...(start && { startUrls: urls.length ? urls : null, maxRunMs: milliseconds(values.maxRunMs, null) }),
    catchUp: values.catchUp,
  };
}

// FIELDS are the settings in words, for somebody who compares two versions.
const FIELDS = [
  { label: 'Name', names: ['name'], words: ({ name }) => name },
  { label: 'Enabled', names: ['enabled'], words: ({ enabled }) => (enabled ? 'Yes' : 'No') },
  { label: 'When', names: ['when', 'cron', 'timeZone', 'everyMs'], words: ({ when, cron, timeZone, everyMs }) => (when === 'cron' ? `${cron} (${timeZone || 'UTC'})` : `Every ${everyMs} minutes`) },
  { label: 'What', names: ['action'], words: ({ action }) => ACTIONS_OF.find(([value]) => value === action)?.[1] ?? action },
  { label: 'Which', names: ['by', 'tag', 'ids'], words: ({ by, tag, ids }) => (by === 'tag' ? `Tagged ${tag}` : ids.trim() || 'None') },
  { label: 'Start pages', names: ['startUrls'], words: ({ startUrls }) => startUrls.trim() || 'Those of the profile' },
  { label: 'Maximum run time', names: ['maxRunMs'], words: ({ maxRunMs }) => maxRunMs.trim() || 'That of the profile' },
  { label: 'Make up for missed runs', names: ['catchUp'], words: ({ catchUp }) => (catchUp ? 'Once' : 'No') },
];

// ScheduleDialog creates a schedule, or changes one.
export function ScheduleDialog({ schedule, done, close }) {
  const app = useApp();
  const [read, setRead] = useState(null);
  const [problem, setProblem] = useState(null);
  const path = schedule && `/schedules/${encodeURIComponent(schedule.id)}`;
  useEffect(() => {
    if (path) app.api.full('GET', path).then(setRead, setProblem);
  }, []);
  return html`<${Dialog} sheet title=${schedule ? html`Edit <${Name}>${schedule.name}<//>` : 'New schedule'} close=${close}>
    ${path && !read ? html`<div class="dialog-content"><${ProblemBox} problem=${problem} />${!problem && html`<${Waiting} />`}</div>`
    : schedule ? html`<${EditForm} ...${{ ...read, path, done, close }} />` : html`<${NewForm} ...${{ done, close }} />`}
  <//>`;
}

function NewForm({ done, close }) {
  const app = useApp();
  const form = useForm(toForm(null, useStore(app.model.workspace)));
  const create = async (values) => {
    const workspaceId = values.workspaceId.trim();
    const made = await app.api.post('/schedules', { ...toSchedule(values), ...(workspaceId && { workspaceId }) });
    app.model.sawWorkspaces([made]);
    app.toasts.say({ text: `Created the schedule ${made.name}.`, tone: 'good' });
    await done?.(made);
    close();
  };
  const foot = html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy}>${form.busy ? 'Creating…' : 'Create'}</button>`;
  return html`<${Form} form=${form} work=${create} foot=${foot}><${Fields} form=${form} /><//>`;
}

function EditForm({ data, etag, path, done, close }) {
  const app = useApp();
  const form = useForm(toForm(data));
  const version = useVersion({ form, data, etag, read: () => app.api.full('GET', path), toValues: toForm, fields: FIELDS });
  const save = async (values) => {
    const saved = await version.save((headers, before) => app.api.full('PUT', path, { body: differing(toSchedule(toForm(before)), toSchedule(values)), headers }));
    if (!saved) return;
    app.toasts.say({ text: `Saved the schedule ${saved.data.name}.`, tone: 'good' });
    await done?.(saved.data);
    close();
  };
  const foot = html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy || Boolean(version.conflict)}>${form.busy ? 'Saving…' : 'Save'}</button>`;
  return html`<${Form} form=${form} work=${save} foot=${foot} saved=${version.first}>
    <${Conflict} version=${version} />
    <${Course} schedule=${data} />
    <${Fields} form=${form} fixed=${data.workspaceId} />
  <//>`;
}

// differing returns the members that the person has changed: an update merges, so that other people's changes are kept.
function differing(before, after) {
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])));
}

// Course says what comes next, and what the last run came to.
function Course({ schedule: { nextRuns, lastRun, missed, skipped } }) {
  return html`<dl class="facts-list">
    <div><dt>Next</dt><dd>${nextRuns.length ? nextRuns.map((time) => html`<div key=${time}><time class="number" datetime=${time}>${moment(time)}</time></div>`) : 'Nothing is planned'}</dd></div>
    <div><dt>Last run</dt><dd>${lastRun ? html`<time class="number" datetime=${lastRun.at}>${moment(lastRun.at)}</time>: ${outcomeWords(lastRun)}` : 'None yet'}
      ${lastRun?.errors.map(({ id, message }) => html`<div key=${id} class="muted"><span class="mono">${id}</span> ${sentence(message)}</div>`)}</dd></div>
    ${missed + skipped > 0 && html`<div><dt>Did not run</dt><dd>${leftOutWords({ missed, skipped })}</dd></div>`}
  </dl>`;
}

// OUTCOMES are the states of the last run.
export const OUTCOMES = {
  running: { text: 'Running', tone: 'good' },
  done: { text: 'Done', tone: 'quiet' },
  partial: { text: 'Failed in part', tone: 'bad' },
  failed: { text: 'Failed', tone: 'bad' },
  interrupted: { text: 'Interrupted', tone: 'wait' },
};

// outcomeWords says what a run came to.
export function outcomeWords({ status, targets, done, message }) {
  if (message) return sentence(message);
  if (status === 'interrupted') return 'The server ended first.';
  return status === 'running' ? 'It goes on.' : `Done for ${done} of ${targets}.`;
}

// leftOutWords says how many runs were left out, and why.
export function leftOutWords({ missed, skipped }) {
  return [missed > 0 && `${count(missed, 'run was', 'runs were')} missed`, skipped > 0 && `${count(skipped, 'run was', 'runs were')} skipped, as the one before went on`].filter(Boolean).join('; ');
}

// Fields are the form's fields. fixed is the workspace, if it cannot be chosen.
function Fields({ form, fixed }) {
  const { values } = form;
  const proxies = ofProxies(values.action);
  const what = proxies ? 'proxies' : 'profiles';
  const zones = Intl.supportedValuesOf ? Intl.supportedValuesOf('timeZone') : [];
  return html`<div class="fields">
    <${Text} form=${form} name="name" label="Name" wide autofocus maxlength="200" />
    <${Choice} form=${form} name="action" label="What to do" wide options=${ACTIONS_OF} />
    <${Choice} form=${form} name="by" member="" label=${`Which ${what}`} options=${[['tag', 'Those with a tag'], ['ids', 'These']]} />
    ${values.by === 'tag' ? html`<${Text} form=${form} name="tag" label="Tag" maxlength="64" placeholder="shop" hint="Whatever has it when it is due." />`
    : html`<${Ids} form=${form} member=${proxies ? 'proxyIds' : 'profileIds'} label=${`IDs of the ${what}`} />`}
    <${Choice} form=${form} name="when" member="" label="When" options=${WHEN} />
    ${values.when === 'every' ? html`<${Text} form=${form} name="everyMs" label="Every (minutes)" inputmode="decimal" placeholder="30" />`
    : html`<${Text} form=${form} name="cron" label="Cron expression" placeholder="0 9 * * 1-5" hint="Minute, hour, day of month, month, day of week." />
      <${Text} form=${form} name="timeZone" label="Time zone" list="schedule-zones" placeholder="UTC" wide />
      <datalist id="schedule-zones">${zones.map((zone) => html`<option key=${zone} value=${zone} />`)}</datalist>`}
    ${values.action === 'start' && html`<${Lines} form=${form} name="startUrls" label="Start pages" optional rows=${2} placeholder="https://…" hint="One URL per line, instead of the profile’s." />
      <${Text} form=${form} name="maxRunMs" label="Maximum run time (minutes)" inputmode="decimal" placeholder="As the profile says" hint="Then the browser is closed." />`}
    <${Tick} form=${form} name="catchUp" label="Make up for missed runs" hint="Once, if no server ran or the machine slept when it was due." />
    <${Tick} form=${form} name="enabled" label="Enabled" />
    ${!fixed && html`<${Text} form=${form} name="workspaceId" label="Workspace" wide placeholder="default" hint="It cannot be changed later." />`}
  </div>`;
}

// Ids are one id a line.
function Ids({ form, member, label }) {
  return html`<${Lines} form=${form} name="ids" member=${member} label=${label} rows=${3} hint="One per line. The column ID of the list has them." />`;
}
