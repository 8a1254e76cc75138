// The page tries every channel, each try with its own nonce, and reports the results. It runs twice: as an ordinary
// page and as a secure context. Each tries what only it can try.
import { vectors, Unsupported } from './vectors.js';
import { gather, pair } from './webrtc.js';

const config = await (await fetch('/config.json', { cache: 'no-store' })).json();
const secure = location.protocol === 'https:';
const report = { part: secure ? 'secure' : 'plain', attempts: [], candidates: [], fault: '' };
const running = [];
const over = after(config.budgetMs - config.settleMs);

const site = { group: 'site', host: '' };
const core = config.targets.filter((t) => t.core);
const names = config.names.map((host) => ({ group: 'name', host }));

function after(ms) {
  return new Promise((done) => setTimeout(done, ms, 'timeout'));
}

function fresh() {
  return 'n' + [...crypto.getRandomValues(new Uint8Array(8))].map((b) => b.toString(16).padStart(2, '0')).join('');
}

// address returns the URL of a try: a fresh name that the relay connects to the site, or a canary.
function address(scheme, where, port, path, nonce) {
  if (where.group === 'site') return `${scheme}://${nonce}.${config.suffix}${port ? ':' + port : ''}${path}`;
  return `${scheme}://${where.host}${port ? ':' + port : ''}${path}`;
}

// attempt runs one try and records its outcome. A try that does not end by itself is a timeout.
async function attempt(channel, vector, where, target, nonce, run) {
  const entry = { channel, vector, group: where.group, target, nonce, outcome: 'timeout', detail: '', ms: 0 };
  report.attempts.push(entry);
  const began = performance.now();
  let outcome, detail = '';
  try {
    outcome = await Promise.race([run(), after(config.tryMs), over]);
  } catch (e) {
    outcome = e instanceof Unsupported ? 'unsupported' : 'error';
    detail = String(e?.message ?? e).slice(0, 160);
  }
  Object.assign(entry, { outcome, detail, ms: Math.round(performance.now() - began) });
}

// tries starts a vector against targets. kind selects the canaries' port.
function tries(channel, vector, scheme, kind, wheres) {
  for (const where of wheres) {
    const nonce = fresh();
    const port = where.group === 'site' ? '' : where.group === 'metadata' ? '' : config.ports[kind];
    const url = address(scheme, where, port, `/seen/${channel}/${vector}/${nonce}`, nonce);
    running.push(attempt(channel, vector, where, where.host || nonce, nonce, () => vectors[vector](url, nonce)));
  }
}

// common tries the channels that both pages have.
function common(scheme, socket, kind) {
  const everywhere = [site, ...core];
  for (const v of ['fetch', 'xhr', 'img', 'script', 'css', 'font', 'iframe', 'object', 'embed', 'video', 'form']) tries(scheme, v, scheme, kind, everywhere);
  tries('websocket', 'ws', socket, kind, everywhere);
  tries('eventsource', 'eventsource', scheme, kind, everywhere);
  for (const v of ['beacon', 'keepalive']) tries('beacon', v, scheme, kind, everywhere);
  for (const v of ['prefetch', 'preload', 'modulepreload']) tries('prefetch', v, scheme, kind, everywhere);
  tries('preconnect', 'preconnect', scheme, 'preconnect', everywhere);
  tries('dns_prefetch', 'dnsprefetch', scheme, kind, [site, site, site, ...names]);
  tries('worker', 'worker', scheme, kind, everywhere);
  tries('worker', 'worker', socket, kind, core);
  tries('shared_worker', 'sharedworker', scheme, kind, everywhere);
  tries('shared_worker', 'sharedworker', socket, kind, core);
  tries('favicon', 'favicon', scheme, kind, secure ? [site] : [core[0]]);
  for (const v of ['redirect', 'redirectframe']) tries('redirect', v, scheme, kind, everywhere);
  tries('popup', 'popup', scheme, kind, everywhere);
  tries('download', 'downloadframe', scheme, kind, core);
  const nonce = fresh();
  running.push(attempt('download', 'download', site, nonce, nonce, () => vectors.download(`/seen/download/download/${nonce}`)));
}

// plain tries every spelling of near targets. The metadata services come first and alone: there a timeout is a
// failure, and a try that Chrome queues behind hundreds of others would time out too.
async function plain() {
  const cloud = config.targets.filter((t) => t.group === 'metadata');
  for (const v of ['fetch', 'xhr', 'img']) tries('http', v, 'http', 'web', cloud);
  await Promise.all(running);
  common('http', 'ws', 'web');
  const near = config.targets.filter((t) => t.group !== 'metadata');
  for (const v of ['fetch', 'xhr', 'img', 'script', 'eventsource']) tries('http', v, 'http', 'web', near);
  tries('websocket', 'ws', 'ws', 'web', near);
  for (const url of config.urls) running.push(attempt('http', 'fetch', { group: 'other' }, url, fresh(), () => vectors.fetch(url)));
}

