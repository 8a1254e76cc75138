// The trash: deleted profiles, until they are restored or purged.
import { html } from './html.js';
import { askToDestroy, restore } from './actions.js';
import { useApp } from './app-context.js';
import { Ago, Empty, Name, Pager, ProblemBox, Tags, Waiting } from './components.js';
import { number } from './format.js';
import { Icon } from './icons.js';
import { PAGE_SIZE } from './list.js';
import { useProfiles } from './profiles.js';
import { useStore } from './store.js';

export function TrashPage({ params }) {
  const app = useApp();
  const page = Math.max(1, Number(params.get('page')) || 1);
  const { list, view } = useProfiles({ page, trashed: true });
  const { rows, total, atLeast, more, problem } = view;
  return html`
    <header class="page-head"><h1 tabindex="-1">Trash ${rows && html`<span class="total">${number(total, atLeast)}</span>`}</h1>
      <p class="lead">Deleted profiles stay here for some weeks with all their data.</p></header>
    <${ProblemBox} problem=${problem}><button type="button" class="button small" onClick=${() => list.reload()}>Try again</button><//>
    ${!rows && !problem && html`<${Waiting} />`}
    ${rows?.length > 0 && html`<table class="table trash" role="table">
      <caption class="visually-hidden">Deleted profiles</caption>
      <thead role="rowgroup"><tr role="row">
        ${['Profile', 'Tags', 'Deleted'].map((name) => html`<th key=${name} role="columnheader" scope="col">${name}</th>`)}
        <th role="columnheader" scope="col"><span class="visually-hidden">Actions</span></th>
      </tr></thead>
      <tbody role="rowgroup">${rows.map((profile) => html`<${TrashRow} key=${profile.id} profile=${profile} list=${list} />`)}</tbody>
    </table>`}
    ${rows?.length === 0 && !problem && html`<${Empty} title="The trash is empty" />`}
    ${rows && html`<${Pager} page=${page} size=${PAGE_SIZE} shown=${rows.length} ...${{ more, total, atLeast }} go=${(to) => app.router.refine({ page: to > 1 ? String(to) : '' })} />`}`;
}

function TrashRow({ profile, list }) {
  const app = useApp();
  const busy = useStore(app.busy).has(profile.id);
  return html`<tr role="row">
    <td role="cell" class="cell-main"><span class="title"><${Name}>${profile.name}<//></span><span class="sub">${profile.workspaceId}</span></td>
    <td role="cell" class="cell-tags"><${Tags} tags=${profile.tags} /></td>
    <td role="cell" data-label="Deleted"><${Ago} time=${profile.trashedAt} /></td>
    <td role="cell" class="cell-actions"><div class="actions">
      <button type="button" class="button small" aria-disabled=${busy} aria-label=${`Restore ${profile.name}`} onClick=${() => restore(app, profile, list)}><${Icon} name="restore" />Restore</button>
      <button type="button" class="button small danger-quiet" aria-disabled=${busy} aria-label=${`Delete for good: ${profile.name}`} onClick=${() => askToDestroy(app, profile, list)}>Delete for good</button>
    </div></td>
  </tr>`;
}
