// The browsers of the machine: whether there is one at all, said before anybody presses Start, and the installation of one.
import { useEffect } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Copy } from './components.js';
import { Icon } from './icons.js';
import { Install } from './lazy.js';
import { Store, useStore } from './store.js';

const COMMAND = 'warren browser install';

// Browsers knows how many there are: as the summary says, and read again when one was installed or, while there is none, when the window gets the focus.
export class Browsers {
  count = new Store(null); // null: not known
  installation = new Store(null); // null: not known; {now}: the last one or null; {refused}: this key may not install, and the problem says why
  #api;

  constructor(api) {
    this.#api = api;
  }

  begin(events) {
    const look = () => this.missing() && this.read();
    addEventListener('focus', look);
    document.addEventListener('visibilitychange', look);
    const unwatch = events.watch(({ type, data }) => {
      if (type === 'everything' && this.installation.value) this.readInstallation();
      if (type === 'everything' || type === 'browser.installed') this.read();
      if (type.startsWith('browser.')) this.sawInstallation(data);
    });
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

  // readInstallation asks for the last installation. The answer also says whether this key may install.
  async readInstallation() {
    try {
      this.sawInstallation(await this.#api.get('/browsers/installation'));
    } catch (problem) {
      if (problem.status === 404) this.installation.set({ now: null });
      else if (problem.status === 403) this.installation.set({ refused: problem });
    }
  }

  // sawInstallation takes an answer or an event. An answer may be older than an event that came before it.
  sawInstallation(now) {
    const before = this.installation.value?.now;
    if (before && (now.createdAt < before.createdAt || (now.createdAt === before.createdAt && before.endedAt))) return;
    this.installation.set({ now });
  }

  missing() {
    return this.count.value === 0;
  }
}

// NO_BROWSER says why nothing can be started.
export const NO_BROWSER = 'No browser is installed on the server. Install one first: in Settings, Browsers, or there with "warren browser install".';

// useInstallation returns what is known of the installation of browsers, and asks for it when nothing is.
export function useInstallation() {
  const { browsers } = useApp();
  useEffect(() => { if (!browsers.installation.value) browsers.readInstallation(); }, []);
  return useStore(browsers.installation);
}

// useNone says whether no server has a browser. With several, a start goes where there is one.
function useNone() {
  const { browsers, nodes } = useApp();
  const count = useStore(browsers.count);
  const all = useStore(nodes.all);
  return count === 0 && !all.some(({ state, browsers: installed }) => state === 'up' && installed.length > 0);
}

// useNoStart returns why no profile can be started now, or ''.
export function useNoStart() {
  const { offline } = useApp();
  const none = useNone();
  const gone = useStore(offline);
  return gone ? 'Warren does not answer.' : none ? NO_BROWSER : '';
}

// NoBrowser is the notice, while there is no browser.
export function NoBrowser() {
  const none = useNone();
  return html`<div role="status" class="no-browser">${none && html`<div class="notice"><${Icon} name="warning" /><${HowToInstall} /></div>`}</div>`;
}

// HowToInstall offers to install a browser to who may, and the command to others.
function HowToInstall() {
  const { browsers } = useApp();
  const state = useInstallation();
  if (state && !state.refused) {
    return html`<div class="no-browser-words"><p><strong>No browser is installed on the server.</strong> Profiles cannot start. Install one here: a build of Chrome for Testing, verified.</p><${Install} brief /></div>`;
  }
  return html`<div class="no-browser-words">
    <p><strong>No browser is installed on the server.</strong> Profiles cannot start. Run this command there, or install Chrome or Chromium yourself.</p>
    <p class="no-browser-do"><code>${COMMAND}</code><${Copy} text=${COMMAND} label="Copy the command" /><button type="button" class="button small" onClick=${() => browsers.read()}><${Icon} name="reload" />Check again</button></p></div>`;
}
