// Charts as SVG in the colours of the text: bars and lines, with a table of the same figures for screen readers.
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';

const HEIGHT = 132; // pixels, with the axis
const BOTTOM = 20; // of them below the axis, for the labels
const TOP = 8;
const LEFT = 52; // pixels for the scale
const LINES = 3; // of the grid, above zero
const TIP_WIDTH = 150;

// Bars draws a bar per point, of parts that lie on each other. points are [{label, full, values: [n]}]: label stands below the
// bar where there is room, full names it in the table. parts are [{label, tone}] in the order of values; tone is a class of the colour.
// say words a value.
export function Bars({ title, points, parts, say, empty = 'Nothing yet.' }) {
  const most = niceMost(Math.max(0, ...points.map(({ values }) => sum(values))));
  if (!points.some(({ values }) => sum(values) > 0)) return html`<p class="muted">${empty}</p>`;
  return html`<${Frame} title=${title} points=${points} parts=${parts} say=${say} most=${most} draw=${({ x, y, step }) => points.map(({ values }, i) => {
    const width = Math.max(1, Math.min(28, step - Math.min(6, step / 4)));
    let base = 0;
    return values.map((value, part) => {
      if (!value) return null;
      const from = y(base);
      base += value;
      return html`<rect key=${`${i} ${part}`} class=${`chart-bar ${parts[part].tone}`} x=${x(i) - width / 2} y=${y(base)} width=${width} height=${Math.max(1, from - y(base))} rx=${Math.min(2, width / 4)} />`;
    });
  })} />`;
}

// Line draws values over the points, with gaps where a value is null. A point with a `mark` gets a cross at the axis.
export function Line({ title, points, parts, say, empty = 'Nothing yet.' }) {
  const most = niceMost(Math.max(0, ...points.flatMap(({ values }) => values.map((value) => value ?? 0))));
  if (!points.length) return html`<p class="muted">${empty}</p>`;
  return html`<${Frame} title=${title} points=${points} parts=${parts} say=${say} most=${most} draw=${({ x, y }) => [
    ...parts.map(({ tone }, part) => html`<path key=${part} class=${`chart-line ${tone}`} d=${pathOf(points.map(({ values }) => values[part]), x, y)} />`),
    ...points.flatMap(({ values, mark }, i) => [
      ...values.map((value, part) => (value === null ? null : html`<circle key=${`${i} ${part}`} class=${`chart-dot ${parts[part].tone}`} cx=${x(i)} cy=${y(value)} r=${points.length > 60 ? 1.5 : 2.5} />`)),
      mark && html`<path key=${`${i} mark`} class="chart-mark" d=${`M${x(i) - 3} ${y(0) - 8}l6 6m0-6l-6 6`} />`,
    ]),
  ]} />`;
}

function pathOf(values, x, y) {
  let path = '';
  let open = false;
  values.forEach((value, i) => {
    if (value !== null) path += `${open ? 'L' : 'M'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    open = value !== null;
  });
  return path;
}

// Frame draws the scale, the labels, the legend, the point under the pointer, and the table.
function Frame({ title, points, parts, say, most, draw }) {
  const box = useRef(null);
  const id = useId();
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState(-1);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => box.current && setWidth(box.current.clientWidth));
    observer.observe(box.current);
    setWidth(box.current.clientWidth);
    return () => observer.disconnect();
  }, []);
  const step = (width - LEFT - 4) / Math.max(1, points.length);
  const x = (i) => LEFT + step * (i + 0.5);
  const y = (value) => TOP + (HEIGHT - BOTTOM - TOP) * (1 - value / (most || 1));
  const every = Math.max(1, Math.ceil(54 / step));
  const moved = (event) => {
    const i = Math.floor((event.clientX - box.current.getBoundingClientRect().left - LEFT) / step);
    setAt(i >= 0 && i < points.length ? i : -1);
  };
  const scale = Array.from({ length: LINES + 1 }, (_, i) => (most / LINES) * i);
  return html`<figure class="chart" aria-labelledby=${id}>
    <figcaption class="chart-head"><span id=${id} class="chart-title">${title}</span>${parts.length > 1 && html`<span class="chart-legend" aria-hidden="true">${parts.map(({ label, tone }) => html`<span key=${label}><i class=${`chart-key ${tone}`}></i>${label}</span>`)}</span>`}</figcaption>
    <div class="chart-box" ref=${box} onPointerMove=${moved} onPointerLeave=${() => setAt(-1)}>
      ${width > 0 && html`<svg width=${width} height=${HEIGHT} aria-hidden="true">
        ${scale.map((value) => html`<line key=${value} class="chart-grid" x1=${LEFT} x2=${width} y1=${y(value)} y2=${y(value)} />
          <text class="chart-text" x=${LEFT - 8} y=${y(value) + 4} text-anchor="end">${say(value)}</text>`)}
        ${at >= 0 && html`<rect class="chart-under" x=${x(at) - step / 2} y=${TOP} width=${step} height=${HEIGHT - BOTTOM - TOP} />`}
        ${draw({ x, y, step })}
        ${points.map(({ label }, i) => (points.length - 1 - i) % every === 0 && html`<text key=${i} class="chart-text" x=${Math.min(x(i), width - 25)} y=${HEIGHT - 4} text-anchor="middle">${label}</text>`)}
      </svg>`}
      ${at >= 0 && html`<div class="chart-tip" aria-hidden="true" style=${{ left: `${Math.max(0, Math.min(width - TIP_WIDTH, x(at) - TIP_WIDTH / 2))}px`, width: `${TIP_WIDTH}px` }}>
        <strong>${points[at].full}</strong>${parts.map(({ label }, part) => html`<span key=${label}>${label}: ${points[at].values[part] === null ? points[at].mark || '–' : say(points[at].values[part])}</span>`)}</div>`}
    </div>
    <table class="visually-hidden"><caption>${title}</caption><thead><tr><th scope="col">When</th>${parts.map(({ label }) => html`<th key=${label} scope="col">${label}</th>`)}</tr></thead>
      <tbody>${points.map(({ full, values, mark }, i) => html`<tr key=${i}><th scope="row">${full}</th>${values.map((value, part) => html`<td key=${part}>${value === null ? mark || 'none' : say(value)}</td>`)}</tr>`)}</tbody></table>
  </figure>`;
}

function sum(values) {
  return values.reduce((all, value) => all + (value || 0), 0);
}

// niceMost returns the end of a scale whose lines have round values.
function niceMost(most) {
  const step = most / LINES || 1;
  const power = 10 ** Math.floor(Math.log10(step));
  const factor = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((one) => one * power >= step);
  return factor * power * LINES;
}
