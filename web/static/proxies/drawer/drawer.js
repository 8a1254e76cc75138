// One proxy beside the list.
import { html } from '../../html.js';
import { check } from '../../actions.js';
import { useApp } from '../../app-context.js';
import { CheckResult } from '../../checkresult.js';
import { Ago, Name, Status, Tags } from '../../components.js';
import { Drawer, Facts, useObject } from '../../drawer.js';
import { Country } from '../../flag.js';
import { address, count, proxyName } from '../../format.js';
import { Icon } from '../../icons.js';
import { ProxyForm } from '../../proxyform.js';
import { activityOf, href } from '../../route.js';
import { useStore } from '../../store.js';
import { PROXY_STATUS, PROXY_TYPES } from '../../words.js';
import { Checks } from './checks.js';
import { Profiles } from './profiles.js';
import { Rotate } from './rotate.js';
import { Secret } from './secret.js';
import { Traffic } from './traffic.js';

// ProxyDrawer shows a proxy. rows is the list beside it.
export function ProxyDrawer({ id, tab, rows }) {
  const object = useObject(`/proxies/${encodeURIComponent(id)}`, ({ type, data }) => type.startsWith('proxy.') && (!data?.id || data.id === id));
  const proxy = object.data || rows.find(id);
  const tabs = [
    { id: 'overview', label: 'Overview', draw: () => html`<${Overview} proxy=${proxy} />` },
    { id: 'checks', label: 'Checks', draw: () => html`<${Checks} proxy=${proxy} />` },
    { id: 'profiles', label: 'Profiles', draw: () => html`<${Profiles} proxy=${proxy} />` },
    { id: 'traffic', label: 'Traffic', draw: () => html`<${Traffic} proxy=${proxy} />` },
    { id: 'rotate', label: 'Rotate', draw: () => html`<${Rotate} proxy=${proxy} object=${object} />` },
  ];
  return html`<${Drawer} label="Proxy" title=${proxy ? html`<${Name}>${proxyName(proxy)}<//>` : 'Proxy'} tab=${tab} tabs=${tabs} problem=${object.problem} ready=${Boolean(proxy)}
    below=${proxy && html`<${Status} of=${PROXY_STATUS[proxy.status] || PROXY_STATUS.unknown} />${proxy.lastCheck?.ok && html`<${Country} code=${proxy.lastCheck.country} /><span class="number">${proxy.lastCheck.exitIp}</span>`}`}
    actions=${proxy && html`<${DrawerActions} proxy=${proxy} object=${object} />`} />`;
}

function DrawerActions({ proxy, object }) {
  const app = useApp();
  const busy = useStore(app.busy).has(proxy.id);
  const offline = useStore(app.offline);
  return html`<button type="button" class="button small" disabled=${offline || busy} onClick=${() => check(app, proxy)}><${Icon} name="pulse" />Check</button>
    <button type="button" class="button small" onClick=${() => app.open(ProxyForm, { proxy, done: (changed) => { object.reload(); if (changed.status === 'unknown') check(app, changed); } })}><${Icon} name="edit" />Edit</button>`;
}

function Overview({ proxy }) {
  return html`
    ${proxy.lastCheck && html`<section><h3>Last check, <${Ago} time=${proxy.lastCheck.checkedAt} /></h3><${CheckResult} result=${proxy.lastCheck} /></section>`}
    <${Facts} pairs=${[
      ['Type', PROXY_TYPES[proxy.type] || proxy.type],
      ['Address', html`<bdi class="mono">${address(proxy.host, proxy.port)}</bdi>`],
      ['User name', proxy.username && html`<bdi>${proxy.username}</bdi>`],
      ['Password', html`<${Secret} proxy=${proxy} />`],
      ['Profiles', proxy.profileCount > 0 ? html`<a href=${href('profiles', new URLSearchParams({ proxyId: proxy.id }))}>${count(proxy.profileCount, 'profile')}</a>` : 'Not used'],
      ['Uptime', proxy.uptime != null && `${Math.floor(proxy.uptime * 100)} %`],
      ['Tags', proxy.tags?.length > 0 && html`<${Tags} tags=${proxy.tags} most=${20} />`],
      ['Notes', proxy.notes && html`<bdi>${proxy.notes}</bdi>`],
      ['Created', html`<${Ago} time=${proxy.createdAt} />`],
      ['Workspace', html`<bdi>${proxy.workspaceId}</bdi>`],
      ['ID', html`<span class="mono">${proxy.id}</span>`],
      ['Activity', html`<a href=${activityOf(proxy.id)}>Who did what with it</a>`],
    ]} />`;
}
