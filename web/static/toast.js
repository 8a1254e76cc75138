// Short messages at the edge of the page. Screen readers read them politely. Errors stay until they are closed.
import { html } from './html.js';
import { Icon } from './icons.js';
import { Store, useStore } from './store.js';

const SHOWN_MS = 6000;
const LONG_MS = 12_000;

export class Toasts {
  list = new Store([]);
  #last = 0;

  // say shows a message, and returns its id for close: {text, more, tone: "good"|"wait"|"bad"|"plain", actions: [{label, run}]}; action stands for one.
  say(toast) {
    const id = ++this.#last;
    this.list.set([...this.list.value.slice(-3), { id, ...toast }]);
    if (toast.tone !== 'bad') setTimeout(() => this.close(id), toast.more || toast.actions ? LONG_MS : SHOWN_MS);
    return id;
  }

  close(id) {
    this.list.set(this.list.value.filter((toast) => toast.id !== id));
  }
}

export function ToastArea({ toasts }) {
  const list = useStore(toasts.list);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${list.map((toast) => html`<div key=${toast.id} class="toast ${toast.tone || 'plain'}">
      <div>
        <p class="toast-text">${toast.text}</p>
        ${toast.more && html`<p class="toast-more">${toast.more}</p>`}
      </div>
      ${(toast.actions || [toast.action]).filter(Boolean).map(({ label, run }) => html`<button type="button" key=${label} class="button small" onClick=${() => { toasts.close(toast.id); run(); }}>${label}</button>`)}
      <button type="button" class="icon-button" aria-label="Close message" onClick=${() => toasts.close(toast.id)}><${Icon} name="close" /></button>
    </div>`)}
  </div>`;
}
