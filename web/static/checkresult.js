// The full result of a proxy check.
import { html } from './html.js';
import { useNow } from './app-context.js';
import { Country, Name, Notice, Status } from './components.js';
import { Dialog } from './dialog.js';
import { ago, moment, proxyName, span } from './format.js';
import { faultWords, PROXY_STATUS, stageWords } from './words.js';

const TIMINGS = [
  ['resolveMs', 'DNS'],
  ['connectMs', 'Connect'],
  ['tlsMs', 'TLS'],
  ['handshakeMs', 'Handshake'],
  ['firstByteMs', 'First byte'],
];

export function CheckDialog({ proxy, result, close }) {
  const now = useNow();
  return html`<${Dialog} title=${html`<${Name}>${proxyName(proxy)}<//>`}
    lead=${html`Checked <time datetime=${result.checkedAt} title=${moment(result.checkedAt)}>${ago(result.checkedAt, now)}</time>`} close=${close}>
    <div class="dialog-content"><${CheckResult} result=${result} /></div>
    <footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer>
  <//>`;
}

// CheckResult is also shown in the form of an unsaved proxy.
export function CheckResult({ result }) {
  const fault = result.ok ? null : faultWords(result.error) || { happened: 'The check failed.', advice: '' };
  return html`<div class="check-result">
    <p class="check-head"><${Status} of=${PROXY_STATUS[result.ok ? 'alive' : 'dead']} />
      ${result.ok && html`<span class="check-ip"><${Country} code=${result.country} name=${result.countryName} /> ${result.exitIp}</span>`}</p>
    ${fault && html`<p><strong>${fault.happened}</strong> ${fault.advice}</p>
      <p class="hint">Failed ${stageWords(result.error?.stage) || 'during the check'}${result.error?.message ? `: ${result.error.message}` : '.'}</p>`}
    ${result.exitChanged && html`<${Notice}>The exit IP changed since the last check.<//>`}
    ${result.ok && html`<${Details} result=${result} />`}
    <${Timings} timings=${result.timings} />
  </div>`;
}

function Details({ result }) {
  const facts = [
    ['Country', result.countryName || result.country],
    ['Timezone', result.timezone],
    ['Latency', result.latencyMs != null && span(result.latencyMs)],
    ['DNS', result.remoteDns == null ? '' : result.remoteDns ? 'By the proxy' : 'On this computer'],
    ['Plain HTTP sites', result.plainHttp == null ? '' : result.plainHttp ? 'Reachable' : 'Not reachable'],
    ['IP version', result.ipVersion && `IPv${result.ipVersion}`],
    ['Location source', { __proto__: null, answer: 'Check service', geoip: 'GeoIP file' }[result.geoSource]],
  ];
  return html`<dl class="facts-list">
    ${facts.filter(([, value]) => value).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

// Timings draws a bar per step, as long as the step took.
function Timings({ timings }) {
  const steps = TIMINGS.map(([member, name]) => ({ name, ms: timings?.[member] })).filter((step) => step.ms > 0);
  if (!steps.length) return null;
  const longest = Math.max(...steps.map((step) => step.ms));
  return html`<table class="timings"><caption class="visually-hidden">Time of each step</caption>
    <tbody>${steps.map(({ name, ms }) => html`<tr key=${name}>
      <th scope="row">${name}</th>
      <td><span class="bar" style=${{ width: `${Math.max(2, Math.round((ms / longest) * 100))}%` }}></span></td>
      <td class="number">${span(ms)}</td>
    </tr>`)}</tbody>
  </table>`;
}
