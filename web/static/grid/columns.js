// The columns of a grid: which are shown, in what order, and which fit. The choice is kept in the browser.
import { Store } from '../store.js';
import { recall, remember } from '../memory.js';

// A column is {id, label, width, min, grow, rank, sort, always, draw}: width and min in pixels, grow as the share of
// what is left, rank as the order in which columns give way (the highest first), sort as the server's name for the
// order, and draw as a function of the row that returns its cell.

export class Columns {
  chosen; // Store of the ids of shown columns in order
  #key;

  constructor(name, columns) {
    this.all = columns;
    this.#key = `columns.${name}`;
    const known = new Set(columns.map(({ id }) => id));
    const kept = recall(this.#key, null);
    const ids = Array.isArray(kept) ? kept.filter((id) => known.has(id)) : [];
    this.chosen = new Store(ids.length ? ids : this.preset());
  }

  preset() {
    return this.all.filter(({ hidden }) => !hidden).map(({ id }) => id);
  }

  show(id, shown) {
    const ids = this.chosen.value;
    this.#keep(shown ? [...ids, id] : ids.filter((other) => other !== id));
  }

  // move shifts a shown column by some places.
  move(id, by) {
    const ids = [...this.chosen.value];
    const from = ids.indexOf(id);
    const to = from + by;
    if (from < 0 || to < 0 || to >= ids.length) return;
    ids.splice(to, 0, ...ids.splice(from, 1));
    this.#keep(ids);
  }

  reset() {
    this.#keep(this.preset());
  }

  #keep(ids) {
    this.chosen.set(ids);
    remember(this.#key, ids.join() === this.preset().join() ? null : ids);
  }
}

const CHECKBOX = 40;
const PADDING = 28; // of a row, left and right

// fitting returns the chosen columns that fit into a width, and the tracks of the CSS grid for them, with one of checkboxes if there are `ticks`. Columns of the highest rank give way.
export function fitting(columns, ids, width, actions, ticks = true) {
  const before = ticks ? CHECKBOX : 0;
  let shown = ids.map((id) => columns.find((column) => column.id === id)).filter(Boolean);
  const needed = () => shown.reduce((sum, { min, width: fixed }) => sum + (min ?? fixed), before + PADDING + actions);
  while (needed() > width && shown.some(({ always }) => !always)) {
    const weakest = shown.filter(({ always }) => !always).reduce((a, b) => ((b.rank ?? 0) >= (a.rank ?? 0) ? b : a));
    shown = shown.filter((column) => column !== weakest);
  }
  const tracks = shown.map(({ width: fixed, min, grow }) => (grow ? `minmax(${min ?? fixed}px, ${grow}fr)` : `${fixed}px`));
  return { shown, tracks: [...(ticks ? [`${CHECKBOX}px`] : []), ...tracks, `${actions}px`].join(' ') };
}
