// The words for the API's codes: what happened, and what to do. The tables have no prototype, so that unknown codes
// from the server find nothing.
import { span } from './format.js';

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
  resolve: 'looking up its name',
  connect: 'connecting to it',
  tls: 'setting up encryption',
  greeting: 'greeting it',
  auth: 'logging in to it',
  request: 'asking it to connect on',
  response: 'waiting for an answer through it',
};

// stageWords returns what the check was doing when it failed.
export function stageWords(stage) {
  return STAGES[stage] || '';
}

// FAULTS maps each error of a check to what happened and what to do.
const FAULTS = {
  __proto__: null,
  dns_failed: ['Its host name cannot be found.', 'Look for a typing error in the host.'],
  connection_refused: ['Nothing listens at its address.', 'Check host and port. The proxy may be switched off.'],
  connection_closed: [
    'It hung up during the handshake.',
    'Check the type. Some proxies hang up on addresses that are not on their allow-list, or on a wrong password.',
  ],
  timed_out: ['It did not answer in time.', 'Try again. If it stays so, the host, the port or a firewall is in the way.'],
  host_unreachable: ['No route leads to its address.', 'Check the host and this machine’s network.'],
  tls_failed: ['Encryption with it failed.', 'If it speaks plain HTTP, choose the type HTTP. Else its certificate is not valid.'],
  not_a_proxy: ['Something answers there, but it is not a proxy of this type.', 'Try another type, and check the port.'],
  auth_required: ['It wants a user name and a password.', 'Enter both.'],
  auth_unsupported: ['It wants a login of a kind that is not spoken here.', 'Ask the provider for one with Basic or Digest, or for a SOCKS5 address.'],
  auth_failed: ['It refused the user name or the password.', 'Enter both again, or ask the provider.'],
  password_unreadable: [
    'Its saved password cannot be opened: it was sealed with another secret key.',
    'Enter the password again, or serve Warren with the key of before.',
  ],
  request_refused: [
    'It refused to connect on.',
    'The account may have no traffic left, or its rules forbid the check’s address. Ask the provider.',
  ],
  target_unreachable: [
    'It works, but cannot reach the check’s address.',
    'Is the proxy online? Try again. If it stays so, ask the provider, or serve Warren with another --check-url.',
  ],
  bad_response: [
    'What came back through it is not an answer of the check’s address.',
    'It may show a login page first, or change what passes through. Ask the provider.',
  ],
  blocked_address: [
    'Its address, or the check’s, is one that Warren does not dial.',
    'What is in a private network, or a proxy on this machine, needs a server that was started with --allow-private=yes.',
  ],
};

// faultWords explains a check's error: {happened, advice}. An unknown code falls back to the server's message.
export function faultWords(error) {
  if (!error) return null;
  if (error.code === 'dns_failed' && error.stage !== 'resolve') {
    return { happened: 'It cannot find the name of the check’s address.', advice: 'The proxy’s own name lookup fails. Ask the provider.' };
  }
  const behind = error.stage === 'request' && ['host_unreachable', 'connection_refused'].includes(error.code); // the proxy reports this about the check's address
  const [happened, advice] = FAULTS[behind ? 'target_unreachable' : error.code] || [error.message || 'The check failed.', ''];
  return { happened, advice };
}

// checkSentence summarises a check in one sentence.
export function checkSentence(check) {
  if (!check.ok) return faultWords(check.error)?.happened || 'The check failed.';
  const place = check.countryName || check.country;
  const parts = [`The world sees ${check.exitIp || 'an unknown address'}${place ? ` in ${place}` : ''}`];
  if (check.latencyMs != null) parts.push(span(check.latencyMs));
  return `${parts.join(', ')}.`;
}

const ENDS = {
  __proto__: null,
  stopped: 'Closed',
  closed: 'Closed by its window',
  orphaned: 'Closed while the server was away',
  expired: 'Closed at its time limit',
  idle: 'Closed because nobody used it',
  crashed: 'Crashed',
  lost: 'Lost while the server was away',
  start_failed: 'Did not start',
};

// endWords says how a run ended. An unknown reason is shown unchanged.
export function endWords(lastRun) {
  const reason = lastRun?.reason || '';
  return ENDS[reason] || (reason && reason.replaceAll('_', ' ').replace(/^./, (c) => c.toUpperCase())) || 'Ended';
}

// TITLES are the page's own titles for problems; the problem's detail says what to do.
const TITLES = {
  __proto__: null,
  unauthorized: 'The key is not valid here',
  forbidden: 'Your key may not do this',
  origin_not_allowed: 'The server does not take requests from this address of the page',
  host_not_allowed: 'The server does not answer to this address',
  profile_not_found: 'This profile does not exist any more',
  proxy_not_found: 'This proxy does not exist any more',
  profile_running: 'The profile is running',
  profile_busy: 'The profile is busy',
  proxy_missing: 'The profile has lost its proxy',
  proxy_in_use: 'Profiles still use this proxy',
  duplicate: 'This proxy is there already',
  etag_mismatch: 'Someone else changed this meanwhile',
  validation_failed: 'Please check the highlighted fields',
  malformed_json: 'The server could not read the request',
  rate_limited: 'Too many requests',
  start_queue_full: 'Too many browsers are starting',
  proxy_unreachable: 'The proxy does not work',
  browser_not_found: 'No browser was found',
  browser_failed: 'The browser did not start',
  capacity_exceeded: 'No more browsers may run',
  database_busy: 'The database is busy',
  database_damaged: 'The database is damaged',
  start_timeout: 'The browser took too long to start',
  disk_full: 'The disk is full',
  server_stopping: 'Warren is stopping',
  login_link_gone: 'This link is used up',
};

// WORDS replace the API's texts that mention members which the page does not show.
const WORDS = {
  __proto__: null,
  proxy_in_use: 'Nothing was deleted. Give the profiles another proxy first, or none: they must not go out directly by accident.',
  server_stopping: 'This page goes on by itself when Warren is back. Then try again.',
  login_link_gone: 'This link was used before, or its 10 minutes are over. Run “warren open” on the server’s machine for another, or log in with a key.',
  unauthorized: 'The server does not know this key. It may be mistyped, revoked or expired.',
  duplicate: 'A proxy with this type, host, port and user name is in this workspace already.',
};

// problemWords returns what to do about a problem.
export function problemWords(problem) {
  return WORDS[problem.code] || problem.message;
}

export function problemTitle(problem) {
  return TITLES[problem.code] || problem.title || 'That did not work';
}
