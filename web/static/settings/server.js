// The server: its version and load, what its doctor finds, and the settings in force.
import { useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp, useNow } from '../app-context.js';
import { Copy, Status, Waiting } from '../components.js';
import { Facts } from '../drawer.js';
import { bytes, count, lasting, moment, number, sentence } from '../format.js';
import { Icon } from '../icons.js';
import { href } from '../route.js';
import { useStore } from '../store.js';
import { Missing, useAnswer } from './read.js';

export function ServerSection() {
  const server = useAnswer('/server');
  const pressure = useAnswer('/pressure', {}, ({ type }) => /^run\.(?:started|ended)$/.test(type));
  const again = () => {
    server.reload();
    pressure.reload();
  };
  return html`<div class="settings-head"><p class="lead">How the server does, and what it was started with.</p>
      <div class="tools"><button type="button" class="button" onClick=${again}><${Icon} name="reload" /><span>Refresh</span></button></div></div>
    ${!pressure.data && !pressure.problem && html`<${Waiting} />`}
    <${Missing} problem=${pressure.problem} what="the server’s load" scope="read" />
    ${pressure.data && html`<${Load} now=${pressure.data} />`}
    <${Missing} problem=${server.problem} what="the settings of the server and what its doctor finds" />
    ${server.data && html`<${About} server=${server.data} /><${Findings} findings=${server.data.findings} /><${Flags} settings=${server.data.settings} />`}`;
}

// Load shows what is used of the machine, and how many browsers more may run.
function Load({ now }) {
  const { cpu, memory, disk } = now;
  const used = memory && memory.totalBytes - memory.availableBytes;
  const waits = [now.starting > 0 && count(now.starting, 'is starting', 'are starting'), now.queued > 0 && count(now.queued, 'start waits', 'starts wait'), now.recentRejected > 0 && `${count(now.recentRejected, 'start was', 'starts were')} refused within the last minute`].filter(Boolean).join('. ');
  return html`<section class="settings-part" aria-label="Load"><div class="gauges">
    <${Gauge} label="Browsers" value=${number(now.running)} more=${now.maxRunning ? `of ${number(now.maxRunning)} at most` : 'running, no limit set'} share=${now.maxRunning ? now.running / now.maxRunning : null} />
    <${Gauge} label="Processor" value=${cpu.percent == null ? '–' : `${Math.round(cpu.percent)} %`} more=${`of ${count(cpu.cores, 'core')}${cpu.load1 == null ? '' : ` · load ${cpu.load1.toFixed(1)}`}`} share=${cpu.percent == null ? null : cpu.percent / 100} />
    <${Gauge} label="Memory" value=${memory ? bytes(used) : '–'} more=${memory ? `of ${bytes(memory.totalBytes)}` : 'not known here'} share=${memory ? used / memory.totalBytes : null} />
    <${Gauge} label="Disk" value=${disk ? bytes(disk.freeBytes) : '–'} more=${disk ? 'free for profiles' : 'not known here'} share=${null} />
    </div><p class="load-words"><${Status} of=${now.accepting ? { text: 'Ready for more browsers', tone: 'good' } : { text: 'Further starts wait', tone: 'wait' }} />${waits && html`<span class="muted">${waits}.</span>`}</p></section>`;
}

function Gauge({ label, value, more, share }) {
  return html`<div class="gauge"><p class="gauge-label">${label}</p><p class="gauge-value number">${value}</p><p class="gauge-more">${more}</p>
    ${share !== null && html`<meter class="gauge-bar" min="0" max="1" high="0.85" value=${Math.min(1, share)} aria-label=${`${label} in use`}>${Math.round(share * 100)} %</meter>`}</div>`;
}

function About({ server }) {
  const now = useNow();
  const { version, go, commit } = server.version;
  const nodes = useStore(useApp().nodes.all);
  return html`<section class="settings-part"><h2>This server</h2><${Facts} pairs=${[
    ['Name', nodes.length > 1 && html`<bdi>${nodes.find(({ self }) => self)?.name}</bdi> <a href=${href('settings', undefined, ['servers'])}>of ${count(nodes.length, 'server')}</a>`],
    ['Version', html`${version}${commit && commit !== 'unknown' ? html` <span class="muted mono">${commit.slice(0, 12)}</span>` : ''}`],
    ['Built with', go],
    ['Running for', html`<time datetime=${server.startedAt} title=${moment(server.startedAt)}>${lasting(server.startedAt, now)}</time>`],
    ['Listens on', html`<span class="mono">${server.address}</span>`],
    ['Data folder', html`<span class="with-copy"><span class="mono">${server.dataFolder}</span><${Copy} text=${server.dataFolder} label="Copy the data folder" /></span>`],
  ]} /></section>`;
}

const NAMES = { __proto__: null, browser: 'Browser', browsers: 'Versions', sandbox: 'Sandbox', isolation: 'Isolation', files: 'Files', display: 'Display', clock: 'Clock', disk: 'Disk', data: 'Data folder', 'open files': 'Open files', '/dev/shm': 'Shared memory' };

function Findings({ findings }) {
  const bad = findings.filter(({ ok }) => !ok);
  const sorted = [...bad, ...findings.filter(({ ok }) => ok)];
  return html`<section class="settings-part"><h2>Doctor</h2><p class="muted">${bad.length ? `${count(bad.length, 'thing needs', 'things need')} a look.` : 'Everything is in order.'} <code>warren doctor --leaks</code> also tries every way out of a browser.</p>
    <ul class="findings">${sorted.map(({ name, ok, detail, advice }) => html`<li key=${name} class=${ok ? 'finding' : 'finding is-bad'}><${Icon} name=${ok ? 'check' : 'warning'} /><p class="finding-name">${NAMES[name] || name} <span class="visually-hidden">${ok ? 'in order' : 'needs a look'}</span></p>
      <div><p class="muted prose-lines">${sentence(detail)}</p>${advice && html`<p class="prose-lines">${sentence(advice)}</p>`}</div></li>`)}</ul></section>`;
}

// Flags lists the settings. Those with another value than the default come first, or alone.
function Flags({ settings }) {
  const changed = settings.filter((setting) => setting.changed);
  const [all, setAll] = useState(false);
  const shown = all ? settings : changed;
  return html`<section class="settings-part"><div class="settings-head"><h2>Settings in force</h2>
      <div class="segments" role="group" aria-label="Which settings"><button type="button" class="segment-button" aria-pressed=${!all} onClick=${() => setAll(false)}>Changed ${number(changed.length)}</button>
        <button type="button" class="segment-button" aria-pressed=${all} onClick=${() => setAll(true)}>All ${number(settings.length)}</button></div></div>
    <p class="muted">They are given as flags, in the environment or in the configuration file, and apply from the next start of <code>warren serve</code>. Passwords in addresses are not shown.</p>
    ${shown.length === 0 ? html`<p>Everything is at its default.</p>` : html`<div class="table-box" tabindex="0" role="region" aria-label="Settings in force"><table class="plain-table"><thead><tr><th scope="col">Flag</th><th scope="col">Value</th><th scope="col">What it does</th></tr></thead>
      <tbody>${shown.map(({ name, values, changed: other, help, default: byDefault }) => html`<tr key=${name}><th scope="row"><code>--${name}</code></th>
        <td class=${other ? 'value-cell' : 'value-cell muted'}>${values.length ? values.map((value) => html`<code key=${value} class="path">${value}</code>`) : '–'}${other && byDefault ? html`<span class="hint">Default: ${byDefault}</span>` : ''}</td><td class="muted wide-cell">${help}</td></tr>`)}</tbody></table></div>`}</section>`;
}
