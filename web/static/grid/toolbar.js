// What stands above a grid: search, filters as chips, the columns, and the sort where there is no head.
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Icon } from '../icons.js';
import { Panel } from '../menu.js';
import { useStore } from '../store.js';

// A filter is {name, label, options | panel, text, many}: options are [value, words] pairs; panel draws the choice of a
// value, given {value, choose}; text returns a chip's words for a value; many lets several values stand.

// Chips shows the active filters, and the menu for more.
export function Chips({ filters, params }) {
  const { router } = useApp();
  const set = (name, value) => router.refine({ [name]: value });
  const active = filters.flatMap((filter) => params.getAll(filter.name).filter(Boolean).map((value) => ({ filter, value })));
  const drop = ({ filter, value }) => set(filter.name, params.getAll(filter.name).filter((other) => other !== value));
  const add = (filter, value) => set(filter.name, filter.many ? [...new Set([...params.getAll(filter.name), value])] : value);
  return html`<div class="chips" role="group" aria-label="Filters">
    ${active.map((one) => html`<span key=${`${one.filter.name}=${one.value}`} class="filter-chip"><span class="filter-chip-words"><span class="filter-chip-label">${one.filter.label}</span>
      <bdi>${one.filter.text ? one.filter.text(one.value) : wordsOf(one)}</bdi></span>
      <button type="button" class="filter-chip-drop" aria-label=${`Remove the filter ${one.filter.label}`} onClick=${() => drop(one)}><${Icon} name="close" /></button></span>`)}
    <${Panel} label="Add a filter" class="button quiet" face=${html`<${Icon} name="filter" /><span>Filter</span>`}>${(close) => html`<${FilterList} ...${{ filters, params, add, close }} />`}<//>
    ${active.length > 1 && html`<button type="button" class="button quiet" onClick=${() => router.refine(Object.fromEntries(filters.map(({ name }) => [name, ''])))}>Clear all</button>`}
  </div>`;
}

function wordsOf({ filter, value }) {
  return filter.options?.find(([one]) => one === value)?.[1] ?? value;
}

function FilterList({ filters, params, add, close }) {
  return html`<div class="filter-list">${filters.map((filter) => {
    const choose = (value) => { close(); if (value) add(filter, value); };
    const value = params.get(filter.name) || '';
    return html`<div class="filter-line" key=${filter.name}><span class="filter-name" id=${`f-${filter.name}`}>${filter.label}</span>
      ${filter.options
        ? html`<span class="filter-options" role="group" aria-labelledby=${`f-${filter.name}`}>${filter.options.map(([one, words]) => html`<button type="button" key=${one} class="chip-option" aria-pressed=${value === one} onClick=${() => choose(one)}>${words}</button>`)}</span>`
        : html`<${filter.panel} value=${value} choose=${choose} label=${filter.label} />`}</div>`;
  })}</div>`;
}

// FreeFilter is a filter's value as text, with suggestions.
export function FreeFilter({ suggestions = [], placeholder, pattern }) {
  return ({ choose, label }) => html`<form class="filter-free" onSubmit=${(event) => { event.preventDefault(); choose(new FormData(event.currentTarget).get('value').trim()); }}>
    <input name="value" aria-label=${label} placeholder=${placeholder} pattern=${pattern} required list=${`list-${label}`} autocomplete="off" spellcheck=${false} />
    <datalist id=${`list-${label}`}>${(typeof suggestions === 'function' ? suggestions() : suggestions).map((one) => html`<option key=${one} value=${one} />`)}</datalist>
    <button class="button small">Apply</button></form>`;
}

// ViewMenu chooses columns, density and, for cards, the order.
export function ViewMenu({ columns, sort, order, onSort }) {
  const app = useApp();
  const chosen = useStore(columns.chosen);
  const density = useStore(app.density);
  const hidden = columns.all.filter(({ id }) => !chosen.includes(id));
  const listed = [...chosen.map((id) => columns.all.find((column) => column.id === id)), ...hidden];
  return html`<span class="view-button"><${Panel} label="View: columns, order and density" class="button quiet" face=${html`<${Icon} name="columns" /><span>View</span>`}>${() => html`<div class="view-menu">
    <h2>Rows</h2>
    <div class="segments" role="group" aria-label="Row height">${[['compact', 'Compact'], ['comfortable', 'Comfortable']].map(([value, words]) => html`<button type="button" key=${value}
      class="segment-button" aria-pressed=${density === value} onClick=${() => app.setDensity(value)}>${words}</button>`)}</div>
    ${onSort && html`<h2>Sort</h2>
    <div class="sort-line"><select aria-label="Sort by" value=${sort} onChange=${(event) => onSort(event.currentTarget.value, order)}>
      ${columns.all.filter((column) => column.sort).map((column) => html`<option key=${column.sort} value=${column.sort} selected=${column.sort === sort}>${column.label}</option>`)}</select>
      <button type="button" class="icon-button" aria-label=${order === 'asc' ? 'Ascending' : 'Descending'} title=${order === 'asc' ? 'Ascending' : 'Descending'}
        onClick=${() => onSort(sort, order === 'asc' ? 'desc' : 'asc')}><${Icon} name=${order === 'asc' ? 'up' : 'down'} /></button></div>`}
    <h2>Columns</h2>
    <ul class="column-list">${listed.map((column, i) => html`<li key=${column.id}>
      <label class="tick"><input type="checkbox" checked=${chosen.includes(column.id)} disabled=${column.always} onChange=${(event) => columns.show(column.id, event.currentTarget.checked)} /> ${column.label}</label>
      <button type="button" class="icon-button" aria-label=${`Move ${column.label} left`} disabled=${i === 0 || !chosen.includes(column.id)} onClick=${() => columns.move(column.id, -1)}><${Icon} name="up" /></button>
      <button type="button" class="icon-button" aria-label=${`Move ${column.label} right`} disabled=${i >= chosen.length - 1} onClick=${() => columns.move(column.id, 1)}><${Icon} name="down" /></button>
    </li>`)}</ul>
    <button type="button" class="button small" onClick=${() => columns.reset()}>Reset columns</button>
  </div>`}<//></span>`;
}

