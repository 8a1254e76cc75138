// What happened, as sentences: the events.
import { html } from '../html.js';
import { count } from '../format.js';
import { endWords } from '../words.js';
import { changedWords, ProfileName, ProxyName } from './names.js';

// ABOUT are the kinds of events that a person can filter by.
export const ABOUT = [['profile', 'Profiles'], ['snapshot', 'Snapshots'], ['run', 'Browsers'], ['proxy', 'Proxies'], ['key', 'Keys'], ['workspace', 'Workspaces'], ['template', 'Templates'], ['schedule', 'Schedules'], ['extension', 'Extensions'], ['browser', 'Installations'], ['capability', 'Shared views'], ['webhook', 'Webhooks'], ['backup', 'Backups']];

const WORKSPACE = { __proto__: null, name: 'was renamed', defaults: 'gives new profiles other settings', quotas: 'has other quotas' };

// EVENTS say what an event is about. An unknown one is shown by its type.
const EVENTS = {
  __proto__: null,
  'profile.created': ({ profile }) => html`${profile} was created`,
  'profile.batch_created': ({ data }) => html`${count(data.count ?? 0, 'profile was', 'profiles were')} created`,
  'profile.updated': ({ profile, data }) => html`${profile} was changed${changedWords(data.changed)}`,
  'profile.deleted': ({ profile, data }) => (data.permanent ? 'A profile was deleted for good' : html`${profile} went to the trash`),
  'profile.restored': ({ profile }) => html`${profile} came back from the trash`,
  'profile.rolled_back': ({ profile }) => html`${profile} was rolled back to a snapshot`,
  'snapshot.created': ({ profile }) => html`A snapshot of ${profile} was kept`,
  'snapshot.updated': ({ profile }) => html`A snapshot of ${profile} was changed`,
  'snapshot.deleted': ({ profile }) => html`A snapshot of ${profile} was deleted`,
  'profile.status': ({ profile, data }) => html`${profile} is ${data.status}`,
  'run.started': ({ profile, data }) => html`The browser of ${profile} ${data.restarted ? 'restarted' : 'started'}`,
  'run.updated': ({ profile }) => html`The exit or the place of ${profile} changed`,
  'run.expiring': ({ profile }) => html`The browser of ${profile} closes soon`,
  'run.fallback': ({ profile, data }) => html`${profile} goes on through ${data.to ? html`<${ProxyName} id=${data.to} />` : 'another proxy'}`,
  'run.frozen': ({ profile }) => html`The browser of ${profile} is frozen`,
  'run.thawed': ({ profile }) => html`The browser of ${profile} goes on`,
  'run.ended': ({ profile, data }) => html`The browser of ${profile} ended: ${endWords(data).toLowerCase()}`,
  'proxy.created': ({ proxy }) => html`${proxy} was added`,
  'proxy.updated': ({ proxy, data }) => html`${proxy} was changed${changedWords(data.changed)}`,
  'proxy.deleted': () => 'A proxy was deleted',
  'proxy.checked': ({ proxy, data }) => html`${proxy} was checked: ${data.ok ? 'alive' : 'dead'}`,
  'proxy.died': ({ proxy }) => html`${proxy} stopped working`,
  'proxy.returned': ({ proxy }) => html`${proxy} works again`,
  'proxy.exit_changed': ({ proxy, data }) => html`${proxy} has another exit${data.exitIp ? `: ${data.exitIp}` : ''}`,
  'proxy.all_checked': ({ data }) => `All proxies were checked: ${data.alive ?? 0} alive, ${data.dead ?? 0} dead`,
  'proxy.imported': ({ data }) => `${count(data.created ?? 0, 'proxy was', 'proxies were')} imported`,
  'key.created': () => 'A key was created',
  'key.revoked': () => 'A key was revoked',
  'browser.installed': ({ data }) => `${data.browser?.product ?? 'A browser'} ${data.browser?.version ?? ''} was installed`,
  'browser.failed': ({ data }) => `Version ${data.version} of the browser was not installed`,
  'extension.created': () => 'An extension was added',
  'extension.deleted': () => 'An extension was deleted',
  'workspace.created': ({ data }) => html`Workspace <bdi>${data.id}</bdi> was created`,
  'workspace.updated': ({ data }) => html`Workspace <bdi>${data.id}</bdi> ${(data.changed || []).map((member) => WORKSPACE[member]).filter(Boolean).join(' and ') || 'was changed'}`,
  'workspace.deleted': ({ data }) => html`Workspace <bdi>${data.id}</bdi> was deleted`,
  'template.created': () => 'A template was created',
  'template.updated': ({ data }) => `A template was changed${changedWords(data.changed)}`,
  'template.deleted': () => 'A template was deleted',
  'schedule.created': () => 'A schedule was created',
  'schedule.updated': ({ data }) => `A schedule was changed${changedWords(data.changed)}`,
  'schedule.deleted': () => 'A schedule was deleted',
  'schedule.started': () => 'A schedule ran',
  'schedule.ended': ({ data }) => (data.failed ? `A schedule failed for ${count(data.failed, 'profile or proxy', 'profiles or proxies')}` : 'A schedule has done its work'),
  'schedule.skipped': () => 'A schedule was skipped, as its last run goes on',
  'schedule.missed': ({ data }) => `A schedule missed ${count(data.missed ?? 0, 'run')}`,
  'profile.start_failed': ({ profile }) => html`${profile} was not started with the server`,
  'profile.batch_changed': ({ data }) => `${count(data.count ?? 0, 'profile was', 'profiles were')} changed`,
  'webhook.created': () => 'A webhook was added',
  'webhook.updated': () => 'A webhook was changed',
  'webhook.deleted': () => 'A webhook was deleted',
  'webhook.disabled': ({ data }) => `A webhook was turned off, as its endpoint ${data.reason === 'gone' ? 'is gone' : 'failed for five days'}`,
  'webhook.dropped': () => 'Messages of a webhook were dropped, as too many were waiting',
  'backup.made': () => 'A backup was made',
  'backup.failed': () => 'A backup failed',
  'capability.created': ({ profile }) => html`A view of ${profile} was shared`,
  'capability.revoked': ({ profile }) => html`A shared view of ${profile} was ended`,
};

// EventSentence says what an event is about.
export function EventSentence({ event }) {
  const { type, data = {} } = event;
  const words = EVENTS[type];
  if (!words) return type;
  const profileId = data.profileId || (/^(?:profile|run)\./.test(type) ? data.id : '');
  return words({
    data,
    profile: profileId ? html`<${ProfileName} id=${profileId} begin=${type.startsWith('profile.') || type === 'run.fallback'} />` : 'A profile',
    proxy: data.id ? html`<${ProxyName} id=${data.id} begin />` : 'A proxy',
  });
}
