// The running browsers: each one's exit, identity and usage, as rows or as a wall of pictures.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.js';
import { connect, stop } from '../actions.js';
import { useApp, useNow } from '../app-context.js';
import { NoBrowser, useNoStart } from '../browsers.js';
import { Empty, Name, Temporary } from '../components.js';
import { Country } from '../flag.js';
import { bytes, count, lasting, moment, number } from '../format.js';
import { Grid, GridProblem } from '../grid/grid.js';
import { ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList, useSort } from '../grid/use.js';
import { Icon } from '../icons.js';
import { ProfileDrawer, Tile } from '../lazy.js';
import { recall, remember } from '../memory.js';
import { nodeColumn, useSeveral } from '../nodes.js';
import { Preview, viewOf } from '../preview.js';
import { ProfileBulk } from '../profiles/bulk.js';
import { onProfileEvent, RowActions } from '../profiles/page.js';
import { href } from '../route.js';
import { SearchBox } from '../searchbox.js';
import { Store, useStore } from '../store.js';
import { SYSTEMS } from '../words.js';
import { diskWords, usageWords } from './usage.js';

const USAGE_MS = 5000;
const NOTHING = html`<span class="muted not-in-card">–</span>`;

// useUsage reads the usage of each run, by profile, every few seconds while the page is visible.
function useUsage(api) {
  const [usage] = useState(() => new Store(new Map()));
  useEffect(() => {
    const ending = new AbortController();
    let timer = 0;
    const read = async () => {
      clearTimeout(timer);
      if (!document.hidden) {
        const answer = await api.get('/runs', {}, { signal: ending.signal }).catch(() => null); // keeps the old figures
        if (ending.signal.aborted) return;
        if (answer) usage.set(new Map(answer.data.map((run) => [run.profileId, run.usage])));
      }
      clearTimeout(timer);
      timer = setTimeout(read, USAGE_MS);
    };
    const visible = () => document.hidden || read();
    read();
    document.addEventListener('visibilitychange', visible);
    return () => {
      ending.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', visible);
    };
  }, [api]);
  return usage;
}

function runColumns(usage, open, several) {
  return [
    { id: 'name', label: 'Profile', min: 200, grow: 2, sort: 'name', first: 'asc', always: true, draw: (profile) => html`${profile.status === 'running' && html`<${Preview} profile=${profile} />`}<button type="button" class="link title" title=${profile.name} onClick=${() => open(profile)}><${Name}>${profile.name}<//></button><${Temporary} of=${profile} />` },
    { id: 'exit', label: 'Exit', min: 150, grow: 1.2, rank: 1, card: true, draw: ({ run }) => html`<${Exit} run=${run || {}} />` },
    { id: 'for', label: 'Running for', width: 122, sort: 'lastStartedAt', rank: 2, card: true, draw: ({ run }) => html`<${For} run=${run} />` },
    { id: 'resources', label: 'Resources', width: 208, numeric: true, rank: 3, card: true, draw: ({ id }) => html`<${Resources} usage=${usage} id=${id} />` },
    { id: 'traffic', label: 'Traffic', width: 160, numeric: true, rank: 5, draw: ({ id }) => html`<${Traffic} usage=${usage} id=${id} />` },
    { id: 'disk', label: 'Disk', width: 190, rank: 9, hidden: true, draw: ({ id }) => html`<${Disk} usage=${usage} id=${id} />` },
    { id: 'clients', label: 'Clients', width: 112, rank: 4, draw: ({ id }) => html`<${Clients} usage=${usage} id=${id} />` },
    ...(several ? [nodeColumn(5)] : []),
    { id: 'identity', label: 'Identity', min: 150, grow: 1, rank: 6, draw: ({ run }) => html`<${Identity} effective=${run?.effective} />` },
    { id: 'isolation', label: 'Isolation', width: 148, rank: 7, draw: ({ run }) => html`<${Isolation} isolation=${run?.isolation} />` },
    { id: 'browser', label: 'Browser', width: 190, rank: 8, hidden: true, draw: ({ run }) => (run?.browser ? html`<span class="one-line">${run.browser.product} ${run.browser.version}${run.headless ? ', headless' : ''}</span>` : NOTHING) },
    { id: 'pid', label: 'Process', width: 92, numeric: true, rank: 9, hidden: true, draw: ({ run }) => run?.pid ?? NOTHING },
  ];
}

function Exit({ run }) {
  if (!run.proxy) return html`<span class="muted">No proxy</span>`;
  return html`<span class="with-flag"><${Country} code=${run.proxy.country} /> ${run.proxy.exitIp ? html`<span class="number">${run.proxy.exitIp}</span>` : html`<span class="muted">Not known yet</span>`}</span>`;
}

function For({ run }) {
  const now = useNow();
  return run?.startedAt ? html`<time class="number" datetime=${run.startedAt} title=${moment(run.startedAt)}>${lasting(run.startedAt, now)}</time>` : NOTHING;
}

function Resources({ usage, id }) {
  const now = useStore(usage).get(id);
  if (!now) return NOTHING;
  const { words, more, near } = usageWords(now);
  return html`<span class=${near ? 'one-line bad-text' : 'one-line'} title=${more}>${words || '–'}</span>`;
}

function Disk({ usage, id }) {
  const { readBytes: read, writeBytes: written } = useStore(usage).get(id) || {};
  return read == null && written == null ? NOTHING : html`<span class="one-line" title="Read from disks and written to them, since the start">${diskWords(read, written)}</span>`;
}

function Traffic({ usage, id }) {
  const { bytesUp: up, bytesDown: down } = useStore(usage).get(id) || {};
  return up == null && down == null ? NOTHING : html`<span class="one-line">↓ ${bytes(down || 0)} ↑ ${bytes(up || 0)}</span>`;
}

