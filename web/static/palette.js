// The command palette: places, actions, profiles and proxies, found by typing.
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { connect, start, stop } from './actions.js';
import { useApp } from './app-context.js';
import { Country } from './flag.js';
import { proxyName } from './format.js';
import { Icon } from './icons.js';
import { viewOf } from './preview.js';
import { CloneDialog } from './profiles/clone.js';
import { href } from './route.js';
import { PROFILE_STATUS } from './words.js';

const PAUSE_MS = 120;
const FOUND = 6; // of each kind

// SETTINGS are the sections of the settings: [section, label, further words].
const SETTINGS = [
  ['keys', 'Keys', 'api token scope'], ['workspaces', 'Workspaces', 'rename quotas'], ['templates', 'Templates', 'defaults'], ['schedules', 'Schedules', 'cron'], ['webhooks', 'Webhooks', 'events secret deliveries'],
  ['browsers', 'Browsers', 'install chrome version'], ['extensions', 'Extensions', 'add package'], ['server', 'Server', 'version pressure disk backup doctor flags'], ['servers', 'Servers', 'nodes cluster drain'],
  ['activity', 'Activity', 'audit log events'], ['appearance', 'Appearance', 'theme dark light density columns'],
];

// commands are the page's own: {label, icon, words, run}. words are further words that find one.
function commands(app) {
  const go = (label, icon, name, params, words = '') => ({ label, icon, words, run: () => app.router.go(href(name, params)) });
  return [
    { label: 'New profile', icon: 'plus', words: 'create add', run: () => app.createProfile() },
    { label: 'Add proxies', icon: 'plus', words: 'a proxy new create import paste list file', run: () => app.createProxy() },
    go('Profiles', 'profiles', 'profiles'),
    go('Proxies', 'proxies', 'proxies'),
    go('Running browsers', 'running', 'running', undefined, 'runs'),
    go('Trash', 'trash', 'trash', undefined, 'deleted'),
    ...SETTINGS.filter(([section]) => section !== 'servers' || app.nodes.all.value.length > 1).map(([section, label, words]) => ({ label: `Settings: ${label}`, icon: 'settings', words, run: () => app.router.go(href('settings', undefined, [section])) })),
    go('Profiles with a dead proxy', 'warning', 'profiles', new URLSearchParams({ proxyStatus: 'dead' })),
    go('Failed profiles', 'warning', 'profiles', new URLSearchParams({ status: 'failed' })),
    go('Profiles never started', 'profiles', 'profiles', new URLSearchParams({ neverStarted: 'true' })),
    { label: 'Compact rows', icon: 'columns', words: 'density', run: () => app.setDensity('compact') },
    { label: 'Comfortable rows', icon: 'columns', words: 'density', run: () => app.setDensity('comfortable') },
    { label: 'Light theme', icon: 'settings', words: 'appearance dark', run: () => app.setTheme('light') },
    { label: 'Dark theme', icon: 'settings', words: 'appearance night', run: () => app.setTheme('dark') },
    { label: 'System theme', icon: 'settings', words: 'appearance', run: () => app.setTheme('system') },
    { label: 'API documentation', icon: 'docs', words: 'reference help openapi', run: () => location.assign('docs') },
    { label: 'Log out', icon: 'leave', words: 'sign out', run: () => app.logOut() },
  ];
}

function ofProfile(app, profile) {
  const running = profile.status === 'running';
  const clone = { label: 'Clone', run: () => app.open(CloneDialog, { profile }) };
  return {
    key: profile.id, label: profile.name, icon: 'profiles', note: profile.status === 'stopped' ? '' : PROFILE_STATUS[profile.status]?.text, group: 'Profiles',
    run: () => app.router.go(href('profiles', undefined, [profile.id])),
    more: running
      ? [{ label: 'View', run: () => app.router.go(viewOf(profile.id)) }, { label: 'Connect', run: () => connect(app, profile) }, { label: 'Stop', run: () => stop(app, profile) }, clone]
      : [{ label: 'Start', run: () => start(app, profile) }, clone],
  };
}

