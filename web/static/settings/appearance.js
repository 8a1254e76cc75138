// How the page looks in this browser.
import { useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { count } from '../format.js';
import { Icon } from '../icons.js';
import { forget, kept, recall } from '../memory.js';
import { useStore } from '../store.js';

const THEMES = [['system', 'Like the system'], ['light', 'Light'], ['dark', 'Dark']];
const DENSITIES = [['compact', 'Compact'], ['comfortable', 'Comfortable']];

export function Appearance() {
  const app = useApp();
  const [theme, setTheme] = useState(() => recall('theme', 'system'));
  const density = useStore(app.density);
  const views = useStore(app.views);
  const [columns, setColumns] = useState(() => kept('columns.'));
  const choose = (value) => {
    app.setTheme(value);
    setTheme(value);
  };
  const reset = () => {
    forget('columns.');
    setColumns([]);
    app.toasts.say({ text: 'All lists have their columns of before.', tone: 'good' });
  };
  return html`<p class="lead">These choices are kept in this browser, for this page alone.</p>
    <section class="settings-part"><h2>Theme</h2><${Options} label="Theme" options=${THEMES} value=${theme} choose=${choose} /></section>
    <section class="settings-part"><h2>Rows</h2><${Options} label="Row height" options=${DENSITIES} value=${density} choose=${(value) => app.setDensity(value)} /></section>
    <section class="settings-part"><h2>Columns</h2><p class="muted">${columns.length ? `You have chosen the columns of ${count(columns.length, 'list')}.` : 'Every list has its usual columns.'}</p>
      <p><button type="button" class="button" disabled=${!columns.length} onClick=${reset}>Reset all columns</button></p></section>
    <section class="settings-part"><h2>Saved views</h2>${views.length === 0 ? html`<p class="muted">None yet. Filter the profiles, then choose “Save this view” in the sidebar.</p>` : html`
      <ul class="saved-views">${views.map((view) => html`<li key=${view.label}><bdi class="one-line">${view.label}</bdi><button type="button" class="icon-button" aria-label=${`Remove the view ${view.label}`} title="Remove" onClick=${() => app.dropView(view)}><${Icon} name="close" /></button></li>`)}</ul>
      <p><button type="button" class="button" onClick=${() => views.forEach((view) => app.dropView(view))}>Remove all views</button></p>`}</section>`;
}

function Options({ label, options, value, choose }) {
  return html`<div class="segments" role="group" aria-label=${label}>${options.map(([one, words]) => html`<button type="button" key=${one} class="segment-button" aria-pressed=${value === one} onClick=${() => choose(one)}>${words}</button>`)}</div>`;
}