function secured() {
  common('https', 'wss', 'tls');
  const near = config.targets.filter((t) => t.group !== 'metadata');
  tries('https', 'fetch', 'https', 'tls', near);
  tries('http', 'fetch', 'http', 'web', near); // only loopback: a secure page may request no other target
  tries('webtransport', 'webtransport', 'https', 'webtransport', [site, ...core, ...names]);
  tries('prefetch', 'speculate', 'https', 'tls', [site, ...core]);
  running.push(prerender());
  tries('service_worker', 'serviceworker', 'https', 'tls', [site, ...core]);
  tries('service_worker', 'serviceworker', 'http', 'web', core);
  running.push(altSvc());
  running.push(rtc());
}

// prerender has a page of the site loaded ahead. That page requests the canaries, and the site last.
async function prerender() {
  const urls = [], nonces = [];
  for (const where of core) {
    const nonce = fresh();
    nonces.push([where, nonce]);
    urls.push(address('https', where, config.ports.tls, `/seen/prerender/fetch/${nonce}`, nonce));
  }
  const nonce = fresh(), last = fresh();
  urls.push(`/seen/prerender/prerendered/${last}`);
  const page = `/seen/prerender/prerender/${nonce}?urls=${encodeURIComponent(JSON.stringify(urls))}`;
  for (const [where, n] of nonces) running.push(attempt('prerender', 'prerendered', where, where.host, n, async () => 'sent'));
  await attempt('prerender', 'prerender', site, nonce, nonce, async () => {
    const sent = await vectors.prerender(page);
    await fetch(`/came/${last}`); // only the site knows whether the other page has made its requests
    return sent;
  });
}

// altSvc lets the site offer QUIC, then requests it again.
async function altSvc() {
  for (const host of ['a', 'b']) {
    const where = { group: 'site' };
    for (let i = 0; i < 3; i++) {
      const nonce = fresh();
      const url = `https://${host}-quic.${config.suffix}:8443/seen/quic/altsvc/${nonce}`;
      await attempt('quic', 'altsvc', where, url, nonce, () => vectors.fetch(url));
    }
  }
}

// rtc uses STUN and TURN servers by address and by name, and connects two peers without a server.
async function rtc() {
  let complete = !globalThis.RTCPeerConnection; // whether any search for candidates came to its end
  const one = async (channel, kind, where, url) => {
    await attempt(channel, 'rtc', where, url, fresh(), async () => {
      if (!globalThis.RTCPeerConnection) throw new Unsupported('no RTCPeerConnection');
      const outcome = await gather(url, config.tryMs, (candidate) => report.candidates.push({ channel, server: url, candidate }));
      complete ||= outcome === 'done';
      return outcome;
    });
  };
  const all = [];
  const servers = { stun_udp: ['stun', ''], turn_udp: ['turn', '?transport=udp'], turn_tcp: ['turn', '?transport=tcp'], turn_tls: ['turns', '?transport=tcp'] };
  for (const [channel, [scheme, query]] of Object.entries(servers)) {
    for (const where of [...core, ...names]) all.push(one(channel, channel, where, `${scheme}:${where.host}:${config.ports[channel]}${query}`));
    all.push(one(channel, channel, site, `${scheme}:${fresh()}.${config.suffix}:${config.ports[channel]}${query}`));
    // A name that only this machine's resolver knows: a request for its address means that the browser resolved it.
    for (const where of names) all.push(one('dns', channel, where, `${scheme}:${where.host}:${config.ports.dns}${query}`));
    all.push(one('dns', channel, site, `${scheme}:${fresh()}.${config.suffix}:443${query}`));
  }
  all.push(attempt('mdns', 'rtc', site, 'no server', fresh(), async () => {
    if (!globalThis.RTCPeerConnection) throw new Unsupported('no RTCPeerConnection');
    return pair(config.tryMs, (candidate) => report.candidates.push({ channel: 'mdns', server: '', candidate }));
  }));
  await Promise.all(all);
  running.push(attempt('webrtc_candidates', 'rtc', site, 'all servers', fresh(), async () => (complete ? 'done' : 'timeout')));
}

try {
  await (secure ? secured() : plain());
} catch (e) {
  report.fault = String(e);
}
for (let n = 0; n < running.length;) { // tries may have started others
  n = running.length;
  const ended = await Promise.allSettled(running);
  report.fault ||= String(ended.find((r) => r.status === 'rejected')?.reason ?? '');
}
await after(config.settleMs); // no event announces the end of prefetches, hints and icons
await fetch('/report', { method: 'POST', body: JSON.stringify(report) });
document.title = 'reported';