function ofProxy(app, proxy) {
  return { key: proxy.id, label: proxyName(proxy), icon: 'proxies', country: proxy.lastCheck?.country, note: proxy.status === 'dead' ? 'Dead' : '', group: 'Proxies',
    run: () => app.router.go(href('proxies', undefined, [proxy.id])), more: [{ label: 'Show profiles', run: () => app.router.go(href('profiles', new URLSearchParams({ proxyId: proxy.id }))) }] };
}

// Palette is the dialog. Enter runs the marked line, Tab goes to its further actions.
export function Palette({ close }) {
  const app = useApp();
  const box = useRef(null);
  const id = useId();
  const [text, setText] = useState('');
  const [found, setFound] = useState([]);
  const [at, setAt] = useState(0);
  useLayoutEffect(() => {
    box.current.showModal();
    return () => box.current?.close();
  }, []);
  useEffect(() => {
    setAt(0);
    const wanted = text.trim();
    if (!wanted) return setFound([]);
    const ending = new AbortController();
    const timer = setTimeout(async () => {
      const query = { search: wanted, limit: FOUND, page: 1, workspaceId: app.model.workspace.value };
      const [profiles, proxies] = await Promise.all(['/profiles', '/proxies'].map((path) => app.api.get(path, query, { signal: ending.signal }).catch(() => ({ data: [] }))));
      if (!ending.signal.aborted) setFound([...profiles.data.map((one) => ofProfile(app, one)), ...proxies.data.map((one) => ofProxy(app, one))]);
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [text]);
  const words = text.trim().toLowerCase();
  const own = commands(app).filter(({ label, words: more }) => !words || words.split(/\s+/).every((word) => `${label} ${more}`.toLowerCase().includes(word)));
  const lines = [...found, ...own.map((command) => ({ ...command, key: command.label, group: 'Commands' }))];
  const choose = (line) => {
    close();
    line?.run();
  };
  const press = (event) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (to !== undefined && lines.length) {
      event.preventDefault();
      setAt((to + lines.length) % lines.length);
    } else if (event.key === 'Enter' && event.target.tagName === 'INPUT') {
      event.preventDefault();
      choose(lines[at]);
    }
  };
  useEffect(() => box.current.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }), [at, lines.length]);
  return html`<dialog ref=${box} class="dialog palette" aria-label="Search and commands" closedby="any" onClose=${close} onKeyDown=${press}>
    <div class="palette-body">
      <div class="palette-field"><${Icon} name="search" /><input type="text" role="combobox" aria-expanded="true" aria-controls=${id} aria-activedescendant=${lines.length ? `${id}-${at}` : undefined} aria-label="Search and commands" placeholder="Search profiles, proxies and commands"
        value=${text} onInput=${(event) => setText(event.currentTarget.value)} spellcheck=${false} autocomplete="off" autofocus /></div>
      <ul class="palette-list" role="listbox" id=${id} aria-label="Results">
        ${lines.map((line, i) => html`${line.group !== lines[i - 1]?.group && html`<li role="presentation" class="palette-group">${line.group}</li>`}
          <li key=${line.key} id=${`${id}-${i}`} role="option" aria-selected=${i === at} class="palette-line" onMouseMove=${() => i !== at && setAt(i)} onClick=${() => choose(line)}>
            <${Icon} name=${line.icon} /><bdi class="palette-label">${line.label}</bdi><${Country} code=${line.country} />${line.note && html`<span class="muted">${line.note}</span>`}</li>`)}
        ${!lines.length && html`<li role="presentation" class="palette-none">No matches</li>`}
      </ul>
      ${lines[at]?.more && html`<div class="palette-foot">${lines[at].more.map((action) => html`<button type="button" key=${action.label} class="button small" onClick=${() => choose(action)}>${action.label}</button>`)}</div>`}
    </div></dialog>`;
}
