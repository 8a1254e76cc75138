// The page: login, routing, and the frame around the pages.
import { render } from 'preact';
import { useEffect, useErrorBoundary, useState } from 'preact/hooks';
import { html } from './html.js';
import { Api } from './api.js';
import { AppContext } from './app-context.js';
import { ProblemBox } from './components.js';
import { LivePage } from './live/page.js';
import { Login } from './login.js';
import { Model } from './model.js';
import { Previews } from './preview.js';
import { ProfilesPage } from './profiles.js';
import { ProxiesPage } from './proxies.js';
import { Router } from './route.js';
import { RunningPage } from './running.js';
import { dropKey, readKey, saveKey, takeKeyFromAddress } from './session.js';
import { Sidebar } from './sidebar.js';
import { Store, useStore } from './store.js';
import { ToastArea, Toasts } from './toast.js';
import { TrashPage } from './trash.js';

const TICK_MS = 10_000;

const PAGES = { __proto__: null, profiles: ProfilesPage, proxies: ProxiesPage, running: RunningPage, trash: TrashPage };
// FULL_WINDOW are the pages without the frame.
const FULL_WINDOW = { __proto__: null, live: LivePage };

// App is the state of a logged-in page.
class App {
  toasts = new Toasts();
  router = new Router('profiles');
  dialog = new Store(null);
  busy = new Store(new Set()); // ids of objects with an action in progress
  now = new Store(Date.now());

  constructor(key, leave) {
    this.leave = leave;
    this.api = new Api(key, () => leave('The server no longer takes this key. It may have been revoked, or have expired.'));
    this.model = new Model(this.api);
    this.previews = new Previews(this.api);
  }

  begin() {
    this.model.begin();
    const timer = setInterval(() => this.now.set(Date.now()), TICK_MS);
    const endPreviews = this.previews.begin();
    return () => {
      endPreviews();
      clearInterval(timer);
      this.model.end();
    };
  }

  // open shows a dialog. The dialog's `close` closes only itself, even when it is called late.
  open(component, props) {
    const shown = { component, key: (this.dialog.value?.key || 0) + Math.random() };
    shown.props = { ...props, close: () => this.dialog.value === shown && this.dialog.set(null) };
    this.dialog.set(shown);
  }

  // during marks an object as busy while work is in progress. It ignores a second call meanwhile.
  async during(id, work) {
    if (this.busy.value.has(id)) return;
    this.busy.set(new Set(this.busy.value).add(id));
    try {
      await work();
    } finally {
      const busy = new Set(this.busy.value);
      busy.delete(id);
      this.busy.set(busy);
    }
  }

  // keepFocus focuses the heading if the focused element was removed.
  keepFocus() {
    requestAnimationFrame(() => document.activeElement === document.body && this.focusPage());
  }

  // focusPage focuses the row of an object, or the page's heading if the row is gone.
  focusPage(id) {
    const row = id && document.querySelector(`[data-id="${CSS.escape(id)}"] .actions button`);
    (row || document.querySelector('main h1'))?.focus();
  }
}

function Root() {
  const [key, setKey] = useState(() => takeKeyFromAddress() || readKey());
  const [reason, setReason] = useState('');
  useEffect(() => {
    const given = () => {
      const fresh = takeKeyFromAddress();
      if (fresh) setKey(fresh);
    };
    addEventListener('hashchange', given);
    return () => removeEventListener('hashchange', given);
  }, []);
  const enter = (fresh) => {
    saveKey(fresh);
    setReason('');
    setKey(fresh);
  };
  const leave = (why = '') => {
    dropKey();
    setReason(why);
    setKey('');
  };
  return key ? html`<${Frame} key=${key} secret=${key} leave=${leave} />` : html`<${Login} enter=${enter} reason=${reason} />`;
}

function Frame({ secret, leave }) {
  const [app] = useState(() => new App(secret, leave));
  useEffect(() => app.begin(), []);
  useEffect(() => {
    addEventListener('keydown', focusSearch);
    return () => removeEventListener('keydown', focusSearch);
  }, []);
  const route = useStore(app.router.current);
  const dialog = useStore(app.dialog);
  useEffect(() => app.dialog.set(null), [route]); // a dialog belongs to the place where it was opened
  const FullWindow = FULL_WINDOW[route.name];
  const Page = PAGES[route.name] || ProfilesPage;
  return html`<${AppContext.Provider} value=${app}>
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); app.focusPage(); }}>Skip to content</a>
    ${FullWindow ? html`<${ErrorBoundary} key=${route.name} page=${FullWindow} params=${route.params} />` : html`<div class="frame">
      <${Sidebar} route=${route} />
      <main id="main"><${ErrorBoundary} key=${route.name} page=${Page} params=${route.params} /></main>
    </div>`}
    ${dialog && html`<${dialog.component} key=${dialog.key} ...${dialog.props} />`}
    <${ToastArea} toasts=${app.toasts} />
  <//>`;
}

// ErrorBoundary keeps an error of one page from breaking the others.
function ErrorBoundary({ page: Page, params }) {
  const [error] = useErrorBoundary();
  if (!error) return html`<${Page} params=${params} />`;
  return html`<h1 tabindex="-1">This should not have happened</h1>
    <${ProblemBox} problem=${{ title: 'The page has a fault of its own', message: String(error), errors: [] }}>
      <button type="button" class="button small" onClick=${() => location.reload()}>Load it again</button><//>`;
}

// focusSearch focuses the search box on a slash, unless the person is typing.
function focusSearch(event) {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('input, textarea, select, dialog')) return;
  const box = document.querySelector('input[type="search"]');
  if (!box) return;
  event.preventDefault();
  box.focus();
  box.select();
}

render(html`<${Root} />`, document.body);
