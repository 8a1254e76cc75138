// One profile beside the list.
import { html } from '../../html.js';
import { connect, start, stop } from '../../actions.js';
import { useApp } from '../../app-context.js';
import { Name, Status } from '../../components.js';
import { Drawer, useObject } from '../../drawer.js';
import { Country } from '../../flag.js';
import { Icon } from '../../icons.js';
import { viewOf } from '../../preview.js';
import { useStore } from '../../store.js';
import { PROFILE_STATUS } from '../../words.js';
import { Overview } from './overview.js';

// ProfileDrawer shows a profile. rows is the list beside it.
export function ProfileDrawer({ id, tab, rows }) {
  const object = useObject(`/profiles/${encodeURIComponent(id)}`, ({ type, data }) => /^(profile|run)\./.test(type) && (data?.profileId || data?.id) === id);
  const profile = object.data || rows.find(id);
  const tabs = [
    { id: 'overview', label: 'Overview', draw: () => html`<${Overview} profile=${profile} rows=${rows} />` },
  ];
  const exit = profile?.run?.proxy;
  return html`<${Drawer} label="Profile" title=${profile ? html`<${Name}>${profile.name}<//>` : 'Profile'} tab=${tab} tabs=${tabs} problem=${object.problem} ready=${Boolean(profile)}
    below=${profile && html`<${Status} of=${PROFILE_STATUS[profile.status] || { text: profile.status, tone: 'quiet' }} />${exit && html`<${Country} code=${exit.country} /><span class="number">${exit.exitIp}</span>`}`}
    actions=${profile && html`<${DrawerActions} profile=${profile} rows=${rows} />`} />`;
}

function DrawerActions({ profile, rows }) {
  const app = useApp();
  const busy = useStore(app.busy).has(profile.id);
  const offline = useStore(app.offline);
  const running = profile.status === 'running';
  if (running) {
    return html`<a class="button small" href=${viewOf(profile.id)}><${Icon} name="eye" />View</a>
      <button type="button" class="button small" disabled=${offline || busy} onClick=${() => connect(app, profile, rows)}><${Icon} name="plug" />Connect</button>
      <button type="button" class="button small" disabled=${offline || busy} onClick=${() => stop(app, profile, rows)}><${Icon} name="stop" />Stop</button>`;
  }
  return html`<button type="button" class="button small primary" disabled=${offline || busy || ['starting', 'stopping'].includes(profile.status)} onClick=${() => start(app, profile, rows)}><${Icon} name="play" />Start</button>`;
}
