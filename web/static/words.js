// The words for the API's codes: what happened, and what to do. The tables have no prototype, so that unknown codes
// from the server find nothing.
import { count, number, span } from './format.js';

export const PROFILE_STATUS = {
  __proto__: null,
  stopped: { text: 'Stopped', tone: 'quiet' },
  starting: { text: 'Starting', tone: 'wait' },
  running: { text: 'Running', tone: 'good' },
  stopping: { text: 'Stopping', tone: 'wait' },
  failed: { text: 'Failed', tone: 'bad' },
};

export const PROXY_STATUS = {
  __proto__: null,
  unknown: { text: 'Not checked', tone: 'quiet' },
  alive: { text: 'Alive', tone: 'good' },
  dead: { text: 'Dead', tone: 'bad' },
};

export const SYSTEMS = { __proto__: null, win: 'Windows', mac: 'macOS', linux: 'Linux' };

export const PROXY_TYPES = {
  __proto__: null,
  socks5: 'SOCKS5',
  http: 'HTTP',
  https: 'HTTPS (TLS to the proxy)',
  socks4: 'SOCKS4',
};

const STAGES = {
  __proto__: null,
  resolve: 'while looking up the host name',
  connect: 'while connecting to the proxy',
  tls: 'while setting up TLS',
  greeting: 'while greeting the proxy',
  auth: 'while logging in to the proxy',
  request: 'while the proxy connected to the check service',
  response: 'while waiting for the check service’s answer',
};

// stageWords returns what the check was doing when it failed.
export function stageWords(stage) {
  return STAGES[stage] || '';
}

// FAULTS maps each error of a check to what happened and what to do.
const FAULTS = {
  __proto__: null,
  dns_failed: ['The host name was not found.', 'Check the spelling of the host.'],
  connection_refused: ['Nothing answers at this address.', 'Check the host and the port. The proxy may be switched off.'],
  connection_closed: [
    'The proxy closed the connection.',
    'Check the type and the password. Some proxies only accept addresses on their allow-list.',
  ],
  timed_out: ['The proxy did not answer in time.', 'Try again. If that does not help, check the host, the port and the firewall.'],
  host_unreachable: ['The address cannot be reached.', 'Check the host and the network of this computer.'],
  tls_failed: ['The TLS connection to the proxy failed.', 'For a plain HTTP proxy, choose the type HTTP. Otherwise its certificate is not valid.'],
  not_a_proxy: ['The server there is not a proxy of this type.', 'Try another type, and check the port.'],
  auth_required: ['The proxy requires a user name and a password.', 'Enter both.'],
  auth_unsupported: ['The proxy requires a login method that Warren does not support.', 'Ask the provider for Basic or Digest, or for a SOCKS5 address.'],
  auth_failed: ['The user name or the password is wrong.', 'Enter both again, or ask the provider.'],
  password_unreadable: [
    'The saved password cannot be read: it was encrypted with another secret key.',
    'Enter the password again, or start Warren with the previous key.',
  ],
  request_refused: [
    'The proxy refused to connect to the check service.',
    'The account may be out of traffic, or the provider may block that address. Ask the provider.',
  ],
  target_unreachable: [
    'The proxy answers, but cannot reach the check service.',
    'Try again. If that does not help, ask the provider, or start Warren with another --check-url.',
  ],
  bad_response: [
    'The answer did not come from the check service.',
    'The proxy may show a login page first, or change what passes through. Ask the provider.',
  ],
  blocked_address: [
    'Warren does not connect to this address, or to the check service’s.',
    'For proxies in a private network or on this computer, start Warren with --allow-private=yes.',
  ],
};

// faultWords explains a check's error: {happened, advice}. An unknown code falls back to the server's message.
export function faultWords(error) {
  if (!error) return null;
  if (error.code === 'dns_failed' && error.stage !== 'resolve') {
    return { happened: 'The proxy cannot find the check service’s name.', advice: 'The proxy’s own DNS fails. Ask the provider.' };
  }
  const behind = error.stage === 'request' && ['host_unreachable', 'connection_refused'].includes(error.code); // the proxy reports this about the check's address
  const [happened, advice] = FAULTS[behind ? 'target_unreachable' : error.code] || [error.message || 'The check failed.', ''];
  return { happened, advice };
}

