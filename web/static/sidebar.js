// The sidebar: navigation, the workspace, and the state of the connection.
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Burrows, Icon, Logo } from './icons.js';
import { href } from './route.js';
import { useStore } from './store.js';

const PLACES = [
  { name: 'profiles', label: 'Profiles' },
  { name: 'proxies', label: 'Proxies' },
  { name: 'running', label: 'Running' },
  { name: 'trash', label: 'Trash' },
];

export function Sidebar({ route }) {
  const app = useApp();
  const running = useStore(app.model.running);
  return html`<aside class="side">
    <a class="brand" href=${href('profiles')}><${Logo} />Warren</a>
    <nav class="places" aria-label="Main">
      ${PLACES.map(({ name, label }) => html`<a key=${name} href=${href(name)} aria-current=${route.name === name ? 'page' : undefined}>
        <${Icon} name=${name} /><span>${label}</span>
        ${name === 'running' && running > 0 && html`<span class="badge">${running}</span>`}
      </a>`)}
    </nav>
    <${Workspaces} />
    <div class="side-foot">
      <${Connection} />
      <div class="side-links">
        <a href="docs"><${Icon} name="docs" /><span>API</span></a>
        <button type="button" onClick=${() => app.leave()}><${Icon} name="leave" /><span>Log out</span></button>
      </div>
      <${Version} />
    </div>
    <${Burrows} />
  </aside>`;
}

function Workspaces() {
  const { model } = useApp();
  const known = useStore(model.workspaces);
  const chosen = useStore(model.workspace);
  if (known.length < 2 && !chosen) return null;
  const options = chosen && !known.includes(chosen) ? [chosen, ...known] : known;
  return html`<label class="workspaces"><span>Workspace</span>
    <select aria-label="Workspace" value=${chosen} onChange=${(event) => model.chooseWorkspace(event.currentTarget.value)}>
      <option value="" selected=${chosen === ''}>All</option>
      ${options.map((id) => html`<option key=${id} value=${id} selected=${id === chosen}>${id}</option>`)}
    </select>
  </label>`;
}

const CONNECTION = {
  connecting: ['wait', 'Connecting'],
  live: ['good', 'Live'],
  lost: ['bad', 'Connection lost. Trying again…'],
  off: ['quiet', 'No live updates'],
};

function Connection() {
  const [tone, words] = CONNECTION[useStore(useApp().model.connection)];
  return html`<p class="connection status ${tone}" role="status"><span class="dot"></span><span>${words}</span></p>`;
}

function Version() {
  const [version, setVersion] = useState('');
  useEffect(() => {
    fetch('version')
      .then((response) => response.json())
      .then((answer) => setVersion(String(answer.version || '')))
      .catch(() => {}); // only decoration
  }, []);
  return version && html`<p class="version">warren ${version}</p>`;
}
