// The grid: a long list as rows of cells, or as cards where it is narrow. Only the rows in view are drawn.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { ProblemBox } from '../components.js';
import { Icon } from '../icons.js';
import { useStore } from '../store.js';
import { fitting } from './columns.js';
import { useScroll } from './scroll.js';

const CARDS_BELOW = 720; // pixels of the grid's own width
const ROW = { compact: 44, comfortable: 52 }; // pixels
const CARD = 92;

// Grid shows rows (rows.js) with columns (columns.js). `actions` draws a row's buttons in `actionsWidth` pixels. `open`
// opens a row, `opened` is the id of the open one, `tone` returns a row's class. `keys` maps a key to an action on a row.
// Without `ticks` no row can be chosen.
export function Grid({ label, rows, columns, selection, sort, order, onSort, actions, actionsWidth = 120, open, opened, tone = () => '', keys = {}, what, ticks = true }) {
  const app = useApp();
  const box = useRef(null);
  const { width, height } = useSize(box);
  const view = useStore(rows.view);
  const chosenColumns = useStore(columns.chosen);
  const chosen = useStore(selection.state);
  const density = useStore(app.density);
  const cards = width > 0 && width < CARDS_BELOW;
  const rowHeight = cards ? CARD : ROW[density];
  const total = view.total ?? 0;
  const place = useScroll(box, total, rowHeight, height);
  const { shown, tracks } = useMemo(() => fitting(columns.all, chosenColumns, cards ? Infinity : width, actionsWidth, ticks), [columns, chosenColumns, width, cards, actionsWidth, ticks]);
  const cursor = useCursor({ app, box, rows, total, selection, open, keys, place, rowHeight, ticks });
  useEffect(() => rows.want(place.from, place.to), [rows, place.from, place.to, view.version]);
  const whole = useRef(new Set()); // the rows that are drawn with all their cells
  const toggle = useMemo(() => (row, index, extend) => (extend ? selection.extend(row, index, (from, to) => rows.range(from, to)) : selection.toggle(row, index)), [selection, rows]);
  const drawn = [];
  const nowWhole = new Set();
  for (let index = place.from; index < Math.min(total, place.to); index++) {
    const row = rows.at(index);
    const top = index * rowHeight + place.shift;
    if (!row) {
      drawn.push(html`<div key=${`-${index}`} class="row is-coming" role="row" aria-rowindex=${index + 2} style=${{ transform: `translateY(${top}px)` }}>
        ${ticks && html`<span role="cell" class="cell"></span>`}<span role="cell" class="cell"><span class="bone"></span></span></div>`);
      continue;
    }
    const brief = place.fast && !whole.current.has(row.id) && cursor.index !== index;
    if (!brief) nowWhole.add(row.id);
    drawn.push(html`<${Row} key=${row.id} ...${{ row, index, top, shown, actions, open, toggle, cards, what, ticks, brief }} tone=${tone(row)}
      chosen=${chosen.all !== chosen.ids.has(row.id)} opened=${opened === row.id} cursor=${cursor.index === index} />`);
  }
  useLayoutEffect(() => { whole.current = nowWhole; });
  return html`<div class=${`grid ${cards ? 'is-cards' : ''} ${ticks ? '' : 'has-no-ticks'}`} ref=${box} role="table" aria-label=${label} aria-rowcount=${total + 1} aria-busy=${view.total === null}
      style=${{ '--tracks': tracks, '--row': `${rowHeight}px` }} onKeyDown=${cursor.onKey} onFocusIn=${cursor.onFocus}>
    <${Head} ...${{ shown, rows, total, selection, chosen, sort, order, onSort, cards, ticks }} />
    <div class="grid-body" role="rowgroup" style=${{ height: `${place.tall}px` }}>${drawn}</div>
  </div>`;
}

function Head({ shown, rows, total, selection, chosen, sort, order, onSort, cards, ticks }) {
  const size = selection.size(total);
  const some = size > 0 && size < total;
  const all = useRef(null);
  useLayoutEffect(() => { if (all.current) all.current.indeterminate = some; });
  const toggleAll = () => (size > 0 ? selection.clear() : total === rows.loaded().length ? selection.choose(rows.loaded(), true) : selection.chooseAll());
  return html`<div class="grid-head" role="rowgroup"><div class="row" role="row" aria-rowindex="1">
    ${ticks && html`<span role="columnheader" class="cell cell-tick"><input type="checkbox" ref=${all} checked=${size > 0 && !some} disabled=${total === 0}
      aria-label=${size > 0 ? 'Clear the selection' : 'Select all'} onChange=${toggleAll} /></span>`}
    ${!cards && shown.map((column) => {
      const active = column.sort && column.sort === sort;
      return html`<span key=${column.id} role="columnheader" class=${column.numeric ? 'cell is-number' : 'cell'} aria-sort=${active ? (order === 'asc' ? 'ascending' : 'descending') : column.sort ? 'none' : undefined}>
        ${column.sort
          ? html`<button type="button" class="sort" onClick=${() => onSort(column.sort, active ? (order === 'asc' ? 'desc' : 'asc') : column.first || 'desc')}>
              <span>${column.label}</span><${Icon} name=${active ? (order === 'asc' ? 'up' : 'down') : 'unsorted'} /></button>`
          : column.label}</span>`;
    })}
    ${cards && html`<span role="columnheader" class="cell">${ticks ? 'Select all' : ''}</span>`}
    <span role="columnheader" class="cell"><span class="visually-hidden">Actions</span></span>
  </div></div>`;
}

