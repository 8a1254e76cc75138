// The button that starts a profile's browser, where it stands alone: in the drawer and its tabs.
import { html } from '../html.js';
import { start } from '../actions.js';
import { useApp } from '../app-context.js';
import { useNoStart } from '../browsers.js';
import { Icon } from '../icons.js';
import { useStore } from '../store.js';

// StartButton says in its tooltip why nothing can be started, and beside it if `told`.
export function StartButton({ profile, rows, told, small }) {
  const app = useApp();
  const busy = useStore(app.busy).has(profile.id);
  const why = useNoStart();
  const moving = ['starting', 'stopping'].includes(profile.status);
  return html`<button type="button" class=${small ? 'button small primary' : 'button primary'} disabled=${Boolean(why)} aria-disabled=${busy || moving} title=${why || undefined}
      onClick=${() => !busy && !moving && start(app, profile, rows)}><${Icon} name="play" />Start</button>
    ${told && html`<p class="hint" role="status">${why}</p>`}`;
}
