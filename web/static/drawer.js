// The drawer beside a list: one object, with an address, while the list stays usable.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { ProblemBox, Waiting } from './components.js';
import { Icon } from './icons.js';

// useObject reads an object and keeps it current: {data, etag, problem, reload, keep}. names says whether an event is about it. data is null until the
// first answer; keep shows a newer state that an answer brought.
export function useObject(path, names) {
  const app = useApp();
  const [state, setState] = useState({ data: null, etag: null, problem: null });
  const reload = () => app.api.full('GET', path).then(({ data, etag }) => setState({ data, etag, problem: null }), (problem) => setState((before) => ({ ...before, problem })));
  useEffect(() => {
    setState({ data: null, etag: null, problem: null });
    reload();
    let planned = 0;
    const unwatch = app.model.event.watch((event) => {
      if (event.type !== 'everything' && event.type !== 'events.lost' && !names(event)) return;
      clearTimeout(planned);
      planned = setTimeout(reload, 60); // events come in groups
    });
    return () => {
      clearTimeout(planned);
      unwatch();
    };
  }, [path]);
  return { ...state, reload, keep: (data, etag = null) => setState({ data, etag, problem: null }) };
}

// Drawer shows tabs: [{id, label, draw, wide}], the first one by default. draw is called with nothing when its tab is shown. A wide tab takes the
// place of the list.
export function Drawer({ label, title, below, note, actions, tabs, tab, problem, ready }) {
  const app = useApp();
  const box = useRef(null);
  const shown = tabs.find(({ id }) => id === tab) || tabs[0];
  const [object] = app.router.current.value.path;
  const close = () => app.closeDrawer();
  const heading = useRef(null);
  useEffect(() => {
    const { activeElement: at } = document;
    if (at === document.body || at.closest('.grid')) heading.current.focus({ preventScroll: true }); // the person goes on here
  }, []);
  useEffect(() => {
    box.current?.querySelector('.drawer-body')?.scrollTo(0, 0);
    box.current?.querySelector('[role="tab"][aria-selected="true"]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [shown.id, object]);
  const press = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(shown) + by + tabs.length) % tabs.length];
    app.router.open(object, next.id);
    requestAnimationFrame(() => box.current?.querySelector('[role="tab"][aria-selected="true"]')?.focus());
  };
  const escape = (event) => {
    if (event.key !== 'Escape' || event.defaultPrevented || event.target.closest('[popover]')) return;
    event.stopPropagation();
    close();
  };
  return html`<aside class=${shown.wide ? 'drawer is-wide' : 'drawer'} ref=${box} aria-label=${label} onKeyDown=${escape}>
    <header class="drawer-head"><div class="drawer-title"><h2 ref=${heading} tabindex="-1">${title}</h2>${below && html`<p class="muted drawer-below">${below}</p>`}</div>
      <div class="drawer-actions">${actions}<button type="button" class="icon-button" aria-label="Close" title="Close (Esc)" onClick=${close}><${Icon} name="close" /></button></div></header>
    ${note && html`<div class="drawer-note">${note}</div>`}
    <div class="tabs" role="tablist" aria-label=${label} onKeyDown=${press}>${tabs.map(({ id, label: words, note }) => html`<button type="button" key=${id} role="tab" id=${`tab-${id}`} aria-selected=${id === shown.id} aria-controls="tab-panel"
      tabindex=${id === shown.id ? 0 : -1} class="tab" onClick=${() => app.router.open(object, id)}>${words}${note && html`<span class="tab-note">${note}</span>`}</button>`)}</div>
    <div class="drawer-body" role="tabpanel" id="tab-panel" aria-labelledby=${`tab-${shown.id}`} tabindex="0" key=${shown.id}>
      <${ProblemBox} problem=${problem} />${ready ? shown.draw() : !problem && html`<${Waiting} />`}</div>
  </aside>`;
}

// Facts lists what is known, as [label, value] pairs; those without a value are left out.
export function Facts({ pairs }) {
  return html`<dl class="fact-list">${pairs.filter((pair) => pair && pair[1] !== null && pair[1] !== undefined && pair[1] !== '' && pair[1] !== false).map(([label, value]) => html`<div key=${label}><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}
