// What the server explains about a profile: what contradicts its exit, what pages see, and what they can detect.
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { useObject } from '../../drawer.js';
import { moment, sentence } from '../../format.js';
import { SYSTEMS } from '../../words.js';
import { isOf } from './use.js';

// useExplain reads the explanation, and keeps it current.
export function useExplain(profile, path) {
  return useObject(`${path}/explain`, (event) => isOf(profile.id, event) || /^proxy\.(updated|checked|all_checked)$/.test(event.type));
}

const FINDINGS = {
  __proto__: null,
  timezone_mismatch: ['The timezone doesn’t match the proxy.', 'The timezone'],
  locale_mismatch: ['The languages don’t match the proxy.', 'The language list'],
  geolocation_mismatch: ['The location doesn’t match the proxy.', 'The location'],
  exit_unknown: ['Where the proxy comes out is not known.', ''],
};

// findingWords returns a finding's title, what it found and what to do. The API's text is a sentence without its subject.
export function findingWords({ code, message }) {
  const [title, subject] = FINDINGS[code] || ['Something contradicts the proxy.', 'The profile'];
  if (code === 'exit_unknown') return { title, text: 'Nothing can be compared with it. Check the proxy, or let the profile start with a warning.' };
  return { title, text: sentence(`${subject} ${message}`.replace(/Set it to auto,? or to/, 'Choose “Match the proxy”, or')) };
}

export function Findings({ profile, findings }) {
  const { router } = useApp();
  return html`<ul class="findings">${findings.map((finding) => {
    const { title, text } = findingWords(finding);
    return html`<li key=${finding.code}><strong>${title}</strong> ${text} <a href=${router.beside(profile.id, finding.code === 'exit_unknown' ? 'network' : 'identity')}>${finding.code === 'exit_unknown' ? 'Open Network' : 'Open Identity'}</a></li>`;
  })}</ul>`;
}

const SETTINGS = [
  ['os', 'System'], ['browserVersion', 'Browser version'], ['timezone', 'Timezone'], ['locale', 'Languages'], ['geolocation', 'Location'], ['screen', 'Screen'], ['webrtc', 'WebRTC'],
];

const SOURCES = { __proto__: null, profile: 'Set here', template: 'From the template', workspace: 'From the workspace', exit: 'From the proxy', host: 'From this computer', default: 'Default' };

const WEBRTC = { __proto__: null, proxy_only: 'Through the proxy only', off: 'Off', default: 'As Chrome does' };

function valueWords(name, value) {
  if (value === null || value === undefined || value.length === 0) return 'Default';
  if (name === 'os') return SYSTEMS[value] || value;
  if (name === 'webrtc') return WEBRTC[value] || value;
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value !== 'object') return value === 'off' ? 'Blocked' : String(value);
  if (value.width) return `${value.width} × ${value.height}${value.deviceScaleFactor ? ` × ${value.deviceScaleFactor}` : ''}`;
  return [value.latitude, value.longitude].join(', ');
}

// detailWords rewords why a value is as it is: dates and systems as people write them, the form's own words, and no names of the API's.
function detailWords(text = '') {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, moment).replace(/\bis auto\b/, 'is set to match the proxy')
    .replace(/ See `differences`\./, '').replace(/machine's own is (\w+)/, (_, os) => `machine’s own is ${SYSTEMS[os] || os}`).replace(/'/g, '’');
}

// Effective is the table of what pages see, and where each value is from.
export function Effective({ effective, full }) {
  return html`<table class="plain-table is-words"><thead><tr><th scope="col">Setting</th><th scope="col">Pages see</th><th scope="col">From</th></tr></thead>
    <tbody>${SETTINGS.filter(([name]) => effective[name]).map(([name, label]) => html`<tr key=${name}><th scope="row">${label}</th><td><bdi>${valueWords(name, effective[name].value)}</bdi>${full && effective[name].detail && html`<span class="sub-words">${detailWords(effective[name].detail)}</span>`}</td>
      <td class="muted" title=${detailWords(effective[name].detail)}>${SOURCES[effective[name].source] || effective[name].source}</td></tr>`)}</tbody></table>`;
}

// WARNINGS are the page's own words for warnings that speak of the API.
const WARNINGS = {
  __proto__: null,
  emulated: 'The browser on this machine is of another system or version than the profile declares. Sites that look closely can tell. The Tests tab shows how.',
  fallback_left_out: 'Not every fallback proxy can be used, since no check has found their countries. Check them, or allow fallbacks in any country (Network).',
};

// warningWords returns a run's warnings that the findings do not say already, in the page's words.
export function warningWords(warnings, findings) {
  return warnings.filter(({ code }) => code !== 'identity_mismatch' || !findings.length).map(({ code, message }) => ({
    code, text: WARNINGS[code] || sentence(detailWords(message)),
  }));
}
