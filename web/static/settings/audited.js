// What the audit log records, in words: every action of the server, in the groups of the filter.
import { html } from '../html.js';
import { Name } from '../components.js';
import { bytes, count, number } from '../format.js';
import { memberWords, ObjectName, ProfileName, ProxyName } from './names.js';

const text = (words) => () => words;
const profile = ({ objectId, detail }) => html`<${ProfileName} id=${objectId} was=${detail.name} />`;
const proxy = ({ objectId, detail }) => html`<${ProxyName} id=${objectId} was=${detail.name || detail.host} />`;
const the = (kind) => ({ objectId, detail }) => html`<${ObjectName} kind=${kind} id=${objectId} was=${detail.name} article="the" />`;
const [template, schedule, webhook] = ['template', 'schedule', 'webhook'].map(the);
const workspace = ({ objectId }) => (objectId ? html`workspace <bdi>${objectId}</bdi>` : 'a workspace');
const node = ({ objectId, detail: { name } }) => html`the server <${Name}>${name || objectId}<//>`;
const key = ({ detail: { name } }) => (name ? html`the key <${Name}>${name}<//>` : 'a key');
const extension = ({ detail: { name, version } }) => (name ? html`the extension <${Name}>${name}<//> ${version}` : 'an extension');
const many = (n, one, more = `${one}s`) => (n == null ? more : count(n, one, more));
const of = (words, what) => (entry) => html`${words} ${what(entry)}`;

// changes says what a change changed, with the values of short ones.
const changes = (what) => (entry) => {
  const { changed = [], from = {}, to = {} } = entry.detail;
  const words = changed.map((member) => (isShort(from[member]) && isShort(to[member]) ? html`${memberWords(member)} <bdi>${from[member] ?? 'none'}</bdi> → <bdi>${to[member] ?? 'none'}</bdi>` : memberWords(member)));
  return html`${what(entry)}${words.map((one, i) => html`${i ? ', ' : ': '}${one}`)}`;
};

function isShort(value) {
  return value === null || typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value.length <= 40);
}

const BATCH = { __proto__: null, start: 'start', stop: 'stop', restart: 'restart', delete: 'delete', restore: 'restore', tag: 'tag', untag: 'take tags from', setProxy: 'give another proxy to' };
const SEALS = { __proto__: null, passphrase: ', sealed with a passphrase', recipient: ', sealed for an age key' };
const DELETED = { __proto__: null, trash: ', as its days in the trash were over', temporary: ', as it was temporary' };
const QUOTAS = [['profiles', 'profile', 'profiles'], ['running', 'running at once', 'running at once'], ['diskMb', 'MiB of disk', 'MiB of disk'], ['proxies', 'proxy', 'proxies']];

function quotaWords(quotas) {
  const words = QUOTAS.filter(([member]) => quotas?.[member] != null).map(([member, one, more]) => count(quotas[member], one, more));
  return words.length ? words.join(', ') : 'no limits';
}

function ranWords({ action, targets, done, failed }) {
  return targets == null ? '' : `: ${action}, ${number(done)} of ${number(targets)} done${failed ? `, ${number(failed)} failed` : ''}`;
}

