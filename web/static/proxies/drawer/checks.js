// The checks of a proxy: uptime, latency and exits over time, and the list of the last ones.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { Line } from '../../chart.js';
import { CheckDialog } from '../../checkresult.js';
import { Ago, ProblemBox, Status, Waiting } from '../../components.js';
import { Country } from '../../flag.js';
import { count, moment, span } from '../../format.js';
import { faultWords, PROXY_STATUS } from '../../words.js';

const KEPT = 100; // checks that the server keeps of a proxy
const LISTED = 20;

export function Checks({ proxy }) {
  const app = useApp();
  const [state, setState] = useState({ data: null, problem: null });
  const [all, setAll] = useState(false);
  const checkedAt = proxy.lastCheck?.checkedAt;
  useEffect(() => {
    app.api.get(`/proxies/${encodeURIComponent(proxy.id)}/checks`, { limit: KEPT }).then(({ data }) => setState({ data, problem: null }), (problem) => setState((before) => ({ ...before, problem })));
  }, [proxy.id, checkedAt]);
  const { data, problem } = state;
  if (problem && !data) return html`<${ProblemBox} problem=${problem} />`;
  if (!data) return html`<${Waiting} />`;
  if (!data.length) return html`<p class="muted">It was never checked. Press “Check” above.</p>`;
  const listed = all ? data : data.slice(0, LISTED);
  return html`
    <${Figures} proxy=${proxy} checks=${data} />
    <${Line} title="Latency" points=${pointsOf(data)} parts=${[{ label: 'Latency', tone: 'tone-a' }]} say=${short} />
    ${data.some(({ ok }) => !ok) && html`<p class="hint"><span class="bad-text" aria-hidden="true">×</span> marks a failed check.</p>`}
    <${Exits} checks=${data} />
    <section><h3>${data.length >= KEPT ? `The last ${KEPT} checks` : count(data.length, 'check')}</h3>
      <ul class="event-list">${listed.map((check, i) => html`<li key=${`${check.checkedAt} ${i}`}><button type="button" class="event-line" onClick=${() => app.open(CheckDialog, { proxy, result: check })}>
        <${Status} of=${PROXY_STATUS[check.ok ? 'alive' : 'dead']} /><span class="event-what">${check.ok
          ? html`<span class="with-flag"><${Country} code=${check.country} bare /><span class="number">${check.exitIp}</span></span>` : html`<span class="one-line">${faultWords(check.error)?.happened || 'The check failed.'}</span>`}</span>
        <span class="muted number">${check.ok && check.latencyMs != null ? short(check.latencyMs) : ''}</span><span class="muted event-when"><${Ago} time=${check.checkedAt} /></span></button></li>`)}</ul>
      ${data.length > listed.length && html`<button type="button" class="button small" onClick=${() => setAll(true)}>Show all ${data.length}</button>`}</section>`;
}

// short formats a latency. Less than a millisecond has no better figure.
function short(ms) {
  return ms > 0 && ms < 1 ? '< 1 ms' : span(ms);
}

function Figures({ proxy, checks }) {
  const good = checks.filter(({ ok }) => ok).length;
  const { p50Ms, p95Ms } = proxy.latency || {};
  return html`<dl class="figures"><div><dt>Uptime</dt><dd>${Math.floor((good / checks.length) * 100)} %</dd></div>
    <div><dt>Half take at most</dt><dd>${p50Ms == null ? '–' : short(p50Ms)}</dd></div>
    <div><dt>95 % take at most</dt><dd>${p95Ms == null ? '–' : short(p95Ms)}</dd></div></dl>`;
}

// pointsOf returns the checks as points, oldest first.
function pointsOf(checks) {
  const days = new Set(checks.map(({ checkedAt }) => new Date(checkedAt).toDateString())).size;
  const format = new Intl.DateTimeFormat(undefined, days > 1 ? { day: 'numeric', month: 'short' } : { timeStyle: 'short' });
  return [...checks].reverse().map(({ checkedAt, ok, latencyMs }) => ({ label: format.format(Date.parse(checkedAt)), full: moment(checkedAt), values: [ok ? latencyMs ?? null : null], mark: ok ? '' : 'failed' }));
}

// Exits lists the exits in turn, newest first: each with how long it stayed.
function Exits({ checks }) {
  const turns = [];
  for (const { ok, exitIp, country, countryName, checkedAt } of checks) {
    if (!ok || !exitIp) continue;
    const last = turns.at(-1);
    if (last?.exitIp === exitIp) Object.assign(last, { from: checkedAt, seen: last.seen + 1 });
    else turns.push({ exitIp, country, countryName, from: checkedAt, to: checkedAt, seen: 1 });
  }
  if (!turns.length) return null;
  return html`<section><h3>${turns.length === 1 ? 'Exit' : `Exits: ${turns.length} in turn`}</h3>
    <ul class="event-list">${turns.slice(0, LISTED).map(({ exitIp, country, countryName, from, to, seen }) => html`<li key=${to} class="event-line"><span class="with-flag"><${Country} code=${country} name=${countryName} /><span class="number">${exitIp}</span></span>
      <span class="event-what"></span><span class="muted">${count(seen, 'check')}</span><span class="muted event-when">${seen > 1 ? 'since ' : ''}<${Ago} time=${from} /></span></li>`)}</ul></section>`;
}
