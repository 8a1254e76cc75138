// One profile beside the list.
import { html } from '../../html.js';
import { askToDelete, restart, stop } from '../../actions.js';
import { useApp } from '../../app-context.js';
import { Name, Status } from '../../components.js';
import { Drawer, useObject } from '../../drawer.js';
import { Country } from '../../flag.js';
import { Icon } from '../../icons.js';
import { Menu } from '../../menu.js';
import { viewOf } from '../../preview.js';
import { ProfileDialog } from '../../profileform.js';
import { activityOf } from '../../route.js';
import { useStore } from '../../store.js';
import { TemplateDialog } from '../../templateform.js';
import { PROFILE_STATUS } from '../../words.js';
import { ExportDialog } from '../archive/export.js';
import { CloneDialog } from '../clone.js';
import { Cookies } from '../cookies/cookies.js';
import { StartButton } from '../startbutton.js';
import { Connect } from './connect.js';
import { Data } from './data.js';
import { Identity } from './identity.js';
import { Network } from './network.js';
import { Overview } from './overview.js';
import { Runs } from './runs.js';
import { Share } from './share.js';
import { Snapshots } from './snapshots.js';
import { Tests } from './tests.js';

const TABS = [
  ['overview', 'Overview', Overview], ['identity', 'Identity', Identity], ['network', 'Network', Network], ['data', 'Data', Data],
  ['cookies', 'Cookies', Cookies, true],
  ['snapshots', 'Snapshots', Snapshots], ['runs', 'Runs', Runs], ['connect', 'Connect', Connect], ['share', 'Share', Share], ['tests', 'Tests', Tests],
];

// ProfileDrawer shows a profile. rows is the list beside it.
export function ProfileDrawer({ id, tab, rows }) {
  const path = `/profiles/${encodeURIComponent(id)}`;
  const object = useObject(path, ({ type, data }) => /^(profile|run)\./.test(type) && (data?.profileId || data?.id) === id);
  const profile = object.data || rows.find(id);
  const tabs = TABS.map(([name, label, Tab, wide]) => ({ id: name, label, wide, draw: () => html`<${Tab} ...${{ profile, path, object, rows }} />` }));
  const exit = profile?.run?.proxy;
  const there = profile && object.problem?.status !== 404; // else it was deleted meanwhile, as temporary ones are
  return html`<${Drawer} label="Profile" title=${profile ? html`<${Name}>${profile.name}<//>` : 'Profile'} tab=${tab} tabs=${tabs} problem=${object.problem} ready=${Boolean(there)}
    below=${there && html`<${Status} of=${PROFILE_STATUS[profile.status] || { text: profile.status, tone: 'quiet' }} />${exit && html`<${Country} code=${exit.country} /><span class="number">${exit.exitIp}</span>`}`}
    note=${there && profile.temporary && html`<${KeepIt} ...${{ profile, path, rows, object }} />`}
    actions=${there && html`<${DrawerActions} ...${{ profile, rows, object }} />`} />`;
}

function DrawerActions({ profile, rows, object }) {
  const app = useApp();
  const busy = useStore(app.busy).has(profile.id);
  const offline = useStore(app.offline);
  const running = profile.status === 'running';
  const edit = () => app.open(ProfileDialog, { profile, done: (changed) => { rows.patch(profile.id, changed); object.reload(); } });
  return html`
    ${running
      ? html`<a class="button small" href=${viewOf(profile.id)}><${Icon} name="eye" />View</a>
        <button type="button" class="button small" disabled=${offline || busy} onClick=${() => stop(app, profile, rows)}><${Icon} name="stop" />Stop</button>`
      : html`<${StartButton} ...${{ profile, rows }} small />`}
    <${Menu} label="More for this profile" items=${[
      { label: 'Edit', icon: 'edit', run: edit },
      { label: 'Clone', icon: 'copy', run: () => app.open(CloneDialog, { profile }) },
      { label: 'Export', icon: 'download', run: () => app.open(ExportDialog, { profiles: [profile] }) },
      { label: 'Save as a template', icon: 'bookmark', run: () => app.open(TemplateDialog, { profile }) },
      { label: 'Activity', icon: 'activity', run: () => app.router.go(activityOf(profile.id)) },
      running && { label: 'Restart', icon: 'reload', run: () => restart(app, profile) },
      'line',
      { label: 'Move to trash', icon: 'trash', danger: true, run: () => askToDelete(app, profile, rows) },
    ]} />`;
}

// KeepIt says that a temporary profile does not stay, and lets it stay.
function KeepIt({ profile, path, rows, object }) {
  const app = useApp();
  const busy = useStore(app.busy).has(profile.id);
  const offline = useStore(app.offline);
  const keep = () => app.during(profile.id, async () => {
    try {
      const { data, etag } = await app.api.full('PUT', path, { body: { temporary: false } });
      object.keep(data, etag);
      rows.patch(profile.id, data);
      document.querySelector('.drawer h2')?.focus(); // the button is gone
      app.toasts.say({ text: `${profile.name} is kept.`, tone: 'good' });
    } catch (problem) {
      app.fail(`${profile.name} is still temporary`, problem);
    }
  });
  return html`<p class="meanwhile"><span>Temporary: it is deleted with its data when its run ends.</span>
    <button type="button" class="button small" disabled=${offline || busy} onClick=${keep}>Keep it</button></p>`;
}