// GROUPS are [label, kinds, actions]. A kind is [the word before the dot, what the filter calls all of its actions]. An action is [action, what the filter
// calls it, verb, done, about]: "could not {verb} {about}", "{done} {about}". about is a function of the record.
export const GROUPS = [
  ['Profiles', [['profile', 'Everything of a profile'], ['profiles', 'Everything of many profiles']], [
    ['profile.create', 'Created', 'create', 'created', profile],
    ['profile.update', 'Changed', 'change', 'changed', changes(profile)],
    ['profile.delete', 'Deleted', 'delete', 'deleted', (entry) => html`${profile(entry)}${entry.detail.permanent ? DELETED[entry.detail.reason] || ' for good' : entry.result === 'ok' && '. It is in the trash'}`],
    ['profile.restore', 'Restored', 'restore', 'restored', (entry) => html`${profile(entry)} from the trash`],
    ['profile.clone', 'Cloned', 'clone', 'cloned', (entry) => html`${profile(entry)}${entry.detail.count > 1 && ` ${number(entry.detail.count)} times`}${entry.detail.data && ', with its data'}`],
    ['profile.start', 'Started', 'start', 'started', (entry) => html`${profile(entry)}${entry.detail.reason && ' with the server'}${entry.detail.reused && '. It ran already'}`],
    ['profile.stop', 'Stopped', 'stop', 'stopped', profile],
    ['profile.restart', 'Restarted', 'restart', 'restarted', profile],
    ['profile.failback', 'Back to its own proxy', 'take back', 'took back', (entry) => html`${profile(entry)} to its own proxy`],
    ['profile.leak_test', 'Leak test', 'run', 'ran', of('the leak test of', profile)],
    ['profile.rollback', 'Rolled back', 'roll back', 'rolled back', (entry) => html`${profile(entry)} to a snapshot`],
    ['profile.clear', 'Data cleared', 'clear', 'cleared', (entry) => html`${entry.detail.kinds?.join(', ') || 'data'} of ${profile(entry)}`],
    ['profiles.create', 'Many created', 'create', 'created', ({ detail: { count: n, first } }) => html`${many(n, 'profile')}${first && html`, the first is <${Name}>${first}<//>`}`],
    ['profiles.batch', 'Many changed', '', 'asked to', ({ detail: { action, count: n, tags } }) => html`${BATCH[action] || action || 'change'} ${many(n, 'profile')}${tags?.length > 0 && html`: <bdi>${tags.join(', ')}</bdi>`}`],
    ['profiles.export', 'Exported', 'export', 'exported', ({ detail: { count: n, seal } }) => `${many(n, 'profile')} with data${n == null ? '' : SEALS[seal] || ', not sealed'}`],
    ['profiles.import', 'Imported', 'import', 'imported', ({ detail: { count: n } }) => `${many(n, 'profile')} with data`],
  ]],
  ['Browsers that run', [['cdp'], ['live'], ['capability', 'Everything of shared views']], [
    ['cdp.open', 'Client connected', 'connect a client to', 'connected a client to', profile],
    ['live.open', 'Live view opened', 'open', 'opened', (entry) => html`the live view of ${profile(entry)}${entry.detail.capabilityId && ' by a link'}${entry.detail.readonly && ', to watch only'}`],
    ['capability.create', 'View shared', 'share', 'shared', (entry) => html`a view of ${profile(entry)}${entry.detail.name && html` with <${Name}>${entry.detail.name}<//>`}${entry.detail.readonly && ', to watch only'}`],
    ['capability.revoke', 'Shared view ended', 'end', 'ended', of('a shared view of', profile)],
  ]],
  ['Cookies, storage and files', [['cookies', 'Everything with cookies'], ['storage', 'Everything with storage'], ['passkey'], ['download'], ['upload']], [
    ['cookies.read', 'Cookies read', 'read', 'read', (entry) => html`${many(entry.detail.count, 'cookie')} of ${profile(entry)}`],
    ['cookies.write', 'Cookies set', 'set', 'set', (entry) => html`${many(entry.detail.count, 'cookie')}${entry.detail.remove > 0 && ` and removed ${number(entry.detail.remove)}`} in ${profile(entry)}${entry.detail.dryRun && ', as a trial'}`],
    ['cookies.delete', 'Cookies deleted', 'delete', 'deleted', of('cookies of', profile)],
    ['storage.read', 'Storage read', 'read', 'read', of('the cookies and storage of', profile)],
    ['storage.write', 'Storage set', 'set', 'set', (entry) => html`cookies and storage in ${profile(entry)}${entry.detail.dryRun && ', as a trial'}`],
    ['passkey.delete', 'Passkey deleted', 'delete', 'deleted', (entry) => html`a passkey${entry.detail.site && html` for <bdi>${entry.detail.site}</bdi>`} of ${profile(entry)}`],
    ['download.delete', 'Download deleted', 'delete', 'deleted', (entry) => html`the download <bdi>${entry.detail.name}</bdi> of ${profileAlone(entry)}`],
    ['upload.write', 'File uploaded', 'put', 'put', (entry) => html`the file <bdi>${entry.detail.name}</bdi>${entry.detail.size != null && ` (${bytes(entry.detail.size)})`} into ${profileAlone(entry)}`],
  ]],
  ['Snapshots', [['snapshot', 'Everything of snapshots']], [
    ['snapshot.create', 'Kept', 'keep', 'kept', of('a snapshot of', profileAlone)],
    ['snapshot.update', 'Changed', 'change', 'changed', of('a snapshot of', profileAlone)],
    ['snapshot.delete', 'Deleted', 'delete', 'deleted', of('a snapshot of', profileAlone)],
  ]],
  ['Proxies', [['proxy', 'Everything of a proxy'], ['proxies', 'Everything of many proxies']], [
    ['proxy.create', 'Added', 'add', 'added', proxy],
    ['proxy.update', 'Changed', 'change', 'changed', changes(proxy)],
    ['proxy.delete', 'Deleted', 'delete', 'deleted', proxy],
    ['proxy.check', 'Checked', 'check', 'checked', proxy],
    ['proxy.rotate', 'Rotated', 'rotate', 'rotated', proxy],
    ['proxy.secret', 'Password read', 'read', 'read', of('the password of', proxy)],
    ['proxies.check', 'Many checked', 'check', 'checked', ({ detail }) => many(detail.count, 'proxy', 'proxies')],
    ['proxies.import', 'Imported', 'import', 'imported', ({ detail }) => many(detail.count, 'proxy', 'proxies')],
    ['proxies.export', 'Passwords exported', 'export', 'exported', ({ detail: { count: n, format, tag } }) => html`${many(n, 'proxy', 'proxies')} with passwords${format ? ` as ${format === 'text' ? 'text' : format.toUpperCase()}` : ''}${tag?.length > 0 && html`, tagged <bdi>${tag.join(', ')}</bdi>`}`],
  ]],
  ['Keys and logins', [['key', 'Everything of keys'], ['session', 'Everything of logins'], ['login']], [
    ['key.create', 'Key created', 'create', 'created', (entry) => html`${key(entry)}${entry.detail.scopes && `, which may ${entry.detail.scopes.join(', ')}`}${entry.detail.workspaces?.length > 0 && html` in <bdi>${entry.detail.workspaces.join(', ')}</bdi>`}`],
    ['key.revoke', 'Key revoked', 'revoke', 'revoked', key],
    ['session.create', 'Login', 'log in', 'logged in', text('to the page')],
    ['session.end', 'Logout', 'log out', 'logged out', text('of the page')],
    ['login.create', 'Login link made', 'make', 'made', text('a link to log in with')],
  ]],
  ['Workspaces', [['workspace', 'Everything of workspaces']], [
    ['workspace.create', 'Created', 'create', 'created', workspace],
    ['workspace.update', 'Changed', 'change', 'changed', workspace],
    ['workspace.rename', 'Renamed', 'rename', 'renamed', (entry) => html`${workspace(entry)}${entry.detail.name ? html` to <${Name}>${entry.detail.name}<//>` : ' to its ID alone'}`],
    ['workspace.defaults', 'Defaults changed', 'change', 'changed', of('what new profiles get in', workspace)],
    ['workspace.quotas', 'Quotas changed', 'change', 'changed', (entry) => html`the quotas of ${workspace(entry)}: ${quotaWords(entry.detail.from)} → ${quotaWords(entry.detail.to)}`],
    ['workspace.delete', 'Deleted', 'delete', 'deleted', workspace],
  ]],
  ['Templates', [['template', 'Everything of templates']], [
    ['template.create', 'Created', 'create', 'created', template],
    ['template.update', 'Changed', 'change', 'changed', changes(template)],
    ['template.delete', 'Deleted', 'delete', 'deleted', template],
  ]],
  ['Schedules', [['schedule', 'Everything of schedules'], ['job']], [
    ['schedule.create', 'Created', 'create', 'created', schedule],
    ['schedule.update', 'Changed', 'change', 'changed', changes(schedule)],
    ['schedule.delete', 'Deleted', 'delete', 'deleted', schedule],
    ['schedule.run', 'Ran', 'run', 'ran', (entry) => html`${schedule(entry)}${ranWords(entry.detail)}`],
    ['job.cancel', 'Work cancelled', 'cancel', 'cancelled', text('work on many profiles')],
  ]],
  ['Webhooks', [['webhook', 'Everything of webhooks']], [
    ['webhook.create', 'Added', 'add', 'added', (entry) => html`${webhook(entry)}${entry.detail.events?.length > 0 && html` for <bdi>${entry.detail.events.join(', ')}</bdi>`}`],
    ['webhook.update', 'Changed', 'change', 'changed', changes(webhook)],
    ['webhook.delete', 'Deleted', 'delete', 'deleted', webhook],
    ['webhook.test', 'Tested', 'test', 'tested', webhook],
    ['webhook.rotate', 'New secret', 'make', 'made', of('a new secret for', webhook)],
    ['webhook.replay', 'Message sent again', 'send', 'sent', of('a message again to', webhook)],
  ]],
  ['Servers', [['node', 'Everything of servers']], [
    ['node.drain', 'Drained', 'drain', 'drained', node],
    ['node.remove', 'Removed', 'remove', 'removed', (entry) => html`${node(entry)}${entry.detail.profiles > 0 && entry.detail.forget && html`, and gave up the data of ${count(entry.detail.profiles, 'profile')}`}`],
    ['node.undrain', 'Takes starts again', 'let', 'let', (entry) => html`${node(entry)} take starts again`],
  ]],
  ['Browsers and extensions', [['browser', 'Everything of browsers'], ['extension', 'Everything of extensions']], [
    ['browser.install', 'Browser asked for', 'install', 'asked to install', ({ objectId }) => html`${objectId ? html`version <bdi>${objectId}</bdi> of the browser` : 'a browser'}`],
    ['browser.cancel', 'Installation cancelled', 'cancel', 'cancelled', text('the installation of a browser')],
    ['extension.add', 'Extension added', 'add', 'added', extension],
    ['extension.delete', 'Extension deleted', 'delete', 'deleted', extension],
  ]],
  ['Refusals', [['request']], [
    ['request.refused', 'Requests refused', 'ask for', 'asked for', ({ detail: { method, path } }) => html`<code>${[method, path].filter(Boolean).join(' ')}</code>`],
  ]],
];

// profileAlone is for records whose detail.name is that of something else.
function profileAlone({ objectId }) {
  return html`<${ProfileName} id=${objectId} />`;
}

const ACTIONS = new Map(GROUPS.flatMap(([, , actions]) => actions.map(([action, , verb, done, about]) => [action, { verb, done, about }])));

// wordsOf returns {verb, done, about} of an action, or undefined for one of a newer server.
export function wordsOf(action) {
  return ACTIONS.get(action);
}

// OPTIONS are the choices of the filter by action: [group, [[value, words]]]. A value is an action, or a kind with a star.
export const OPTIONS = GROUPS.map(([label, kinds, actions]) => [label, [
  ...kinds.filter(([, words]) => words).map(([kind, words]) => [`${kind}.*`, words]),
  ...actions.map(([action, words]) => [action, words]),
]]);
