// Checks many proxies at once: the work with its counts, and the button that checks all.
import { html } from './html.js';
import { useApp } from './app-context.js';
import { count } from './format.js';
import { Icon } from './icons.js';
import { href } from './route.js';
import { Store } from './store.js';
import { faultWords } from './words.js';

// checkMany checks proxies and shows how far it is. It goes on when the page is left. Without ids it checks those of the workspace, or all.
export function checkMany(app, { ids, workspaceId, tags = [] }) {
  const body = ids ? { ids } : workspaceId ? { workspaceId } : {};
  const dead = new URLSearchParams([['status', 'dead'], ...tags.map((tag) => ['tag', tag])]);
  const params = (failed) => (failed ? dead : new URLSearchParams(tags.map((tag) => ['tag', tag])));
  return app.works.stream({
    key: ids ? '' : `check ${workspaceId}`,
    title: (total, over) => `${over ? 'Checked' : 'Checking'} ${count(total, 'proxy', 'proxies')}`,
    total: ids?.length ?? 0,
    words: { good: 'alive', bad: 'dead' },
    call: (signal, total, one) => app.api.lines('/proxies/check-all', body, signal, total, (check) => {
      app.checked.add(check);
      const fault = check.ok ? null : faultWords(check.error) || { happened: 'The check failed.', advice: '' };
      one({ id: check.id, error: fault && { title: fault.happened, message: fault.advice } });
    }),
    show: (failed) => app.router.go(href('proxies', params(failed))),
    retry: (failed) => checkMany(app, { ids: failed.map(({ id }) => id), tags }),
  });
}

export function CheckAll({ workspace }) {
  const app = useApp();
  return html`<button type="button" class="button" onClick=${() => checkMany(app, { workspaceId: workspace })}><${Icon} name="pulse" /><span>Check all</span></button>`;
}

// Checked passes on what checks of many found, a frame's at a time: the server sends no event for each.
export class Checked {
  last = new Store([]);
  #waiting = [];

  add(check) {
    if (this.#waiting.push(check) === 1) requestAnimationFrame(() => this.#pass());
  }

  #pass() {
    this.last.set(this.#waiting);
    this.#waiting = [];
  }
}
