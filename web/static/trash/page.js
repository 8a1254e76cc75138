// The trash: deleted profiles, until they are restored or purged.
import { html } from '../html.js';
import { askToDestroy, restore } from '../actions.js';
import { useApp, useNow } from '../app-context.js';
import { Ago, Empty, Name, Tags } from '../components.js';
import { ConfirmDialog } from '../dialog.js';
import { count, keptFor, number } from '../format.js';
import { BulkBar } from '../grid/bulkbar.js';
import { chosenOf } from '../grid/chosen.js';
import { Grid, GridProblem } from '../grid/grid.js';
import { ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList, useSort } from '../grid/use.js';
import { Icon } from '../icons.js';
import { Menu } from '../menu.js';
import { batch } from '../profiles/bulk.js';
import { onProfileEvent } from '../profiles/page.js';
import { SearchBox } from '../searchbox.js';
import { useStore } from '../store.js';

const DAY_MS = 24 * 3600 * 1000;

const COLUMNS = [
  { id: 'name', label: 'Profile', min: 200, grow: 3, sort: 'name', first: 'asc', always: true, draw: ({ name }) => html`<span class="title"><${Name}>${name}<//></span>` },
  { id: 'tags', label: 'Tags', min: 130, grow: 1.3, rank: 4, draw: ({ tags }) => html`<${Tags} tags=${tags} />` },
  { id: 'deleted', label: 'Deleted', width: 130, rank: 1, card: true, draw: ({ trashedAt }) => html`<span class="in-card">Deleted </span><${Ago} time=${trashedAt} />` },
  { id: 'left', label: 'Days left', width: 100, numeric: true, rank: 2, card: true, draw: ({ trashedAt }) => html`<${DaysLeft} time=${trashedAt} />` },
  { id: 'workspace', label: 'Workspace', width: 130, rank: 5, draw: ({ workspaceId }) => html`<bdi class="one-line">${workspaceId}</bdi>` },
];

function DaysLeft({ time }) {
  const now = useNow();
  const kept = useStore(useApp().model.counts)?.trashDays;
  if (kept === undefined) return '–';
  const left = Math.max(0, Math.ceil(kept - (now - Date.parse(time)) / DAY_MS));
  return html`${left}<span class="in-card"> ${left === 1 ? 'day' : 'days'} left</span>`;
}

export function TrashPage({ params }) {
  const app = useApp();
  const workspaceId = useStore(app.model.workspace);
  const order = useSort(params, 'updatedAt');
  const search = params.get('search') || '';
  const { rows, selection, view } = useList('/profiles', { trashed: true, search, workspaceId, sort: order.sort, order: order.order }, onProfileEvent);
  const columns = useColumns('trash', () => COLUMNS);
  const { total, atLeast } = view;
  const summary = useStore(app.model.counts);
  return html`<div class="page">
    <header class="page-head"><h1 tabindex="-1">Trash ${total !== null && html`<span class="total number">${number(total, atLeast)}</span>`}</h1>
      ${(total > 0 || search) && html`<div class="tools"><${SearchBox} value=${search} label="Search the trash" change=${(text) => app.router.refine({ search: text }, { replace: true })} /><${ViewMenu} columns=${columns} ...${order} /></div>`}
      <p class="lead">Deleted profiles stay here${keptFor(summary)}, and are then deleted for good.</p></header>
    <${GridProblem} rows=${rows} />
    <div class="page-body">${total === 0 && !view.problem ? html`<${Empty} title=${search ? 'No matches' : 'The trash is empty'} />` : html`<${Grid} label="Deleted profiles" ...${{ rows, columns, selection }} ...${order}
      what=${({ name }) => name} actionsWidth=${140} actions=${(profile) => html`<${RowActions} profile=${profile} rows=${rows} />`} />`}</div>
    <${TrashBulk} ...${{ selection, rows, total: total ?? 0 }} />
  </div>`;
}

function RowActions({ profile, rows }) {
  const app = useApp();
  const busy = useStore(app.busy).has(profile.id);
  return html`<div class="actions">
    <button type="button" class="button small" aria-disabled=${busy} aria-label=${`Restore ${profile.name}`} onClick=${() => restore(app, profile, rows)}><${Icon} name="restore" />Restore</button>
    <${Menu} label=${`More for ${profile.name}`} items=${[{ label: 'Delete permanently', icon: 'trash', danger: true, run: () => askToDestroy(app, profile, rows) }]} /></div>`;
}

function TrashBulk({ selection, rows, total }) {
  const app = useApp();
  const begin = async () => {
    const items = await chosenOf(app.api, '/profiles', { selection, query: rows.query, name: ({ name }) => name });
    selection.clear();
    app.works.each({
      title: `Deleting ${count(items.length, 'profile')} permanently`, items, size: 4,
      call: (part) => Promise.all(part.map(({ id }) => app.api.delete(`/profiles/${encodeURIComponent(id)}`, { permanent: true }).then(() => ({ id }), (error) => ({ id, error })))),
    });
  };
  const destroy = () => app.open(ConfirmDialog, {
    title: `Delete ${count(selection.size(total), 'profile')} permanently?`, verb: 'Delete permanently', work: begin,
    children: html`<p>Their cookies, history and files are removed now. This cannot be undone.</p>`,
  });
  return html`<${BulkBar} selection=${selection} total=${total} atLeast=${rows.view.value.atLeast} what="profiles" actions=${[
    { label: 'Restore', icon: 'restore', run: () => batch(app, { selection, query: rows.query, total: selection.size(total), action: 'restore' }) },
    { label: 'Delete permanently', icon: 'trash', danger: true, run: destroy },
  ]} />`;
}
