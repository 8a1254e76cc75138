// The schedules: what is done at which times.
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Ago, Empty, Name, Status } from '../components.js';
import { ConfirmDialog } from '../dialog.js';
import { count, moment, number, soon, span } from '../format.js';
import { Grid } from '../grid/grid.js';
import { ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList } from '../grid/use.js';
import { Icon } from '../icons.js';
import { Menu } from '../menu.js';
import { SearchBox } from '../searchbox.js';
import { useStore } from '../store.js';
import { Missing } from './read.js';
import { ACTIONS_OF, leftOutWords, OUTCOMES, outcomeWords, ScheduleDialog } from './scheduleform.js';

const NOTHING = html`<span class="muted not-in-card">–</span>`;

const COLUMNS = [
  { id: 'name', label: 'Schedule', min: 150, grow: 2, always: true, draw: ({ name }) => html`<span class="title" title=${name}><${Name}>${name}<//></span>` },
  { id: 'what', label: 'What', min: 150, grow: 1.6, rank: 2, card: true, draw: (schedule) => html`<bdi class="one-line" title=${whatWords(schedule)}>${whatWords(schedule)}</bdi>` },
  { id: 'when', label: 'When', min: 130, grow: 1.2, rank: 4, draw: (schedule) => html`<bdi class="one-line" title=${whenWords(schedule)}>${whenWords(schedule)}</bdi>` },
  { id: 'next', label: 'Next', width: 142, rank: 3, card: true, draw: ({ nextRuns, enabled }) => (nextRuns.length ? html`<time class="number" datetime=${nextRuns[0]} title=${nextRuns.map(moment).join('\n')}>${soon(nextRuns[0])}</time>` : html`<span class="muted">${enabled ? 'Nothing' : 'Off'}</span>`) },
  { id: 'last', label: 'Last result', min: 130, grow: 1.2, rank: 1, card: true, draw: ({ lastRun }) => (lastRun ? html`<span class="one-line" title=${outcomeWords(lastRun)}><${Status} of=${OUTCOMES[lastRun.status] || OUTCOMES.failed} /></span>` : NOTHING) },
  { id: 'ran', label: 'Last run', width: 118, rank: 5, draw: ({ lastRun }) => (lastRun ? html`<span class="muted"><${Ago} time=${lastRun.at} /></span>` : NOTHING) },
  { id: 'left', label: 'Did not run', width: 104, numeric: true, rank: 6, draw: (schedule) => (schedule.missed + schedule.skipped ? html`<span title=${leftOutWords(schedule)}>${number(schedule.missed + schedule.skipped)}</span>` : NOTHING) },
  { id: 'workspace', label: 'Workspace', width: 130, rank: 7, draw: ({ workspaceId }) => html`<bdi class="one-line">${workspaceId}</bdi>` },
  { id: 'id', label: 'ID', width: 292, rank: 9, hidden: true, draw: ({ id }) => html`<span class="mono">${id}</span>` },
];

function whatWords({ action, tag, profileIds, proxyIds }) {
  const which = tag != null ? `tag ${tag}` : profileIds ? count(profileIds.length, 'profile') : count(proxyIds.length, 'proxy', 'proxies');
  return `${ACTIONS_OF.find(([value]) => value === action)?.[1] ?? action}: ${which}`;
}

function whenWords({ cron, timeZone, everyMs }) {
  return everyMs == null ? `${cron} (${timeZone})` : `Every ${span(everyMs)}`;
}

export function Schedules({ params }) {
  const app = useApp();
  const workspaceId = useStore(app.model.workspace);
  const search = params.get('search') || '';
  const { rows, selection, view } = useList('/schedules', { workspaceId, search }, ({ type }, list) => type.startsWith('schedule.') && list.changed(null, true));
  const columns = useColumns('schedules', () => COLUMNS);
  const { total, problem } = view;
  const reload = () => rows.reload().catch(() => {});
  const make = () => app.open(ScheduleDialog, { done: reload });
  const edit = (schedule) => app.open(ScheduleDialog, { schedule, done: reload });
  return html`
    <div class="settings-head"><p class="lead">A schedule starts, stops or keeps profiles, or checks proxies, while the server runs. It never overlaps itself.</p>
      <div class="tools">${(total > 0 || search) && html`<${SearchBox} value=${search} label="Search schedules" change=${(text) => app.router.refine({ search: text }, { replace: true })} /><${ViewMenu} columns=${columns} />`}
        <button type="button" class="button primary" onClick=${make}><${Icon} name="plus" /><span>New schedule</span></button></div></div>
    <${Missing} problem=${problem} what="the schedules" scope="read" />
    ${total === 0 && !problem ? html`<${Empty} title=${search ? 'No matches' : 'No schedules yet'} drawing=${false}>${!search && html`<p>With one, a profile can start each morning, or proxies can be checked at night.</p>`}<//>` : html`<div class="page-body"><${Grid} label="Schedules" ...${{ rows, columns, selection }} ticks=${false} open=${edit} what=${({ name }) => name}
      actionsWidth=${132} actions=${(schedule) => html`<div class="actions"><button type="button" class="button small" aria-label=${`Edit ${schedule.name}`} onClick=${() => edit(schedule)}><${Icon} name="edit" />Edit</button>
        <${Menu} label=${`More for ${schedule.name}`} items=${[{ label: schedule.enabled ? 'Switch off' : 'Switch on', icon: schedule.enabled ? 'stop' : 'play', run: () => turn(app, schedule, reload) }, { label: 'Delete', icon: 'trash', danger: true, run: () => askToDelete(app, schedule, reload) }]} /></div>`} /></div>`}
    <p class="visually-hidden" role="status">${total !== null && count(total, 'schedule')}</p>`;
}

async function turn(app, { id, name, enabled }, reload) {
  try {
    await app.api.put(`/schedules/${encodeURIComponent(id)}`, { enabled: !enabled });
    app.toasts.say({ text: `${name} is switched ${enabled ? 'off' : 'on'}.` });
  } catch (problem) {
    app.fail(`${name} was not changed`, problem);
  }
  await reload();
}

function askToDelete(app, schedule, reload) {
  app.open(ConfirmDialog, {
    title: 'Delete this schedule?',
    verb: 'Delete',
    work: async () => {
      await app.api.delete(`/schedules/${encodeURIComponent(schedule.id)}`).catch((problem) => { if (problem.status !== 404) throw problem; });
      app.toasts.say({ text: `Deleted the schedule ${schedule.name}.` });
      await reload();
    },
    children: html`<p><${Name}>${schedule.name}<//> does not run any more. What runs now goes on. This cannot be undone.</p>`,
  });
}