function Clients({ usage, id }) {
  const { clients = 0, viewers = 0 } = useStore(usage).get(id) || {};
  const words = [clients > 0 && count(clients, 'client'), viewers > 0 && count(viewers, 'viewer')].filter(Boolean);
  return words.length ? html`<span class="two-lines">${words.map((one) => html`<span class="one-line" key=${one}>${one}</span>`)}</span>` : NOTHING;
}

function Identity({ effective }) {
  if (!effective?.os) return NOTHING;
  const { os, browserVersion, timezone, locale } = effective;
  return html`<span class="two-lines"><span class="one-line">${SYSTEMS[os] || os} ${browserVersion}</span><span class="sub">${[timezone, [].concat(locale || [])[0]].filter(Boolean).join(' · ')}</span></span>`;
}

function Isolation({ isolation }) {
  if (!isolation) return NOTHING;
  const network = { __proto__: null, namespace: 'Own network', loopback: 'Own relay' }[isolation.network] || isolation.network;
  return html`<span class="two-lines"><span class="one-line">${network}</span><span class="sub">${isolation.files === 'namespace' ? 'Own files · ' : ''}${isolation.sandbox ? 'Sandbox on' : html`<span class="bad-text">Sandbox off</span>`}</span></span>`;
}

export function RunningPage({ params, path }) {
  const app = useApp();
  const workspaceId = useStore(app.model.workspace);
  const order = useSort(params, 'lastStartedAt');
  const [wall, setWall] = useState(() => recall('running.wall', false));
  const { rows, selection, view } = useList('/profiles', { status: 'running', search: params.get('search') || '', workspaceId, sort: order.sort, order: order.order }, onProfileEvent);
  const usage = useUsage(app.api);
  const open = (profile) => app.router.open(profile.id);
  const several = useSeveral();
  const columns = useColumns('running', () => runColumns(usage, open, several), several);
  const { total, atLeast } = view;
  const show = (on) => {
    setWall(on);
    remember('running.wall', on || null);
  };
  return html`<div class="page">
    <header class="page-head">
      <h1 tabindex="-1">Running ${total !== null && html`<span class="total number">${number(total, atLeast)}</span>`}</h1>
      ${(total > 0 || params.get('search')) && html`<div class="tools">
        <${SearchBox} value=${params.get('search') || ''} label="Search running profiles" change=${(search) => app.router.refine({ search }, { replace: true })} />
        <div class="segments" role="group" aria-label="Show as"><button type="button" class="segment-button" aria-pressed=${!wall} onClick=${() => show(false)}>List</button>
          <button type="button" class="segment-button" aria-pressed=${wall} onClick=${() => show(true)}>Wall</button></div>
        ${!wall && html`<${ViewMenu} columns=${columns} ...${order} />`}
      </div>`}
    </header>
    <${NoBrowser} />
    <${GridProblem} rows=${rows} />
    <div class="page-body">${total === 0 && !view.problem && html`<${NothingRuns} />`}
    ${total !== 0 && (wall ? html`<${Wall} rows=${rows} view=${view} />` : html`<${Grid} label="Running browsers" ...${{ rows, columns, selection, open }} ...${order} opened=${path[0]}
      what=${({ name }) => name} tone=${({ status }) => `is-${status}`} actionsWidth=${152} actions=${(profile) => html`<${RowActions} profile=${profile} rows=${rows} />`}
      keys=${{ s: (profile) => stop(app, profile, rows), v: (profile) => app.router.go(viewOf(profile.id)), c: (profile) => connect(app, profile, rows) }} />`)}
      ${path[0] && html`<${ProfileDrawer} key=${path[0]} id=${path[0]} tab=${path[1]} rows=${rows} />`}</div>
    <${ProfileBulk} ...${{ selection, rows, total: total ?? 0 }} />
  </div>`;
}

// Wall shows a live picture of each run.
function Wall({ rows, view }) {
  useEffect(() => rows.want(0, view.total ?? 0), [view.version]);
  return html`<ul class="wall" aria-label="Running browsers">${rows.loaded().map((profile) => html`<li key=${profile.id} class="wall-item" data-id=${profile.id}>
    <${Tile} profile=${profile} />
    <div class="wall-foot"><span class="wall-name"><${Country} code=${profile.run?.proxy?.country} bare /><${Name}>${profile.name}<//><${Temporary} of=${profile} /></span>
      <a class="icon-button" href=${viewOf(profile.id)} aria-label=${`View ${profile.name}`} title="View"><${Icon} name="eye" /></a></div></li>`)}</ul>`;
}

// NothingRuns offers what was started last.
function NothingRuns() {
  const app = useApp();
  const [last, setLast] = useState([]);
  useEffect(() => {
    app.api.get('/profiles', { sort: 'lastStartedAt', limit: 3, page: 1, neverStarted: false }).then(({ data }) => setLast(data), () => {});
  }, []);
  return html`<${Empty} title="Nothing is running"><p>Start a profile to see its browser here.</p>
    ${last.length > 0 && html`<ul class="last-started" aria-label="Started last">${last.map((profile) => html`<li key=${profile.id}><${StartAgain} profile=${profile} /></li>`)}</ul>`}
    <a class="button" href=${href('profiles')}>All profiles</a><//>`;
}

function StartAgain({ profile }) {
  const app = useApp();
  const busy = useStore(app.busy).has(profile.id);
  const why = useNoStart();
  return html`<button type="button" class="button" disabled=${Boolean(why)} title=${why || undefined} aria-disabled=${busy} onClick=${() => app.start(profile)}><${Icon} name="play" /><span>Start <bdi>${profile.name}</bdi></span></button>`;
}
