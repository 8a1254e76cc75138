// The values of a profile's forms: from the API's profile, back to it, and in words.
import { linesOf, number } from '../../forms.js';
import { DEALT, DELETED, proxyOf } from '../../proxychoice.js';
import { SYSTEMS } from '../../words.js';

// LIMITED are the members of limits.
const LIMITED = ['memoryMb', 'cpuPercent', 'pids'];

// toValues converts a profile to the form's values.
export function toValues(profile, workspace = '') {
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
    freezeAfter: p.freezeAfter == null ? '' : String(p.freezeAfter),
    placement: Object.entries(p.placement?.labels || {}).map(([key, value]) => `${key}=${value}`).join(', '),
    allowLocal: (p.allowLocal || []).join('\n'),
    allowHosts: (p.allowHosts || []).join('\n'),
    denyHosts: (p.denyHosts || []).join('\n'),
    localhostVia: (p.localhostVia || []).join('\n'),
    backgroundTraffic: p.backgroundTraffic || 'refuse',
    fallbackProxyIds: p.fallbackProxyIds || [],
    fallbackCountry: p.fallbackCountry || 'same',
    logHosts: Boolean(p.logHosts),
    temporary: Boolean(p.temporary),
    snapshots: p.snapshots || '',
    args: (p.args || []).join('\n'),
    extensions: p.extensions || [],
    passkeys: p.passkeys || 'off',
    startWithServer: Boolean(p.startWithServer),
    limits: Object.fromEntries(LIMITED.map((name) => [name, p.limits?.[name] == null ? '' : String(p.limits[name])])),
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

// placementOf reads zone=berlin, ssd=yes. Another text is sent unchanged, and the server explains the error.
function placementOf(text) {
  const pairs = text.split(/[,\s]+/).filter(Boolean);
  if (!pairs.length) return null;
  return { labels: pairs.every((pair) => pair.includes('=')) ? Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])) : text };
}

// toBody converts the values to a profile of the API. null stands for a member's default.
export function toBody(values) {
  const [latitude, longitude, accuracy] = values.position.split(',').map(number);
  const [width, height, deviceScaleFactor] = values.screen.split(/[×x,;\s]+/i).filter(Boolean).map(number);
  const limits = LIMITED.filter((name) => values.limits[name].trim()).map((name) => [name, number(values.limits[name])]);
  return {
    name: values.name,
    os: values.os || null,
    browserVersion: values.browserVersion.trim() || null,
    tags: values.tags,
    notes: values.notes,
    workspaceId: values.workspaceId.trim() || null,
    proxyId: values.proxyId === DELETED || values.proxyId === DEALT ? undefined : values.proxyId || null, // unchanged, or as chosen
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
    freezeAfter: values.freezeAfter.trim() ? number(values.freezeAfter) : null,
    placement: placementOf(values.placement),
    allowLocal: linesOf(values.allowLocal),
    allowHosts: linesOf(values.allowHosts),
    denyHosts: linesOf(values.denyHosts),
    localhostVia: linesOf(values.localhostVia),
    backgroundTraffic: values.backgroundTraffic,
    fallbackProxyIds: values.fallbackProxyIds,
    fallbackCountry: values.fallbackCountry,
    logHosts: values.logHosts,
    temporary: values.temporary,
    snapshots: values.snapshots || null,
    args: linesOf(values.args),
    extensions: values.extensions,
    passkeys: values.passkeys,
    startWithServer: values.startWithServer,
    limits: limits.length ? Object.fromEntries(limits) : null,
  };
}

// changes returns the differences only: an update merges, so that other people's changes are kept, and a new profile gets the rest from its template, its
// workspace and the server.
export function changes(before, after) {
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])));
}

// rebase puts a form on another base: what the person has not changed follows it.
export function rebase(values, before, after) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, name in after && JSON.stringify(value) === JSON.stringify(before[name]) ? after[name] : value]));
}

const FROM_EXIT = 'Match the proxy';
const HERE = 'Same as this computer';

// CHOICES are the options of the forms' selects, as [value, words].
export const CHOICES = {
  headless: [['', 'Automatic'], ['false', 'Always a window'], ['true', 'Never a window (headless)']],
  timezone: [['auto', FROM_EXIT], ['system', HERE], ['own', 'Custom']],
  locale: [['auto', FROM_EXIT], ['system', HERE], ['own', 'Custom']],
  geolocation: [['auto', FROM_EXIT], ['off', 'Block'], ['own', 'Custom']],
  webrtc: [['proxy_only', 'Through the proxy only'], ['off', 'Off'], ['default', 'As Chrome does']],
  consistency: [['warn', 'Start with a warning'], ['block', 'Do not start'], ['off', 'Start without a warning']],
  backgroundTraffic: [['refuse', 'Block Chrome’s background requests'], ['allow', 'Send them through the proxy']],
  snapshots: [['', 'As the server does'], ['on', 'After each stop'], ['off', 'Never by itself']],
  passkeys: [['off', 'Sites get none'], ['auto', 'Sites make and use them by themselves'], ['ask', 'A person allows each use']],
  fallbackCountry: [['same', 'Only in the same country'], ['any', 'In any country']],
};

