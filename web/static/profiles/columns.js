// The columns of profiles, and their cells.
import { html } from '../html.js';
import { useNow } from '../app-context.js';
import { Ago, Name, Status, Tags, Temporary } from '../components.js';
import { Country } from '../flag.js';
import { bytes, lasting, moment, proxyName, span } from '../format.js';
import { Icon } from '../icons.js';
import { nodeColumn } from '../nodes.js';
import { Preview } from '../preview.js';
import { useProxy } from '../proxycache.js';
import { endWords, faultWords, PROFILE_STATUS, SYSTEMS } from '../words.js';

const NOTHING = html`<span class="muted not-in-card">–</span>`;

// profileColumns returns the columns; choose is called with a tag that was clicked, open with a profile. several: there is more than one server.
export function profileColumns({ choose, open, several }) {
  return [
    { id: 'name', label: 'Name', min: several ? 160 : 200, grow: 3, sort: 'name', first: 'asc', always: true, draw: (profile) => html`<${NameCell} profile=${profile} open=${open} />` },
    { id: 'status', label: 'Status', width: 108, rank: 1, card: true, draw: (profile) => html`<${StatusCell} profile=${profile} />` },
    { id: 'proxy', label: 'Proxy', min: 180, grow: 2, rank: 2, card: true, draw: (profile) => html`<${ProxyCell} profile=${profile} />` },
    { id: 'tags', label: 'Tags', min: 130, grow: 1.3, rank: 4, draw: (profile) => html`<${Tags} tags=${profile.tags} choose=${choose} most=${2} />` },
    { id: 'lastRun', label: 'Last run', width: 158, sort: 'lastStartedAt', rank: 3, card: true, draw: (profile) => html`<${LastRun} profile=${profile} />` },
    ...(several ? [nodeColumn(5)] : []),
    { id: 'os', label: 'System', width: 122, rank: 6, draw: (profile) => html`<${System} profile=${profile} />` },
    { id: 'created', label: 'Created', width: 112, sort: 'createdAt', rank: 7, draw: ({ createdAt }) => html`<span class="muted"><${Ago} time=${createdAt} /></span>` },
    { id: 'updated', label: 'Changed', width: 112, sort: 'updatedAt', rank: 8, hidden: true, draw: ({ updatedAt }) => html`<span class="muted"><${Ago} time=${updatedAt} /></span>` },
    { id: 'notes', label: 'Notes', min: 140, grow: 1.5, rank: 9, hidden: true, draw: ({ notes }) => (notes ? html`<bdi class="one-line" title=${notes}>${notes}</bdi>` : NOTHING) },
    { id: 'workspace', label: 'Workspace', width: 120, rank: 10, hidden: true, draw: ({ workspaceId }) => html`<bdi class="one-line">${workspaceId}</bdi>` },
    { id: 'disk', label: 'On disk', width: 88, numeric: true, rank: 11, hidden: true, draw: ({ diskBytes }) => (diskBytes ? bytes(diskBytes) : NOTHING) },
    { id: 'id', label: 'ID', width: 292, rank: 12, hidden: true, draw: ({ id }) => html`<span class="mono">${id}</span>` },
  ];
}

function NameCell({ profile, open }) {
  return html`${profile.status === 'running' && html`<${Preview} profile=${profile} />`}<span class="two-lines">
    <button type="button" class="link title" title=${profile.name} onClick=${() => open(profile)}><${Name}>${profile.name}<//></button></span><${Temporary} of=${profile} />`;
}

// StatusCell shows the exception: a profile that is stopped has a dot alone.
function StatusCell({ profile }) {
  const status = PROFILE_STATUS[profile.status] || { text: profile.status, tone: 'quiet' };
  if (profile.status !== 'stopped') return html`<${Status} of=${status} />`;
  return html`<span class="status quiet" title="Stopped"><span class="dot"></span><span class="visually-hidden">Stopped</span></span>`;
}

function System({ profile }) {
  return html`<span class="one-line muted">${SYSTEMS[profile.os] || profile.os} ${profile.browserVersion}</span>`;
}

function ProxyCell({ profile }) {
  const proxy = useProxy(profile.proxyId);
  if (profile.proxyMissing) return html`<span class="bad-text">Proxy deleted</span>`;
  if (!profile.proxyId) return html`<span class="muted" title="No proxy (direct connection)"><span class="not-in-card">–</span><span class="in-card">No proxy</span></span>`;
  if (proxy === undefined) return html`<span class="bone"></span>`;
  if (proxy === null) return html`<span class="muted">Unknown</span>`;
  const { lastCheck, status } = proxy;
  const exit = profile.run?.proxy?.exitIp ? profile.run.proxy : status === 'alive' ? lastCheck : null;
  const below = status === 'dead' && !exit
    ? html`<span class="bad-text">${faultWords(lastCheck?.error)?.happened || 'The last check failed.'}</span>`
    : exit?.exitIp ? html`${exit.exitIp}${exit.latencyMs != null ? ` · ${span(exit.latencyMs)}` : ''}` : 'Not checked';
  return html`<span class="two-lines"><span class="with-flag"><${Country} code=${exit?.country || lastCheck?.country} name=${lastCheck?.countryName} /> <${Name}>${proxyName(proxy)}<//></span>
    <span class="sub number">${below}</span></span>`;
}

function LastRun({ profile }) {
  const now = useNow();
  const { run, lastRun, status } = profile;
  if (run?.startedAt && status !== 'failed') {
    const words = lasting(run.startedAt, now);
    return html`<time class="number" datetime=${run.startedAt} title=${`Since ${moment(run.startedAt)}`}>${/^\d/.test(words) && html`<span class="not-in-card">Now · </span>`}${words}</time>`;
  }
  if (!lastRun) return html`<span class="muted">Never<span class="in-card"> started</span></span>`;
  const took = lastRun.durationMs ?? Date.parse(lastRun.endedAt) - Date.parse(lastRun.startedAt);
  const title = `${endWords(lastRun)}${took >= 0 ? ` after ${span(took)}` : ''}`;
  if (status !== 'failed') return html`<span class="muted" title=${title}><${Ago} time=${lastRun.endedAt || lastRun.startedAt} /></span>`;
  const code = lastRun.signal ? `, ${lastRun.signal}` : lastRun.exitCode > 0 ? `, exit code ${lastRun.exitCode}` : '';
  return html`<span class="two-lines"><${Ago} time=${lastRun.endedAt || lastRun.startedAt} />
    <span class="sub bad-text" title=${(lastRun.lines || []).join('\n')}><${Icon} name="warning" />${endWords(lastRun)}${code}</span></span>`;
}
