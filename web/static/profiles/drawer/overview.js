// The overview of a profile: what contradicts it first, then its picture, its exit and the rest.
import { html } from '../../html.js';
import { useApp, useNow } from '../../app-context.js';
import { Ago, Name, Notice, Tags } from '../../components.js';
import { Facts } from '../../drawer.js';
import { Country } from '../../flag.js';
import { bytes, lasting, proxyName, span } from '../../format.js';
import { NodeName, useNode, useSeveral } from '../../nodes.js';
import { Preview } from '../../preview.js';
import { useProxy } from '../../proxycache.js';
import { activityOf } from '../../route.js';
import { usagePairs, useRunUsage } from '../../running/runusage.js';
import { endWords, faultWords, memoryWords, SYSTEMS } from '../../words.js';
import { Findings, useExplain, warningWords } from './explain.js';
import { pendingWords } from './form.js';

export function Overview({ profile, path }) {
  const app = useApp();
  const now = useNow();
  const proxy = useProxy(profile.proxyId);
  const several = useSeveral();
  const node = useNode(profile.nodeId);
  const explained = useExplain(profile, path).data;
  const { run, lastRun, status } = profile;
  const running = status === 'running';
  const exit = running ? run?.proxy : proxy?.status === 'alive' ? proxy.lastCheck : null;
  const findings = explained?.findings || [];
  const warnings = warningWords((running && run?.warnings) || [], findings);
  const usage = useRunUsage(running, path);
  const pending = pendingWords((running && run?.pending) || []);
  return html`
    ${profile.proxyMissing && html`<${Notice}><p>Its proxy was deleted. Choose another before you start it.</p><//>`}
    ${!running && proxy?.status === 'dead' && html`<${Notice}><p>Its proxy failed the last check. ${faultWords(proxy.lastCheck?.error)?.happened}</p><//>`}
    ${several && node && node.state !== 'up' && html`<${Notice}><p>Its data are on the server <${Name}>${node.name}<//>, which ${node.state === 'stopped' ? 'is stopped' : 'does not answer'}. It starts again when that server is back.</p><//>`}
    ${!running && lastRun?.reason === 'out_of_memory' && html`<${Notice}><p><strong>It ran out of memory.</strong> ${memoryWords(lastRun.memory)}</p><//>`}
    ${findings.length > 0 && html`<${Notice}><${Findings} profile=${profile} findings=${findings} /><//>`}
    ${warnings.length > 0 && html`<${Notice}><ul>${warnings.map(({ code, text }) => html`<li key=${code}>${text}</li>`)}</ul><//>`}
    ${pending.length > 0 && html`<p class="hint">${`Changed, and taking effect when the browser starts next: ${pending.join(', ')}.`}</p>`}
    ${running && html`<div class="big-picture"><${Preview} profile=${profile} large /></div>`}
    <${Facts} pairs=${[
      ['Proxy', proxy ? html`<span class="with-flag"><${Country} code=${exit?.country || proxy.lastCheck?.country} /><${Name}>${proxyName(proxy)}<//></span>` : profile.proxyId ? '…' : 'None (direct connection)'],
      ['Exit IP', exit?.exitIp && html`<span class="number">${exit.exitIp}${exit.latencyMs != null ? ` · ${span(exit.latencyMs)}` : ''}</span>`],
      ['Through', running && run?.proxy?.fallback && 'A fallback proxy'],
      ['System', `${SYSTEMS[profile.os] || profile.os} ${profile.browserVersion}`],
      ['Timezone', running && run?.effective?.timezone],
      ['Languages', running && [].concat(run?.effective?.locale || []).join(', ')],
      ...usagePairs(usage),
      ['Running for', running && run?.startedAt && lasting(run.startedAt, now)],
      ['Last run', !running && (lastRun ? html`${endWords(lastRun)} <${Ago} time=${lastRun.endedAt || lastRun.startedAt} />` : 'Never started')],
      ['Tags', profile.tags?.length > 0 && html`<${Tags} tags=${profile.tags} most=${20} choose=${(tag) => app.router.refine({ tag })} />`],
      ['Notes', profile.notes && html`<bdi class="prose-lines">${profile.notes}</bdi>`],
      ['Server', several && (profile.nodeId ? html`<${NodeName} id=${profile.nodeId} />` : 'None yet: its first start chooses one')],
      ['On disk', profile.diskBytes > 0 && bytes(profile.diskBytes)],
      ['Created', html`<${Ago} time=${profile.createdAt} />`],
      ['Workspace', html`<bdi>${profile.workspaceId}</bdi>`],
      ['ID', html`<span class="mono">${profile.id}</span>`],
      ['Activity', html`<a href=${activityOf(profile.id)}>Who did what with it</a>`],
    ]} />
    ${status === 'failed' && lastRun?.lines?.length > 0 && html`<section><h3>The browser’s last lines</h3><pre class="lines" tabindex="0" role="group" aria-label="The browser’s last lines">${lastRun.lines.join('\n')}</pre></section>`}`;
}