// checkSentence summarises a check in one sentence.
export function checkSentence(check) {
  if (!check.ok) return faultWords(check.error)?.happened || 'The check failed.';
  const place = check.countryName || check.country;
  const parts = [`Exit IP ${check.exitIp || 'unknown'}${place ? `, ${place}` : ''}`];
  if (check.latencyMs != null) parts.push(span(check.latencyMs));
  return `${parts.join(', ')}.`;
}

const ENDS = {
  __proto__: null,
  stopped: 'Stopped',
  closed: 'Window closed',
  out_of_memory: 'Ran out of memory',
  orphaned: 'Closed while the server was down',
  expired: 'Closed at the time limit',
  idle: 'Closed when idle',
  crashed: 'Crashed',
  lost: 'Lost while the server was down',
  start_failed: 'Did not start',
};

// endWords says how a run ended. An unknown reason is shown unchanged.
export function endWords(lastRun) {
  const reason = lastRun?.reason || '';
  return ENDS[reason] || (reason && reason.replaceAll('_', ' ').replace(/^./, (c) => c.toUpperCase())) || 'Ended';
}

// memoryWords says what a run that ran out of memory had, and which tab had most; memory is that of its last run.
export function memoryWords(memory) {
  if (!memory) return '';
  const { peakBytes: peak, limitBytes: limit, tab } = memory;
  const had = peak == null ? '' : limit == null ? `It had ${mebibytes(peak)} when the server’s memory was used up. ` : `It had ${mebibytes(peak)} of the ${mebibytes(limit)} that it may have. `;
  const most = tab ? `The tab with most was ${tab.origin}${tab.heapBytes == null ? '' : `, with ${mebibytes(tab.heapBytes)}`}. ` : '';
  return `${had}${most}${limit == null ? 'Run fewer browsers at once, or give the server more memory.' : 'Give it more memory, or open fewer tabs.'}`;
}

// mebibytes writes a size in the unit of the limits.
function mebibytes(n) {
  return `${number(Math.round(n / 2 ** 20))} MiB`;
}

// TITLES are the page's own titles for problems; the problem's detail says what to do.
const TITLES = {
  __proto__: null,
  unauthorized: 'This key is not valid',
  forbidden: 'Your key does not allow this',
  origin_not_allowed: 'The server does not accept requests from this page’s address',
  host_not_allowed: 'The server does not answer to this address',
  profile_not_found: 'This profile no longer exists',
  proxy_not_found: 'This proxy no longer exists',
  snapshot_not_found: 'This snapshot no longer exists',
  snapshot_in_use: 'This snapshot is all that there is',
  snapshot_damaged: 'This snapshot is damaged',
  profile_damaged: 'The profile’s data are damaged',
  profile_empty: 'The profile has no data yet',
  profile_running: 'The profile is running',
  profile_busy: 'The profile is busy',
  proxy_missing: 'The profile’s proxy was deleted',
  proxy_in_use: 'Profiles still use this proxy',
  proxy_taken: 'Another profile has this proxy by now',
  extension_in_use: 'Profiles still have this extension',
  duplicate: 'This proxy already exists',
  etag_mismatch: 'Somebody else changed this meanwhile',
  validation_failed: 'Please check the highlighted fields',
  malformed_json: 'The server could not read the request',
  rate_limited: 'Too many requests',
  start_queue_full: 'Too many browsers are starting',
  proxy_unreachable: 'The proxy does not work',
  browser_not_found: 'No browser is installed on the server',
  browser_failed: 'The browser did not start',
  node_unreachable: 'The profile’s data are on another server',
  profiles_elsewhere: 'Some of these profiles are on other servers',
  node_failed: 'The server with the profile’s data did not answer',
  no_server: 'No server takes the profile',
  node_alive: 'The server is up',
  node_not_found: 'This server is no longer in the list',
  node_draining: 'The server takes no new starts',
  node_conflict: 'Another server uses this one’s id',
  capacity_exceeded: 'The limit of running browsers is reached',
  database_busy: 'The database is busy',
  database_damaged: 'The database is damaged',
  start_timeout: 'The browser took too long to start',
  disk_full: 'The disk is full',
  server_stopping: 'Warren is stopping',
  login_link_gone: 'This link is used up',
  archive_refused: 'This file was not imported',
  ids_taken: 'These ids are taken',
  broken_off: 'The file did not arrive whole',
  browsers_busy: 'Another installation is under way',
  installation_not_allowed: 'This server installs no browsers from here',
  mirror_unreachable: 'The download did not work',
  build_not_found: 'There is no such build',
  download_untrusted: 'The download is not what it should be',
  browser_unusable: 'This build does not run on the server',
  quota_exceeded: 'The workspace may not have more',
  workspace_not_empty: 'The workspace is not empty',
  webhook_limit: 'The workspace has all the webhooks that it may have',
  webhook_disabled: 'The webhook is off',
  webhook_not_found: 'This webhook no longer exists',
  delivery_not_found: 'This message is no longer kept',
};

