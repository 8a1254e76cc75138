// The browsers of the server's machine: which are there, which one is the default, and how to add more.
import { useState } from 'preact/hooks';
import { html } from '../html.js';
import { useInstallation } from '../browsers.js';
import { Copy, Empty, Waiting } from '../components.js';
import { count } from '../format.js';
import { Install } from './install.js';
import { Missing, useAnswer } from './read.js';

const SOURCES = {
  __proto__: null,
  default: 'The default',
  path: 'Found by its name',
  usual: 'Found in a usual place',
  added: 'Added by a command',
  folder: 'Found in a folder of --browsers',
  installed: 'Installed',
};

export function Browsers() {
  const { data, problem } = useAnswer('/browsers', {}, ({ type }) => type === 'browser.installed');
  const runs = useAnswer('/runs', {}, ({ type }) => type.startsWith('run.'));
  const server = useAnswer('/server'); // for the data folder; only administrators see it
  const standard = data?.data.find(({ source }) => source === 'default');
  const runningOf = (path) => (runs.data?.data || []).filter(({ browser }) => browser?.path === path).length;
  return html`<p class="lead">Profiles that name no version run with the default browser${standard ? html`, <strong>${standard.product} ${standard.version}</strong>` : ''}. It is the first one found, or the one of <code>warren serve --browser PATH</code>. Profiles that name a version run with the nearest one that is here.</p>
    <${Missing} problem=${problem} what="the browsers" scope="read" />
    ${!data && !problem && html`<${Waiting} />`}
    ${data?.data.length === 0 && html`<${Empty} title="No browser on the server" drawing=${false}><p>Nothing can start until there is one. Install one below, or install Chromium or Chrome with the system’s packages.</p><//>`}
    ${data?.data.length > 0 && html`<div class="table-box" tabindex="0" role="region" aria-label="List of browsers"><table class="plain-table"><thead><tr><th scope="col">Browser</th><th scope="col">Where from</th><th scope="col" class="is-number">Running</th><th scope="col">Path</th></tr></thead>
      <tbody>${data.data.map(({ path, product, version, source }) => html`<tr key=${path}>
        <th scope="row"><span class="with-mark">${product} <span class="number">${version}</span>${source === 'default' && html`<span class="mark">Default</span>`}</span></th>
        <td class="no-wrap">${SOURCES[source] || source}</td><td class="is-number">${runningOf(path) || html`<span class="muted">–</span>`}</td><td class="wide-cell"><code class="path">${path}</code></td></tr>`)}</tbody></table></div>
      <p class="visually-hidden" role="status">${count(data.data.length, 'browser')}</p>`}
    <${Commands} folder=${server.data?.dataFolder} />`;
}

// Commands shows what to type on the server, after the form for who may install here. A browser is a program that the server runs: only who may write its
// data folder can name one.
function Commands({ folder }) {
  const state = useInstallation();
  const here = state && !state.refused;
  const [version, setVersion] = useState('');
  const wanted = /^\d{2,3}(?:\.\d+){0,3}$/.test(version.trim()) ? version.trim() : '131';
  const data = folder ? ` --data ${quoted(folder)}` : '';
  return html`${here && html`<section class="settings-part"><h2>Install a version</h2>
      <p class="muted">The build is Chrome for Testing. The server downloads it, verifies it and keeps it in its data folder. Nothing of one that fails stays.</p><${Install} /></section>`}
    <section class="settings-part"><h2>${here ? 'With commands' : 'Install another version'}</h2>
    <p class="muted">A browser is a program that the server runs. ${here ? 'So only somebody with access to the server’s machine can name one that is there already, or remove one.' : state?.refused.code === 'installation_not_allowed' ? 'This server is set to install none from here. Somebody with access to its machine can, with these commands.' : 'Administrators of all workspaces can install one here. Others need access to the server’s machine, and these commands.'} The server sees it within ten seconds.</p>
    ${!here && html`<label class="inline-field"><span>Version</span><input type="text" inputmode="decimal" class="mono" value=${version} placeholder="131" maxlength="20" onInput=${(event) => setVersion(event.currentTarget.value)} aria-describedby="version-hint" /></label>
    <p class="hint" id="version-hint">A major version such as 131, or a build such as 131.0.6778.204. Builds are Chrome for Testing, downloaded from Google and verified.</p>
      <${Command} label="Install it" text=${`warren browser install ${wanted}${data}`} />`}
    <${Command} label="Use a browser that is on the machine already" text=${`warren browser add /path/to/chrome${data}`} />
    <${Command} label="Remove one" text=${`warren browser remove ${wanted}${data}`} />
    </section>`;
}

export function Command({ label, text }) {
  return html`<div class="copy-line"><span class="copy-label">${label}</span><code tabindex="0">${text}</code><${Copy} text=${text} label=${`Copy: ${label}`} /></div>`;
}

function quoted(text) {
  return /^[\w:/.~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
