// The running browsers: each one's proxy, identity, usage and isolation.
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.js';
import { start, stop } from './actions.js';
import { useApp, useNow } from './app-context.js';
import { Country, Empty, Name, Pager, ProblemBox, Waiting } from './components.js';
import { bytes, count, lasting, moment, number } from './format.js';
import { Icon } from './icons.js';
import { PAGE_SIZE } from './list.js';
import { Preview, viewOf } from './preview.js';
import { useProfiles } from './profiles.js';
import { href } from './route.js';
import { useStore } from './store.js';
import { SYSTEMS } from './words.js';

const USAGE_MS = 5000;

// useUsage polls the usage of each run, by profile, while the page is visible.
function useUsage(api) {
  const [usage, setUsage] = useState(() => new Map());
  useEffect(() => {
    const ending = new AbortController();
    let timer = 0;
    const read = async () => {
      clearTimeout(timer);
      if (!document.hidden) {
        const answer = await api.get('/runs', {}, { signal: ending.signal }).catch(() => null); // keeps the old figures
        if (ending.signal.aborted) return;
        if (answer) setUsage(new Map(answer.data.map((run) => [run.profileId, run.usage])));
      }
      clearTimeout(timer);
      timer = setTimeout(read, USAGE_MS);
    };
    const visible = () => document.hidden || read();
    read();
    document.addEventListener('visibilitychange', visible);
    return () => {
      ending.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', visible);
    };
  }, [api]);
  return usage;
}

export function RunningPage({ params }) {
  const app = useApp();
  const page = Math.max(1, Number(params.get('page')) || 1);
  const { list, view } = useProfiles({ page, status: 'running' });
  const { rows, total, atLeast, more, problem } = view;
  const usage = useUsage(app.api);
  return html`
    <header class="page-head"><h1 tabindex="-1">Running ${rows && html`<span class="total">${number(total, atLeast)}</span>`}</h1></header>
    <${ProblemBox} problem=${problem}><button type="button" class="button small" onClick=${() => list.reload()}>Try again</button><//>
    ${!rows && !problem && html`<${Waiting} />`}
    ${rows?.length > 0 && html`<table class="table running" role="table">
      <caption class="visually-hidden">Running browsers</caption>
      <thead role="rowgroup"><tr role="row">
        ${['Profile', 'Exit', 'Shows itself as', 'For', 'Uses', 'Isolation'].map((name) => html`<th key=${name} role="columnheader" scope="col">${name}</th>`)}
        <th role="columnheader" scope="col"><span class="visually-hidden">Actions</span></th>
      </tr></thead>
      <tbody role="rowgroup">${rows.map((profile) => html`<${RunRow} key=${profile.id} profile=${profile} list=${list} usage=${usage.get(profile.id)} />`)}</tbody>
    </table>`}
    ${rows?.length === 0 && !problem && html`<${Empty} title="Nothing runs"><p>Start a profile, and its browser shows up here.</p>
      <a class="button primary large" href=${href('profiles')}>Go to the profiles</a><//>`}
    ${rows && html`<${Pager} page=${page} size=${PAGE_SIZE} shown=${rows.length} ...${{ more, total, atLeast }} go=${(to) => app.router.refine({ page: to > 1 ? String(to) : '' })} />`}`;
}

function RunRow({ profile, list, usage }) {
  const app = useApp();
  const now = useNow();
  const busy = useStore(app.busy).has(profile.id);
  const run = profile.run || {};
  const what = [run.browser && `${run.browser.product} ${run.browser.version}`, run.headless && 'headless', run.pid && `process ${run.pid}`].filter(Boolean).join(' · ');
  return html`<tr role="row" data-id=${profile.id}>
    <td role="cell" class="cell-main">${profile.status === 'running' && html`<${Preview} profile=${profile} />`}<span class="title"><${Name}>${profile.name}<//></span>
      <span class="sub" title=${what}>${what}</span></td>
    <td role="cell" data-label="Exit" class="cell-exit">${run.proxy
      ? html`<span class="exit"><${Country} code=${run.proxy.country} />${run.proxy.exitIp ? html`<span class="mono">${run.proxy.exitIp.split(/(?<=:)/).map((part) => html`${part}<wbr />`)}</span>` : html`<span class="muted">Not known yet</span>`}</span>`
      : html`<span class="muted">Direct</span>`}</td>
    <td role="cell" data-label="Shows as"><${Shown} effective=${run.effective} /></td>
    <td role="cell" data-label="For" class="cell-short">${run.startedAt && html`<time datetime=${run.startedAt} title=${moment(run.startedAt)}>${lasting(run.startedAt, now)}</time>`}</td>
    <td role="cell" data-label="Uses" class="cell-uses number"><${Uses} usage=${usage} /></td>
    <td role="cell" data-label="Isolation" class="cell-short"><${Isolation} isolation=${run.isolation} /></td>
    <td role="cell" class="cell-actions"><div class="actions">
      <a class="button small" href=${viewOf(profile.id)} title="View" aria-label=${`View ${profile.name}`}><${Icon} name="eye" />View</a>
      <button type="button" class="button small" aria-disabled=${busy} title="Connect" aria-label=${`Connect to ${profile.name}`} onClick=${() => start(app, profile, list)}><${Icon} name="plug" />Connect</button>
      <button type="button" class="button small" aria-disabled=${busy} title="Stop" aria-label=${`Stop ${profile.name}`} onClick=${() => stop(app, profile, list)}><${Icon} name="stop" />Stop</button>
    </div></td>
  </tr>`;
}

function Shown({ effective }) {
  if (!effective?.os) return html`<span class="muted">–</span>`;
  const { os, browserVersion, timezone, locale } = effective;
  return html`<span>${SYSTEMS[os] || os} · ${browserVersion}</span><span class="sub">${[timezone, [].concat(locale || [])[0]].filter(Boolean).join(' · ')}</span>`;
}

// MEMORY explains how a run's memory was measured.
const MEMORY = { __proto__: null, pss: 'Memory, with its share of what processes share (PSS)', rss: 'Memory of its processes; what they share counts for each (RSS)' };

// Uses shows a run's use of memory, CPU and network, and its clients.
function Uses({ usage }) {
  if (!usage) return html`<span class="muted">–</span>`;
  const { cpuPercent: cpu, memoryBytes: memory, memoryKind, processes, bytesUp: up, bytesDown: down, clients, viewers } = usage;
  const joined = (...parts) => parts.filter(Boolean).join(' · ');
  const own = joined(memory == null ? '' : bytes(memory), cpu == null ? '' : `CPU ${cpu < 10 ? cpu.toFixed(1) : Math.round(cpu)} %`);
  const traffic = up == null && down == null ? '' : `↓ ${bytes(down || 0)} ↑ ${bytes(up || 0)}`;
  return html`<span title=${MEMORY[memoryKind]}>${own || '–'}</span>
    <span class="sub">${joined(traffic, processes == null ? '' : count(processes, 'process', 'processes'))}</span>
    ${(clients > 0 || viewers > 0) && html`<span class="sub">${joined(clients > 0 && count(clients, 'client'), viewers > 0 && count(viewers, 'viewer'))}</span>`}`;
}

function Isolation({ isolation }) {
  if (!isolation) return html`<span class="muted">–</span>`;
  const network = { __proto__: null, namespace: 'Own network', loopback: 'Own relay' }[isolation.network] || isolation.network;
  return html`<span>${network}</span><span class="sub">${isolation.files === 'namespace' ? 'Own files · ' : ''}${isolation.sandbox ? 'Sandbox on' : html`<span class="bad-text">Sandbox off</span>`}</span>`;
}
