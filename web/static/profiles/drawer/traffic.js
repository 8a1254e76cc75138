// A profile's traffic by day, as bars, and as a table for those who do not see them.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { ProblemBox } from '../../components.js';
import { bytes } from '../../format.js';
import { isOf } from './use.js';

const DAYS = 30;
const DAY_MS = 86_400_000;
const [WIDTH, HEIGHT] = [420, 96];
const GAP = 2;

export function Traffic({ path, id }) {
  const app = useApp();
  const [{ days, problem }, setState] = useState({ days: null, problem: null });
  useEffect(() => {
    const read = () => {
      const dates = lastDays(Date.now());
      app.api.get(`${path}/traffic`, { by: 'day', from: dates[0] }).then(({ data }) => {
        const known = new Map(data.map((row) => [row.day, row]));
        setState({ days: dates.map((day) => known.get(day) || { day, bytesUp: 0, bytesDown: 0, connections: 0 }), problem: null });
      }, (fault) => setState((before) => ({ ...before, problem: fault })));
    };
    read();
    return app.model.event.watch((event) => (event.type === 'everything' || (event.type === 'run.ended' && isOf(id, event))) && read());
  }, [path]);
  return html`<section><h3>Traffic, last ${DAYS} days</h3><${ProblemBox} problem=${problem} />${days && html`<${Chart} days=${days} />`}</section>`;
}

// lastDays returns the dates of the last days, in UTC as the API counts them.
function lastDays(now) {
  return Array.from({ length: DAYS }, (_, i) => new Date(now - (DAYS - 1 - i) * DAY_MS).toISOString().slice(0, 10));
}

function dayWords(day) {
  return new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(Date.parse(day));
}

function Chart({ days }) {
  const total = (day) => day.bytesUp + day.bytesDown;
  const most = Math.max(...days.map(total));
  const sums = days.reduce((sum, day) => ({ up: sum.up + day.bytesUp, down: sum.down + day.bytesDown }), { up: 0, down: 0 });
  if (!most) return html`<p class="muted">Nothing was sent or received.</p>`;
  const step = WIDTH / days.length;
  const high = (n) => Math.round((n / most) * (HEIGHT - 2));
  return html`<p class="chart-sums"><span class="chart-key is-down">Received ${bytes(sums.down)}</span><span class="chart-key is-up">Sent ${bytes(sums.up)}</span></p>
    <svg class="chart" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      ${days.map((day, i) => {
        const [down, up] = [high(day.bytesDown), Math.max(high(day.bytesUp), day.bytesUp ? 1 : 0)];
        return html`<g key=${day.day}><title>${`${dayWords(day.day)}: ${bytes(day.bytesDown)} received, ${bytes(day.bytesUp)} sent`}</title>
          <rect class="chart-day" x=${i * step} y="0" width=${step} height=${HEIGHT} />
          <rect class="chart-down" x=${i * step + GAP / 2} y=${HEIGHT - down} width=${step - GAP} height=${down} />
          <rect class="chart-up" x=${i * step + GAP / 2} y=${HEIGHT - down - up} width=${step - GAP} height=${up} /></g>`;
      })}</svg>
    <p class="chart-ends number" aria-hidden="true"><span>${dayWords(days[0].day)}</span><span>most in a day: ${bytes(most)}</span><span>${dayWords(days.at(-1).day)}</span></p>
    <table class="visually-hidden"><caption>Traffic by day</caption><thead><tr><th scope="col">Day</th><th scope="col">Received</th><th scope="col">Sent</th><th scope="col">Connections</th></tr></thead>
      <tbody>${days.filter(total).map((day) => html`<tr key=${day.day}><th scope="row">${dayWords(day.day)}</th><td>${bytes(day.bytesDown)}</td><td>${bytes(day.bytesUp)}</td><td>${day.connections}</td></tr>`)}</tbody></table>`;
}