// Row draws again only when something of its own has changed. A brief row shows its name alone: nobody reads the rest while the list flies by.
function Row({ row, index, top, shown, actions, open, toggle, cards, what, ticks, tone, chosen, opened, cursor, brief }) {
  const name = what(row);
  return useMemo(() => brief ? html`<div role="row" aria-label=${name} aria-rowindex=${index + 2} data-id=${row.id} data-index=${index} tabindex="-1" class=${`row ${tone} is-brief`} style=${{ transform: `translateY(${top}px)` }}>
    ${ticks && html`<span role="cell" class="cell"></span>`}<span role="cell" class="cell title">${name}</span></div>` : html`<div role="row" aria-label=${name} aria-rowindex=${index + 2} data-id=${row.id} data-index=${index} tabindex=${cursor ? 0 : -1}
      class=${`row ${tone} ${chosen ? 'is-chosen' : ''} ${opened ? 'is-open' : ''}`} style=${{ transform: `translateY(${top}px)` }}
      onDblClick=${(event) => !event.target.closest('button, a, input') && open?.(row)}>
    ${ticks && html`<span role="cell" class="cell cell-tick"><input type="checkbox" checked=${chosen} aria-label=${`Select ${name}`}
      onClick=${(event) => ticked(event, () => toggle(row, index, event.shiftKey))} /></span>`}
    ${cards
      ? html`<${Card} row=${row} shown=${shown} />`
      : shown.map((column) => html`<span key=${column.id} role="cell" class=${`cell cell-${column.id} ${column.numeric ? 'is-number' : ''}`}>${column.draw(row)}</span>`)}
    <span role="cell" class="cell cell-actions">${actions?.(row)}</span>
  </div>`, [row, index, top, shown, actions, toggle, cards, tone, chosen, opened, cursor, brief]);
}

// ticked keeps the browser from changing a checkbox. It takes the click back after the handlers, over what they have drawn: choose runs after that.
function ticked(event, choose) {
  event.preventDefault();
  setTimeout(choose);
}

// Card shows the main column, and below it those that say something about the row.
function Card({ row, shown }) {
  const [main, ...rest] = [...shown].sort((a, b) => Boolean(b.always) - Boolean(a.always));
  return html`<span role="cell" class="cell card-main">${main.draw(row)}</span>
    <span role="cell" class="cell card-rest">${rest.filter(({ card }) => card).map((column) => html`<span key=${column.id} class=${`cell-${column.id}`}>${column.draw(row)}</span>`)}</span>`;
}

// useSize follows the size of the grid's box.
function useSize(box) {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const read = () => {
      const { clientWidth: width, clientHeight: height } = box.current;
      setSize((before) => (before.width === width && before.height === height ? before : { width, height }));
    };
    const observer = new ResizeObserver(read);
    observer.observe(box.current);
    read();
    return () => observer.disconnect();
  }, []);
  return size;
}

// useCursor is the row that the keyboard is at. One row at a time can be reached by Tab.
function useCursor({ app, box, rows, total, selection, open, keys, place, ticks }) {
  const [index, setIndex] = useState(0);
  const wanted = useRef(-1); // the row to focus when it is drawn
  useLayoutEffect(() => {
    if (wanted.current < 0) return;
    const row = box.current.querySelector(`.row[data-index="${wanted.current}"]`);
    if (!row) return;
    wanted.current = -1;
    row.focus({ preventScroll: true });
  });
  const move = (to) => {
    const next = Math.max(0, Math.min(total - 1, to));
    if (total === 0) return;
    setIndex(next);
    place.scrollTo(next);
    const drawn = box.current.querySelector(`.row[data-index="${next}"]`);
    if (drawn) drawn.focus({ preventScroll: true });
    else wanted.current = next;
  };
  const act = (event) => {
    const row = rows.at(index);
    const to = { ArrowDown: index + 1, j: index + 1, ArrowUp: index - 1, k: index - 1, PageDown: index + place.page, PageUp: index - place.page, Home: 0, End: total - 1 }[event.key];
    const focused = document.activeElement?.classList.contains('row');
    if (to !== undefined) move(focused ? to : index);
    else if (ticks && row && [' ', 'x', 'X'].includes(event.key)) (event.shiftKey ? selection.extend(row, index, (from, last) => rows.range(from, last)) : selection.toggle(row, index));
    else if (row && event.key === 'Enter' && open) open(row);
    else if (row && Object.hasOwn(keys, event.key)) keys[event.key](row);
    else return false;
    event.preventDefault();
    return true;
  };
  // Tab leads to the controls of the row at the cursor, and from there out of the grid.
  useEffect(() => {
    const tab = ({ key }) => {
      if (key !== 'Tab') return;
      for (const it of box.current.querySelectorAll('.grid-body .row :is(button, a, input)')) if (!it.closest('[popover]')) it.tabIndex = it.closest('.row').tabIndex;
    };
    addEventListener('keydown', tab, true);
    return () => removeEventListener('keydown', tab, true);
  }, []);
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const key = (event) => latest.current(event);
    app.grids.push(key);
    return () => { app.grids = app.grids.filter((other) => other !== key); };
  }, []);
  return {
    index: Math.min(index, Math.max(0, total - 1)),
    onFocus: (event) => {
      const at = event.target.closest('.row[data-index]')?.dataset.index;
      if (at !== undefined) setIndex(Number(at));
    },
    onKey: (event) => {
      if (event.target.classList.contains('row') && !app.keys.isPlace(event) && !event.ctrlKey && !event.metaKey && !event.altKey && act(event)) event.stopPropagation();
    },
  };
}

// GridProblem shows why a list could not be read.
export function GridProblem({ rows }) {
  const { problem } = useStore(rows.view);
  return html`<${ProblemBox} problem=${problem}><button type="button" class="button small" onClick=${() => rows.reload().catch(() => {})}>Try again</button><//>`;
}
