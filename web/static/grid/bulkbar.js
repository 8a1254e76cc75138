// The bar that appears while rows are chosen: how many, and what can be done with them.
import { html } from '../html.js';
import { number } from '../format.js';
import { Icon } from '../icons.js';
import { Menu } from '../menu.js';
import { useStore } from '../store.js';

// BulkBar shows actions {label, icon, run}, and more of them in a menu.
export function BulkBar({ selection, total, atLeast, what, actions, more }) {
  const { all } = useStore(selection.state);
  const size = selection.size(total);
  if (!size) return null;
  return html`<div class="bulk" role="region" aria-label="Selection">
    <p class="bulk-count" role="status"><strong class="number">${number(size, all && atLeast)}</strong> selected</p>
    ${!all && size < total && html`<button type="button" class="button quiet small" onClick=${() => selection.chooseAll()}>Select all ${number(total, atLeast)}</button>`}
    <span class="bulk-actions">${actions.map(({ label, icon, run, danger }) => html`<button type="button" key=${label} class=${`button small ${danger ? 'danger-quiet' : ''}`} onClick=${run}><${Icon} name=${icon} /><span>${label}</span></button>`)}
    ${more?.length > 0 && html`<${Menu} label="More actions for the selection" items=${more} class="button small" title="More"><${Icon} name="more" /><//>`}</span>
    <button type="button" class="icon-button" aria-label=${`Clear the selection of ${what}`} title="Clear (Esc)" onClick=${() => selection.clear()}><${Icon} name="close" /></button>
  </div>`;
}
