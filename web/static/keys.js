// The keyboard: keys that work on the whole page, and the list of them.
import { html } from './html.js';
import { Dialog } from './dialog.js';
import { href } from './route.js';

const PREFIX_MS = 1500; // within which the second key of "g p" must follow

const PLACES = { p: 'profiles', x: 'proxies', r: 'running', t: 'trash', s: 'settings' };

const LIST = [
  ['On every page', [['Ctrl K', 'Search and commands'], ['/', 'Search the list'], ['N', 'New profile; on the Proxies page, add proxies'], ['G then P, X, R, T, S', 'Go to profiles, proxies, running, trash, settings'], ['?', 'Show this list'], ['Esc', 'Close what is open, or clear the selection']]],
  ['In a list', [['J K ↓ ↑', 'Next and previous row'], ['X or Space', 'Select the row; with Shift all since the last'], ['Enter', 'Open the row'], ['S', 'Start or stop'], ['V', 'View a running browser'], ['E', 'Edit'], ['P', 'Choose a proxy'], ['D', 'Clone a profile'], ['C', 'Connect to a running browser, or check a proxy'], ['Delete', 'Move to the trash, or delete a proxy']]],
];

// Keys listens to the keyboard until its end is called.
export class Keys {
  #app;
  #prefix = 0;

  constructor(app) {
    this.#app = app;
  }

  begin() {
    const press = (event) => this.#press(event);
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }

  // isPlace says whether a key is the second one of "g p". A list leaves it alone then.
  isPlace({ timeStamp, key }) {
    return this.#prefix > 0 && timeStamp - this.#prefix < PREFIX_MS && Object.hasOwn(PLACES, key);
  }

  #press(event) {
    const app = this.#app;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      return app.openPalette();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return undefined;
    const { target } = event;
    if (target.closest?.('input:not([type="checkbox"]), textarea, select, dialog, [role="menu"], [popover], .stage, [contenteditable]')) return undefined;
    if (event.key === 'Escape') return app.escape();
    if ((event.key === ' ' || event.key === 'Enter') && target.closest?.('button, a, input, summary')) return undefined;
    if (this.isPlace(event)) {
      this.#prefix = 0;
      event.preventDefault();
      return app.router.go(href(PLACES[event.key]));
    }
    this.#prefix = event.key === 'g' ? event.timeStamp : 0;
    const act = { '/': () => focusSearch(), n: () => app.createHere(), '?': () => app.open(KeysDialog, {}) }[event.key];
    if (act) {
      event.preventDefault();
      return act();
    }
    return app.grids.at(-1)?.(event);
  }
}

function focusSearch() {
  const box = [...document.querySelectorAll('main input[type="search"]')].find((it) => it.checkVisibility({ visibilityProperty: true }));
  box?.focus();
  box?.select();
}

function KeysDialog({ close }) {
  return html`<${Dialog} title="Keyboard shortcuts" close=${close}><div class="dialog-content">
    ${LIST.map(([title, keys]) => html`<section key=${title}><h3>${title}</h3><dl class="keys">${keys.map(([key, words]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${words}</dd></div>`)}</dl></section>`)}
  </div><footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Close</button></footer><//>`;
}
