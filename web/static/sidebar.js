// The sidebar: places with their counts, views, the workspace, and the state of the connection.
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { ConfirmDialog } from './dialog.js';
import { number } from './format.js';
import { Icon, Logo } from './icons.js';
import { recall, remember } from './memory.js';
import { FILTERS, isFiltered, VIEWS } from './profiles/filters.js';
import { href } from './route.js';
import { useStore } from './store.js';
import { SaveView } from './lazy.js';
import { sameView } from './views.js';

const PLACES = [
  { name: 'profiles', label: 'Profiles', count: ({ profiles }) => profiles.total },
  { name: 'proxies', label: 'Proxies', count: ({ proxies }) => proxies.total },
  { name: 'running', label: 'Running', count: ({ profiles }) => profiles.running },
  { name: 'trash', label: 'Trash', count: ({ profiles }) => profiles.trashed },
];

export function Sidebar({ route }) {
  const app = useApp();
  const counts = useStore(app.model.counts);
  const [narrow, setNarrow] = useState(() => recall('sidebar.narrow', false));
  const fold = () => {
    setNarrow(!narrow);
    remember('sidebar.narrow', narrow ? null : true);
  };
  return html`<aside class=${narrow ? 'side is-narrow' : 'side'}>
    <a class="brand" href=${href('profiles')} aria-label="Warren"><${Logo} /><span>Warren</span></a>
    <button type="button" class="find" onClick=${() => app.openPalette()} title="Search and commands" aria-keyshortcuts="Control+K"><${Icon} name="search" /><span>Search</span><kbd aria-hidden="true">Ctrl K</kbd></button>
    <nav class="places" aria-label="Main">
      ${PLACES.map(({ name, label, count }) => html`<a key=${name} href=${href(name)} title=${narrow ? label : undefined}
        aria-current=${route.name === name && !(name === 'profiles' && isFiltered(route.params)) ? 'page' : undefined}>
        <${Icon} name=${name} /><span>${label}</span>${counts && count(counts) > 0 && html`<span class=${name === 'running' ? 'badge is-live' : 'badge'}>${number(count(counts))}</span>`}</a>`)}
    </nav>
    <${Views} route=${route} counts=${counts} />
    <${Workspaces} />
    <div class="side-foot">
      <${Connection} />
      <nav class="places" aria-label="More">
        <a href=${href('settings')} title=${narrow ? 'Settings' : undefined} aria-current=${route.name === 'settings' ? 'page' : undefined}><${Icon} name="settings" /><span>Settings</span></a>
        <a href="docs" title=${narrow ? 'API' : undefined}><${Icon} name="docs" /><span>API</span></a>
        <button type="button" title=${narrow ? 'Log out' : undefined} onClick=${() => app.logOut()}><${Icon} name="leave" /><span>Log out</span></button>
        <button type="button" aria-expanded=${!narrow} title=${narrow ? 'Widen the sidebar' : undefined} onClick=${fold}><${Icon} name=${narrow ? 'widen' : 'collapse'} /><span>Collapse</span></button>
      </nav>
      <${Version} />
    </div>
  </aside>`;
}

// Views lists the views that everybody has and, below, the person's own.
function Views({ route, counts }) {
  const app = useApp();
  const own = useStore(app.views);
  const present = route.name === 'profiles' ? route.params : null;
  const unsaved = present && isFiltered(present) && ![...VIEWS, ...own].some((view) => sameView(view.params, present));
  const shown = VIEWS.filter(({ name }) => name !== 'running').map((view) => ({ ...view, count: counts?.profiles[view.counted] }));
  return html`<nav class="places views" aria-label="Views"><p class="side-title">Views</p>
    ${shown.map((view) => html`<${View} key=${view.name} view=${view} present=${present} tone=${['failed', 'dead'].includes(view.name) && view.count > 0 ? 'is-bad' : ''} />`)}
    ${own.map((view) => html`<${View} key=${`own ${view.label}`} view=${view} present=${present} drop=${() => app.dropView(view)} />`)}
    ${unsaved && html`<button type="button" onClick=${() => app.open(SaveView, { params: pick(present) })}><${Icon} name="plus" /><span>Save this view</span></button>`}
  </nav>`;
}

// short rounds a count that would leave a view's name no room.
function short(n) {
  return n < 100_000 ? number(n) : `${Math.round(n / 1000)}k`;
}

function pick(params) {
  return [...params].filter(([name]) => FILTERS.includes(name) || ['sort', 'order'].includes(name));
}

function View({ view, present, tone = '', drop }) {
  const app = useApp();
  const params = new URLSearchParams(view.params);
  const [counted, setCounted] = useState(null);
  const event = useStore(app.model.counts);
  useEffect(() => {
    if (view.count !== undefined || !drop) return;
    app.api.get('/profiles', { ...Object.fromEntries([...params.keys()].map((name) => [name, params.getAll(name)])), workspaceId: app.model.workspace.value, limit: 1, page: 1 })
      .then(({ total, totalIsExact }) => setCounted(number(total, totalIsExact === false)), () => {});
  }, [event]);
  const count = counted ?? (view.count > 0 ? short(view.count) : '');
  const ask = () => app.open(ConfirmDialog, { title: 'Remove this view?', verb: 'Remove', work: async () => drop(), children: html`<p><bdi>${view.label}</bdi> is removed from the sidebar. No profile changes.</p>` });
  return html`<span class="view"><a href=${href('profiles', params)} aria-current=${present && sameView(view.params, present) ? 'page' : undefined}><${Icon} name="bookmark" /><span><bdi>${view.label}</bdi></span>
    ${count !== '' && html`<span class=${`badge ${tone}`}>${count}</span>`}</a>
    ${drop && html`<button type="button" class="icon-button view-drop" aria-label=${`Remove the view ${view.label}`} onClick=${ask}><${Icon} name="close" /></button>`}</span>`;
}

function Workspaces() {
  const { model } = useApp();
  const known = useStore(model.workspaces);
  const chosen = useStore(model.workspace);
  if (known.length < 2 && !chosen) return null;
  const options = chosen && !known.includes(chosen) ? [chosen, ...known] : known;
  return html`<label class="workspaces"><span class="side-title">Workspace</span>
    <select aria-label="Workspace" value=${chosen} onChange=${(event) => model.chooseWorkspace(event.currentTarget.value)}>
      <option value="" selected=${chosen === ''}>All</option>
      ${options.map((id) => html`<option key=${id} value=${id} selected=${id === chosen}>${id}</option>`)}
    </select>
  </label>`;
}

const CONNECTION = {
  connecting: ['wait', 'Connecting'],
  live: ['good', 'Live'],
  lost: ['bad', 'Connection lost'],
  off: ['quiet', 'No live updates'],
};

function Connection() {
  const [tone, words] = CONNECTION[useStore(useApp().model.connection)];
  return html`<p class="connection status ${tone}" role="status"><span class="dot"></span><span>${words}</span></p>`;
}

function Version() {
  const version = useStore(useApp().model.counts)?.version;
  return version && html`<p class="version">warren ${version}</p>`;
}
