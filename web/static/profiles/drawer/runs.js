// The runs of a profile: how each ended, how long it lasted, where it came out, and what it sent.
import { useState } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { Ago, ProblemBox, Waiting } from '../../components.js';
import { Facts, useObject } from '../../drawer.js';
import { Country } from '../../flag.js';
import { bytes, count, moment, number, proxyName, span } from '../../format.js';
import { useProxy } from '../../proxycache.js';
import { useStore } from '../../store.js';
import { usagePairs } from '../../running/runusage.js';
import { endWords, memoryWords } from '../../words.js';
import { isOf, useList } from './use.js';

export function Runs({ profile, path, object, rows }) {
  const list = useList(`${path}/runs`, { limit: 30 }, (event) => isOf(profile.id, event) && /^run\.(started|ended|fallback|updated)$/.test(event.type));
  return html`
    <${LogSwitch} ...${{ profile, path, object, rows }} />
    <${ProblemBox} problem=${list.problem} />
    ${!list.rows ? !list.problem && html`<${Waiting} />` : list.rows.length === 0 ? html`<p class="muted">It never ran.</p>`
      : html`<ul class="lines-list">${list.rows.map((run) => html`<${Run} key=${run.runId} run=${run} />`)}</ul>`}
    ${list.next && html`<div><button type="button" class="button small" disabled=${list.busy} onClick=${list.more}>Show more</button></div>`}`;
}

// LogSwitch turns the log of hosts on or off.
function LogSwitch({ profile, path, object, rows }) {
  const app = useApp();
  const busy = useStore(app.busy).has(profile.id);
  const offline = useStore(app.offline);
  const change = (event) => {
    const logHosts = event.currentTarget.checked;
    app.during(profile.id, async () => {
      try {
        const { data, etag } = await app.api.full('PUT', path, { body: { logHosts }, headers: object.etag ? { 'If-Match': object.etag } : {} });
        object.keep(data, etag);
        rows.patch(profile.id, data);
      } catch (problem) {
        object.reload();
        app.fail('The log of hosts was not changed', problem);
      }
    });
  };
  return html`<label class="tick"><input type="checkbox" role="switch" checked=${profile.logHosts} disabled=${busy || offline || !object.data} onChange=${change} />
    <span>Keep a log of the hosts of each run <span class="optional">names only, never pages</span></span></label>`;
}

function Run({ run }) {
  const [open, setOpen] = useState(false);
  const going = !run.endedAt;
  const failed = run.status === 'failed';
  const traffic = run.bytesDown == null ? null : bytes(run.bytesDown + run.bytesUp);
  return html`<li><details class="run" onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary><span class="run-head"><span class=${going ? 'good-text' : failed ? 'bad-text' : ''}>${going ? (run.status === 'stopping' ? 'Closing' : 'Running') : endWords(run)}</span><span class="muted"><${Ago} time=${run.startedAt} /></span></span>
      <span class="run-sub muted number">${span(run.durationMs)}${run.proxy ? html` · <${Country} code=${run.proxy.country} /> ${run.proxy.exitIp || 'exit not known'}` : ' · direct'}${traffic && ` · ${traffic}`}</span></summary>
    ${open && html`<${Details} run=${run} />`}
  </details></li>`;
}

function Details({ run }) {
  const proxy = useProxy(run.proxy?.id);
  return html`<div class="run-body"><${Facts} pairs=${[
      ['Started', moment(run.startedAt)],
      ['Ended', run.endedAt && moment(run.endedAt)],
      ['Browser', run.browser && `${run.browser.product} ${run.browser.version}${run.headless ? ', headless' : ''}`],
      ['Proxy', run.proxy ? html`<bdi>${proxy ? proxyName(proxy) : proxy === null ? 'Deleted' : '…'}</bdi>${run.proxy.fallback ? ' (a fallback)' : ''}` : 'None (direct connection)'],
      ['Received', run.bytesDown != null && bytes(run.bytesDown)],
      ['Sent', run.bytesUp != null && bytes(run.bytesUp)],
      ...usagePairs(run.usage),
      ['Most memory', run.endedAt && run.peakMemoryBytes != null && bytes(run.peakMemoryBytes)],
      ['Processor time', run.cpuMs != null && span(run.cpuMs)],
      ['Refused by rules', run.refusedByRules > 0 && count(run.refusedByRules, 'connection')],
      ['Exit code', run.status === 'failed' && run.exitCode != null && String(run.exitCode)],
      ['Signal', run.signal],
      ['Run', html`<span class="mono">${run.runId}</span>`],
    ]} />
    ${run.reason === 'out_of_memory' && html`<p>${memoryWords(run.memory)}</p>`}
    ${run.lines?.length > 0 && html`<pre class="lines" tabindex="0" aria-label="The browser’s last lines">${run.lines.join('\n')}</pre>`}
    <${Hosts} run=${run} /></div>`;
}

function Hosts({ run }) {
  const { data, problem } = useObject(`/runs/${encodeURIComponent(run.runId)}/hosts`, () => false);
  if (problem) return problem.status === 404 ? null : html`<${ProblemBox} problem=${problem} />`;
  if (!data) return null;
  if (!data.logged) return html`<p class="hint">No log of hosts was kept.</p>`;
  if (!data.data.length) return html`<p class="hint">It connected to no host.</p>`;
  return html`<table class="plain-table"><caption class="visually-hidden">Hosts of this run</caption><thead><tr><th scope="col">Host</th><th scope="col" class="is-number">Conn.</th><th scope="col" class="is-number">Refused</th><th scope="col" class="is-number">Traffic</th></tr></thead>
    <tbody>${data.data.map((host) => html`<tr key=${host.host}><th scope="row"><bdi>${host.host}</bdi></th><td class="is-number">${number(host.connections)}</td><td class=${`is-number ${host.refused ? 'bad-text' : 'muted'}`}>${host.refused || '–'}</td><td class="is-number">${bytes(host.bytesUp + host.bytesDown)}</td></tr>`)}</tbody></table>
    ${data.notKept > 0 && html`<p class="hint">${`And ${count(data.notKept, 'request')} to hosts beyond the first 1,000.`}</p>`}`;
}