function chosen(name, own) {
  return (values) => (values[name] === 'own' ? values[own].trim() : CHOICES[name].find(([value]) => value === values[name])?.[1] ?? values[name]);
}

function text(name, empty = 'Empty') {
  return (values) => values[name].trim() || empty;
}

// limitWords says which limits there are.
function limitWords({ memoryMb, cpuPercent, pids }) {
  return [memoryMb.trim() && `${memoryMb} MiB of memory`, cpuPercent.trim() && `${cpuPercent} % of a core`, pids.trim() && `${pids} processes`].filter(Boolean).join(', ');
}

// FIELDS are the settings in words, for somebody who compares two versions: {label, names, words}. names are the values that belong together.
export const FIELDS = [
  { label: 'Name', names: ['name'], words: text('name') },
  { label: 'Operating system', names: ['os'], words: ({ os }) => SYSTEMS[os] || HERE },
  { label: 'Browser version', names: ['browserVersion'], words: text('browserVersion', 'Same as the installed browser') },
  { label: 'Tags', names: ['tags'], words: ({ tags }) => tags.join(', ') || 'None' },
  { label: 'Notes', names: ['notes'], words: text('notes') },
  { label: 'Proxy', names: ['proxyId'], words: ({ proxyId }) => (proxyId === DELETED ? 'Deleted' : proxyId ? { proxies: [proxyId] } : 'No proxy (direct connection)') },
  { label: 'Fallback proxies', names: ['fallbackProxyIds'], words: ({ fallbackProxyIds }) => (fallbackProxyIds.length ? { proxies: fallbackProxyIds } : 'None') },
  { label: 'Country of the fallbacks', names: ['fallbackCountry'], words: chosen('fallbackCountry') },
  { label: 'Start pages', names: ['startUrls'], words: text('startUrls', 'None') },
  { label: 'Window', names: ['headless'], words: chosen('headless') },
  { label: 'Timezone', names: ['timezone', 'timezoneOwn'], words: chosen('timezone', 'timezoneOwn') },
  { label: 'Languages', names: ['locale', 'localeOwn'], words: chosen('locale', 'localeOwn') },
  { label: 'Location', names: ['geolocation', 'position'], words: chosen('geolocation', 'position') },
  { label: 'WebRTC', names: ['webrtc'], words: chosen('webrtc') },
  { label: 'Screen', names: ['screen'], words: text('screen', 'Default') },
  { label: 'If it doesn’t match the proxy', names: ['consistency'], words: chosen('consistency') },
  { label: 'Idle time', names: ['idleTimeoutMs'], words: text('idleTimeoutMs', 'No limit') },
  { label: 'Maximum run time', names: ['maxRunMs'], words: text('maxRunMs', 'No limit') },
  { label: 'Allowed hosts', names: ['allowHosts'], words: text('allowHosts', 'Every host') },
  { label: 'Blocked hosts', names: ['denyHosts'], words: text('denyHosts', 'None') },
  { label: 'Local services', names: ['allowLocal'], words: text('allowLocal', 'None') },
  { label: 'Local ports under another name', names: ['localhostVia'], words: text('localhostVia', 'None') },
  { label: 'Background requests', names: ['backgroundTraffic'], words: chosen('backgroundTraffic') },
  { label: 'Extensions', names: ['extensions'], words: ({ extensions }) => (extensions.length ? `${extensions.length}, ${extensions.filter(({ enabled }) => enabled).length} of them on` : 'None') },
  { label: 'Passkeys', names: ['passkeys'], words: chosen('passkeys') },
  { label: 'Snapshots', names: ['snapshots'], words: chosen('snapshots') },
  { label: 'Chrome switches', names: ['args'], words: text('args', 'None') },
  { label: 'Start with the server', names: ['startWithServer'], words: ({ startWithServer }) => (startWithServer ? 'Yes' : 'No') },
  { label: 'Limits of the run', names: ['limits'], words: ({ limits }) => limitWords(limits) || 'As the server says' },
  { label: 'Freeze', names: ['freezeAfter'], words: text('freezeAfter', 'As the server says') },
  { label: 'Placement', names: ['placement'], words: text('placement', 'Any server') },
  { label: 'Temporary', names: ['temporary'], words: ({ temporary }) => (temporary ? 'Deleted after its run' : 'No') },
  { label: 'Log of hosts', names: ['logHosts'], words: ({ logHosts }) => (logHosts ? 'Kept' : 'Not kept') },
];
