// The button that checks all proxies, with its progress.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Icon } from './icons.js';

export function CheckAll({ workspace }) {
  const app = useApp();
  const ending = useRef(null);
  const [state, setState] = useState(null); // {total, alive, dead} while it runs
  useEffect(() => () => ending.current?.abort(), []); // leaving the page cancels it
  const begin = async () => {
    const controller = new AbortController();
    ending.current = controller;
    const sum = { total: 0, alive: 0, dead: 0 };
    setState({ ...sum });
    let drawn = 0;
    try {
      await app.api.lines('/proxies/check-all', workspace ? { workspaceId: workspace } : {}, controller.signal, (total) => { sum.total = total; }, (result) => {
        sum[result.ok ? 'alive' : 'dead'] += 1;
        if (!drawn) drawn = requestAnimationFrame(() => { drawn = 0; if (!controller.signal.aborted) setState({ ...sum }); });
      });
      app.toasts.say({ text: `${sum.alive} of ${sum.total} proxies work.`, tone: sum.dead ? 'plain' : 'good' });
    } catch (problem) {
      if (problem.name !== 'AbortError') app.fail('The proxies were not all checked', problem);
    }
    cancelAnimationFrame(drawn);
    ending.current = null;
    setState(null);
  };
  if (!state) return html`<button type="button" class="button" onClick=${begin}><${Icon} name="pulse" />Check all</button>`;
  const done = state.alive + state.dead;
  return html`<div class="checking">
    <progress max=${state.total || 1} value=${done} aria-label="Proxies checked"></progress>
    <span class="number">${done} of ${state.total}</span>
    <button type="button" class="button small" onClick=${() => ending.current?.abort()}>Stop</button>
  </div>`;
}
