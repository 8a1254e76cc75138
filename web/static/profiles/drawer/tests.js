// What can be tried out on a profile: its leaks, what sites can tell, and pictures of its page.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp, useNow } from '../../app-context.js';
import { Notice, ProblemBox, Waiting } from '../../components.js';
import { moment, number, sentence, span } from '../../format.js';
import { Icon } from '../../icons.js';
import { useStore } from '../../store.js';
import { Effective, Findings, useExplain, warningWords } from './explain.js';
import { saveBlob } from './use.js';

export function Tests({ profile, path }) {
  return html`<${LeakTest} path=${path} /><${Pictures} ...${{ profile, path }} /><${Explained} ...${{ profile, path }} />`;
}

const CHANNELS = {
  __proto__: null,
  http: 'Plain HTTP', https: 'HTTPS', websocket: 'WebSockets', eventsource: 'Server-sent events', beacon: 'Beacons', webtransport: 'WebTransport', quic: 'QUIC (HTTP/3)',
  download: 'Downloads', popup: 'Popups', redirect: 'Redirects', prefetch: 'Prefetching', prerender: 'Prerendering', preconnect: 'Connections made ahead', dns_prefetch: 'Names looked up ahead',
  worker: 'Workers', shared_worker: 'Shared workers', service_worker: 'Service workers', favicon: 'Site icons', stun_udp: 'WebRTC: STUN over UDP', turn_udp: 'WebRTC: TURN over UDP',
  turn_tcp: 'WebRTC: TURN over TCP', turn_tls: 'WebRTC: TURN over TLS', mdns: 'WebRTC: local names', webrtc_candidates: 'WebRTC: addresses', dns: 'Name look-ups', loopback: 'This computer',
  lan: 'The local network', metadata: 'Cloud metadata',
};

function LeakTest({ path }) {
  const app = useApp();
  const offline = useStore(app.offline);
  const [state, setState] = useState({ since: 0, result: null, problem: null });
  const ending = useRef(null);
  useEffect(() => () => ending.current?.abort(), []);
  const run = async () => {
    ending.current = new AbortController();
    setState({ since: Date.now(), result: null, problem: null });
    try {
      const result = await app.api.post(`${path}/leak-test`, {}, { signal: ending.current.signal });
      setState({ since: 0, result, problem: null });
    } catch (problem) {
      setState({ since: 0, result: null, problem: problem.name === 'AbortError' ? null : problem });
    }
  };
  const { since, result, problem } = state;
  return html`<section><h3>Leak test</h3>
    <p class="hint">A browser with these settings tries every way around its proxy, in a temporary folder. It takes about 15 seconds. The profile’s own data is not touched.</p>
    <p class="button-line">${since
      ? html`<button type="button" class="button" onClick=${() => ending.current.abort()}>Cancel</button> <span class="status wait" role="status"><span class="dot"></span>Testing…</span>`
      : html`<button type="button" class="button" disabled=${offline} onClick=${run}><${Icon} name="pulse" />${result ? 'Test again' : 'Run the leak test'}</button>`}</p>
    <${ProblemBox} problem=${problem} />
    ${result && html`<${LeakResult} result=${result} />`}</section>`;
}

function LeakResult({ result }) {
  const failed = result.channels.filter(({ passed }) => !passed);
  const sorted = [...failed, ...result.channels.filter(({ passed }) => passed)];
  return html`<div class="leak-result"><p class="leak-verdict" role="status"><span class=${`status ${result.passed ? 'good' : 'bad'}`}><span class="dot"></span>${result.passed ? 'No leak found' : `${number(failed.length)} of ${number(result.channels.length)} ways are not closed`}</span>
      <span class="muted">${moment(result.startedAt)} · ${span(result.durationMs)}</span></p>
    ${result.warnings.length > 0 && html`<${Notice}><ul>${warningWords(result.warnings, []).map(({ code, text }) => html`<li key=${code}>${text}</li>`)}</ul><//>`}
    <table class="plain-table is-words"><caption class="visually-hidden">Ways out that were tried</caption><thead><tr><th scope="col">Way out</th><th scope="col">Result</th><th scope="col">What was seen</th></tr></thead>
      <tbody>${sorted.map(({ channel, passed, seen }) => html`<tr key=${channel}><th scope="row" title=${channel}>${CHANNELS[channel] || channel}</th>
        <td><span class=${passed ? 'good-text' : 'bad-text'}>${passed ? 'Closed' : 'Not closed'}</span></td><td class="muted">${seen ? sentence(seen) : '–'}</td></tr>`)}</tbody></table></div>`;
}

// Pictures saves what the page in front shows.
function Pictures({ profile, path }) {
  const app = useApp();
  const [busy, setBusy] = useState('');
  const [problem, setProblem] = useState(null);
  const now = useNow();
  const running = profile.status === 'running';
  const save = (what, address, ending) => async () => {
    setBusy(what);
    setProblem(null);
    try {
      const response = await app.api.open('GET', `api/v1${path}/${address}`);
      saveBlob(await response.blob(), fileName(profile.name, now, ending));
    } catch (fault) {
      setProblem(fault);
    }
    setBusy('');
  };
  const kinds = [['Screenshot', 'screenshot', 'png'], ['Whole page', 'screenshot?fullPage=true', 'png'], ['PDF', 'pdf', 'pdf']];
  return html`<section><h3>Picture of the page</h3><p class="hint">${running ? 'Of the tab in front.' : 'Start the browser first.'}</p>
    <p class="button-line">${kinds.map(([label, address, ending]) => html`<button type="button" class="button" key=${label} disabled=${!running || Boolean(busy)} onClick=${save(label, address, ending)}><${Icon} name="download" />${busy === label ? 'Saving…' : label}</button>`)}</p>
    <${ProblemBox} problem=${problem} /></section>`;
}

function fileName(name, now, ending) {
  const safe = name.replace(/[^\p{L}\p{N} ._-]+/gu, ' ').trim().slice(0, 80) || 'page';
  return `${safe} ${new Date(now).toISOString().slice(0, 19).replaceAll(':', '-')}.${ending}`;
}

function Explained({ profile, path }) {
  const { data, problem } = useExplain(profile, path);
  if (!data) return html`<section><h3>What sites can tell</h3><${ProblemBox} problem=${problem} />${!problem && html`<${Waiting} />`}</section>`;
  return html`<section><h3>What sites can tell</h3>
    ${data.findings.length > 0 ? html`<${Notice}><${Findings} profile=${profile} findings=${data.findings} /><//>` : html`<p>${data.exit ? 'Nothing contradicts the proxy.' : 'There is no proxy to compare with.'}</p>`}
    <${Effective} effective=${data.effective} full />
    ${data.differences.length > 0 && html`<h3 class="apart">What remains visible</h3><p class="hint">A site that looks closely can tell these apart from a real one.</p>
      <ul class="differences">${data.differences.map(({ code, message, contexts }) => html`<li key=${code}>${sentence(message)} <span class="muted">${contexts.map((one) => one.replaceAll('_', ' ')).join(', ')}</span></li>`)}</ul>`}</section>`;
}
