// What happened, as sentences: records of the log, and events.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Name } from '../components.js';
import { count, number, proxyName } from '../format.js';
import { useProxy } from '../proxycache.js';
import { endWords } from '../words.js';

export const ACTIONS = [
  ['proxy.secret', 'Password read'],
  ['proxies.export', 'Passwords exported'],
  ['workspace.create', 'Workspace created'],
  ['workspace.rename', 'Workspace renamed'],
  ['workspace.defaults', 'Defaults changed'],
  ['template.create', 'Template created'],
  ['template.update', 'Template changed'],
  ['template.delete', 'Template deleted'],
  ['schedule.create', 'Schedule created'],
  ['schedule.update', 'Schedule changed'],
  ['schedule.delete', 'Schedule deleted'],
  ['browser.install', 'Browser asked for'],
  ['profiles.export', 'Profiles exported'],
  ['profiles.import', 'Profiles imported'],
  ['cookies.read', 'Cookies read'],
  ['cookies.write', 'Cookies changed'],
  ['cookies.delete', 'Cookies deleted'],
  ['storage.read', 'Storage read'],
  ['storage.write', 'Storage changed'],
  ['profile.clear', 'Data cleared'],
  ['extension.add', 'Extension added'],
  ['extension.delete', 'Extension deleted'],
];

// ABOUT are the kinds of events that a person can filter by.
export const ABOUT = [['profile', 'Profiles'], ['snapshot', 'Snapshots'], ['run', 'Browsers'], ['proxy', 'Proxies'], ['key', 'Keys'], ['workspace', 'Workspaces'], ['template', 'Templates'], ['schedule', 'Schedules'], ['extension', 'Extensions'], ['browser', 'Installations'], ['capability', 'Shared views']];

// Sentence says what a record of the log is about.
export function Sentence({ entry }) {
  const { action, objectId, detail = {} } = entry;
  const who = entry.keyId === 'environment' ? 'The key in WARREN_API_KEY' : html`Key <${Name}>${entry.keyName}<//>`;
  const space = html`<bdi>${objectId}</bdi>`;
  const profile = html`<${ProfileName} id=${objectId} />`;
  const words = {
    __proto__: null,
    'proxy.secret': () => html`${who} read the password of <${ProxyName} id=${objectId} />`,
    'proxies.export': () => html`${who} exported ${count(detail.count ?? 0, 'proxy', 'proxies')} with passwords${detail.format ? ` as ${detail.format === 'text' ? 'text' : detail.format.toUpperCase()}` : ''}${detail.tag?.length ? html`, tagged <bdi>${detail.tag.join(', ')}</bdi>` : ''}`,
    'browser.install': () => html`${who} asked to install version <bdi>${objectId}</bdi> of the browser`,
    'profiles.export': () => html`${who} exported ${count(detail.count ?? 0, 'profile')} with data, ${{ passphrase: 'sealed with a passphrase', recipient: 'sealed for an age key' }[detail.seal] || 'not sealed'}`,
    'profiles.import': () => html`${who} imported ${count(detail.count ?? 0, 'profile')} with data`,
    'cookies.read': () => html`${who} read ${count(detail.count ?? 0, 'cookie')} of ${profile}`,
    'cookies.write': () => html`${who} ${detail.dryRun ? 'tried an import of' : 'set'} ${count(detail.count ?? 0, 'cookie')}${detail.remove > 0 && ` and removed ${number(detail.remove)}`} in ${profile}`,
    'cookies.delete': () => html`${who} deleted cookies of ${profile}`,
    'storage.read': () => html`${who} read the cookies and storage of ${profile}`,
    'storage.write': () => html`${who} ${detail.dryRun ? 'tried an import of' : 'set'} cookies and storage in ${profile}`,
    'profile.clear': () => html`${who} cleared data of ${profile}`,
    'extension.add': () => html`${who} added the extension <${Name}>${detail.name}<//> ${detail.version}`,
    'extension.delete': () => html`${who} deleted the extension <${Name}>${detail.name}<//> ${detail.version}`,
    'workspace.create': () => html`${who} created workspace ${space}`,
    'workspace.rename': () => (detail.name ? html`${who} renamed workspace ${space} to <${Name}>${detail.name}<//>` : html`${who} removed the name of workspace ${space}`),
    'workspace.defaults': () => html`${who} changed what new profiles of workspace ${space} get`,
    'template.create': () => html`${who} created the template <${Name}>${detail.name}<//>`,
    'template.update': () => html`${who} changed a template${changedWords(detail.changed)}`,
    'template.delete': () => html`${who} deleted a template`,
    'schedule.create': () => html`${who} created the schedule <${Name}>${detail.name}<//>`,
    'schedule.update': () => html`${who} changed a schedule${changedWords(detail.changed)}`,
    'schedule.delete': () => html`${who} deleted a schedule`,
  }[action];
  return words ? words() : html`${who}: ${action}`;
}

// ProxyName names a proxy, at the beginning of a sentence with a capital.
export function ProxyName({ id, begin }) {
  const proxy = useProxy(id);
  if (proxy) return html`${begin ? 'Proxy' : 'proxy'} <a href=${`#/proxies/${encodeURIComponent(id)}`}><${Name}>${proxyName(proxy)}<//></a>`;
  const words = proxy === null ? 'a proxy that is deleted' : 'a proxy';
  return begin ? words.replace('a', 'A') : words;
}

const names = new WeakMap(); // of the API → Map of profiles' names, or null for one that is gone

// ProfileName reads a profile's name once.
function ProfileName({ id, begin }) {
  const { api } = useApp();
  if (!names.has(api)) names.set(api, new Map());
  const known = names.get(api);
  const [name, setName] = useState(known.get(id));
  useEffect(() => {
    if (known.has(id)) return;
    api.get(`/profiles/${encodeURIComponent(id)}`).then((profile) => profile.name, () => null).then((found) => {
      known.set(id, found);
      setName(found);
    });
  }, [id]);
  if (name) return html`<a href=${`#/profiles/${encodeURIComponent(id)}`}><${Name}>${name}<//></a>`;
  const words = name === null ? 'a deleted profile' : 'a profile';
  return begin ? words.replace('a', 'A') : words;
}

const CHANGES = { __proto__: null, proxyId: 'proxy', tags: 'tags', name: 'name', notes: 'notes', os: 'system', startUrls: 'start pages', fallbackProxyIds: 'fallbacks' };

function changedWords(changed) {
  const words = (changed || []).map((member) => CHANGES[member] || member);
  return words.length ? `: ${words.join(', ')}` : '';
}

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
  'workspace.updated': ({ data }) => html`Workspace <bdi>${data.id}</bdi> ${data.changed?.includes('defaults') ? 'gives new profiles other settings' : 'was renamed'}`,
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
