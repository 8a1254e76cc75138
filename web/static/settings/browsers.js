// The browsers of the server's machine: which are there, which one is the default, and how to add more.
import { useState } from 'preact/hooks';
import { html } from '../html.js';
import { Copy, Empty, Waiting } from '../components.js';
import { count } from '../format.js';
import { Missing, useAnswer } from './read.js';

const SOURCES = {
  __proto__: null,
  default: 'The default',
  path: 'Found by its name',
  usual: 'Found in a usual place',
  added: 'Added by a command',
  folder: 'Found in a folder of --browsers',
  installed: 'Installed by a command',
};

export function Browsers() {
  const { data, problem } = useAnswer('/browsers');
  const runs = useAnswer('/runs', {}, ({ type }) => type.startsWith('run.'));
  const server = useAnswer('/server'); // for the data folder; only administrators see it
  const runningOf = (path) => (runs.data?.data || []).filter(({ browser }) => browser?.path === path).length;
  return html`<p class="lead">Profiles that name no version run with the default browser. The others run with the nearest version that is here.</p>
    <${Missing} problem=${problem} what="the browsers" scope="read" />
    ${!data && !problem && html`<${Waiting} />`}
    ${data?.data.length === 0 && html`<${Empty} title="No browser on the server" drawing=${false}><p>Nothing can start until there is one. Install one with the command below, or install Chromium or Chrome with the system’s packages.</p><//>`}
    ${data?.data.length > 0 && html`<div class="table-box" tabindex="0" role="region" aria-label="List of browsers"><table class="plain-table"><thead><tr><th scope="col">Browser</th><th scope="col">Where from</th><th scope="col" class="is-number">Running</th><th scope="col">Path</th></tr></thead>
      <tbody>${data.data.map(({ path, product, version, source }) => html`<tr key=${path}>
        <th scope="row"><span class="with-mark">${product} <span class="number">${version}</span>${source === 'default' && html`<span class="mark">Default</span>`}</span></th>
        <td class="no-wrap">${SOURCES[source] || source}</td><td class="is-number">${runningOf(path) || html`<span class="muted">–</span>`}</td><td class="wide-cell"><code class="path">${path}</code></td></tr>`)}</tbody></table></div>
      <p class="visually-hidden" role="status">${count(data.data.length, 'browser')}</p>`}
    <${Commands} folder=${server.data?.dataFolder} />`;
}

// Commands shows what to type on the server. A browser is a program that the server runs: only who may write its data folder can name one.
function Commands({ folder }) {
  const [version, setVersion] = useState('');
  const wanted = /^\d{2,3}(?:\.\d+){0,3}$/.test(version.trim()) ? version.trim() : '131';
  const data = folder ? ` --data ${quoted(folder)}` : '';
  return html`<section class="settings-part"><h2>Install another version</h2>
    <p class="muted">A browser is a program that the server runs. So only somebody with access to the server’s machine can add one, with these commands. The server sees it within ten seconds.</p>
    <label class="inline-field"><span>Version</span><input type="text" inputmode="decimal" class="mono" value=${version} placeholder="131" maxlength="20" onInput=${(event) => setVersion(event.currentTarget.value)} aria-describedby="version-hint" /></label>
    <p class="hint" id="version-hint">A major version such as 131, or a build such as 131.0.6778.204. Builds are Chrome for Testing, downloaded from Google and verified.</p>
    <${Command} label="Install it" text=${`warren browser install ${wanted}${data}`} />
    <${Command} label="Use a browser that is on the machine already" text=${`warren browser add /path/to/chrome${data}`} />
    <${Command} label="Remove one" text=${`warren browser remove ${wanted}${data}`} />
    <p class="hint">The default browser is the first one found, or the one that <code>warren serve --browser PATH</code> names.</p></section>`;
}

export function Command({ label, text }) {
  return html`<div class="copy-line"><span class="copy-label">${label}</span><code tabindex="0">${text}</code><${Copy} text=${text} label=${`Copy: ${label}`} /></div>`;
}

function quoted(text) {
  return /^[\w:/.~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
