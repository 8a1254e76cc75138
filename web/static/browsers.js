// The browsers of the machine: whether there is one at all, said before anybody presses Start.
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Copy } from './components.js';
import { Icon } from './icons.js';
import { Store, useStore } from './store.js';

const COMMAND = 'warren browser install';

// Browsers knows how many there are: as the summary says, and read again when an event names browsers or, while there is none, when the window gets the focus.
export class Browsers {
  count = new Store(null); // null: not known
  #api;

  constructor(api) {
    this.#api = api;
  }

  begin(events) {
    const look = () => this.missing() && this.read();
    addEventListener('focus', look);
    document.addEventListener('visibilitychange', look);
    const unwatch = events.watch(({ type }) => (type === 'everything' || /^browsers?\./.test(type)) && this.read());
    return () => {
      removeEventListener('focus', look);
      document.removeEventListener('visibilitychange', look);
      unwatch();
    };
  }

  // read keeps what was known when the list cannot be read.
  async read() {
    const answer = await this.#api.get('/browsers').catch(() => null);
    if (answer) this.count.set(answer.data.length);
  }

  missing() {
    return this.count.value === 0;
  }
}

// NO_BROWSER says why nothing can be started.
export const NO_BROWSER = 'No browser is installed on the server. Run "warren browser install" there first.';

// useNoStart returns why no profile can be started now, or ''.
export function useNoStart() {
  const { browsers, offline } = useApp();
  const count = useStore(browsers.count);
  const gone = useStore(offline);
  return gone ? 'Warren does not answer.' : count === 0 ? NO_BROWSER : '';
}

// NoBrowser is the notice, while there is no browser.
export function NoBrowser() {
  const { browsers } = useApp();
  const count = useStore(browsers.count);
  return html`<div role="status" class="no-browser">${count === 0 && html`<div class="notice"><${Icon} name="warning" /><div class="no-browser-words">
    <p><strong>No browser is installed on the server.</strong> Profiles cannot start. Run this command there, or install Chrome or Chromium yourself.</p>
    <p class="no-browser-do"><code>${COMMAND}</code><${Copy} text=${COMMAND} label="Copy the command" /><button type="button" class="button small" onClick=${() => browsers.read()}><${Icon} name="reload" />Check again</button></p></div></div>`}</div>`;
}