// WORDS replace the API's texts that mention members which the page does not show.
const WORDS = {
  __proto__: null,
  extension_in_use: 'Nothing was deleted. Take it from these profiles first.',
  proxy_in_use: 'Nothing was deleted. Give these profiles another proxy first, or none.',
  duplicate: 'This workspace already has a proxy with this type, host, port and user name.',
  server_stopping: 'This page goes on by itself when Warren is back. Then try again.',
  login_link_gone: 'This link was used before, or its 10 minutes are over. Run “warren open” on the server’s machine for another, or log in with a key.',
  unauthorized: 'This key isn’t valid. It may be mistyped, revoked or expired.',
  webhook_disabled: 'Switch it on first.',
};

// QUOTAS are the quotas of a workspace: words for one and for many, and what makes room.
const QUOTAS = {
  __proto__: null,
  profiles: ['profile', 'profiles', 'Move some to the trash'],
  running: ['running browser', 'running browsers', 'Stop some'],
  diskMb: ['MiB of data', 'MiB of data', 'Delete profiles for good, or files and snapshots of them'],
  proxies: ['proxy', 'proxies', 'Delete some'],
};

// quotaWords says which quota is used up, and what to do.
function quotaWords({ quota, limit, use }) {
  const [one, many, room] = QUOTAS[quota] || [quota, quota, 'Remove some'];
  return `The workspace may have ${count(limit, one, many)}, and has ${number(use)}. ${room}, or ask an administrator for a higher quota.`;
}

const CONTENTS = { __proto__: null, profiles: 'profile', trashed: ['profile in the trash', 'profiles in the trash'], proxies: ['proxy', 'proxies'], templates: 'template', schedules: 'schedule', extensions: 'extension', keys: ['key that names it', 'keys that name it'] };

// contentsWords says what a workspace still has.
function contentsWords(contents) {
  const words = Object.entries(contents).filter(([, n]) => n > 0).map(([name, n]) => count(n, ...[].concat(CONTENTS[name] || name)));
  return `It still has ${words.join(', ')}. Delete that first, and revoke the keys. Nothing was changed.`;
}

// problemWords returns what to do about a problem.
export function problemWords(problem) {
  if (problem.code === 'profile_damaged') {
    return `The browser cannot open the files below, and would begin them anew. Nothing was changed. ${problem.body.snapshots?.length > 0
      ? 'What is there now is kept when you go back to a snapshot.'
      : 'There is no snapshot that opens. Files that are set aside stay on the server’s disk, and the browser begins without them.'}`;
  }
  const { body = problem } = problem;
  if (problem.code === 'quota_exceeded' && body.quota) return quotaWords(body);
  if (problem.code === 'workspace_not_empty' && body.contents) return contentsWords(body.contents);
  return WORDS[problem.code] || problem.message;
}

export function problemTitle(problem) {
  return TITLES[problem.code] || problem.title || 'Something went wrong';
}
