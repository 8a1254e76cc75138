// The page: login, routing, and the frame around the pages.
import { render } from 'preact';
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { Api } from './api.js';
import { start } from './actions.js';
import { AppContext, useApp } from './app-context.js';
import { Browsers } from './browsers.js';
import { Checked } from './checkall.js';
import { ProblemBox } from './components.js';
import { ConfirmDialog, ProblemDialog } from './dialog.js';
import { Icon } from './icons.js';
import { Keys } from './keys.js';
import { LivePage, Palette, ProfileDialog, SettingsPage } from './lazy.js';
import { Entering, Login, LogInAgain } from './login.js';
import { recall, remember } from './memory.js';
import { Model } from './model.js';
import { Nodes } from './nodes.js';
import { Previews } from './preview.js';
import { ProfilesPage } from './profiles/page.js';
import { add as addProxy, ProxiesPage } from './proxies/page.js';
import { ProxyCache } from './proxycache.js';
import { Router } from './route.js';
import { RunningPage } from './running/page.js';
import { dropKey, exchange, isOfThisTab, readKey, revoke, saveKey, takeFromAddress, watchKey } from './session.js';
import { Sidebar } from './sidebar.js';
import { Store, useStore } from './store.js';
import { applyTheme } from './theme.js';
import { ToastArea, Toasts } from './toast.js';
import { TrashPage } from './trash/page.js';
import { problemTitle, problemWords } from './words.js';
import { WorkArea, Works } from './works.js';

const TICK_MS = 10_000;
const FOCUS_FRAMES = 300; // for which a new page's heading is waited for

const PAGES = { __proto__: null, profiles: ProfilesPage, proxies: ProxiesPage, running: RunningPage, trash: TrashPage, settings: SettingsPage, live: LivePage };
// FULL are the pages without the frame.
const FULL = ['live'];

// App is the state of a logged-in page.
class App {
  toasts = new Toasts();
  works = new Works();
  checked = new Checked();
  router = new Router('profiles');
  dialog = new Store(null);
  busy = new Store(new Set()); // ids of objects with an action in progress
  now = new Store(Date.now());
  offline = new Store(false); // whether the server does not answer
  density = new Store(recall('density', 'compact') === 'comfortable' ? 'comfortable' : 'compact');
  views = new Store(recall('views', []));
  asking = new Store(null); // what to do when the person discards the changes of a form, or null
  signedOut = new Store(''); // why the key is refused, while a form keeps the page
  #changed = new Set(); // the roots of changed forms
  #typed = new Set(); // these, and those that are being saved
  grids = []; // what handles a key for each grid that is shown, the one on top last; it returns whether it did

  constructor(key, leave) {
    this.leave = leave;
    this.api = new Api(key, () => this.holds(REFUSED) || leave(REFUSED));
    this.model = new Model(this.api);
    this.proxies = new ProxyCache(this.api);
    this.previews = new Previews(this.api);
    this.browsers = new Browsers(this.api);
    this.nodes = new Nodes(this.api);
    this.keys = new Keys(this);
    this.router.leaving = (goOn) => this.leaving(goOn);
  }

  begin() {
    const unwatch = [
      this.model.connection.watch((state) => this.offline.set(state === 'lost')),
      this.model.event.watch((event) => this.proxies.onEvent(event)),
      this.model.counts.watch((summary) => this.browsers.count.set(summary.browsers)),
      this.keys.begin(),
      this.previews.begin(),
      this.browsers.begin(this.model.event),
      this.nodes.begin(this.model.event),
      this.checked.last.watch((checks) => this.proxies.checked(checks)),
    ];
    this.model.begin();
    const unload = (event) => this.#changed.size && event.preventDefault();
    addEventListener('beforeunload', unload);
    unwatch.push(() => removeEventListener('beforeunload', unload));
    const timer = setInterval(() => this.now.set(Date.now()), TICK_MS);
    return () => {
      unwatch.forEach((end) => end());
      clearInterval(timer);
      this.model.end();
    };
  }

  // open shows a dialog. The dialog's `close` closes only itself, even when it is called late.
  open(component, props) {
    const shown = { component, key: (this.dialog.value?.key || 0) + Math.random() };
    shown.props = { ...props, close: () => this.dialog.value === shown && this.leaving(() => this.dialog.set(null)) };
    this.leaving(() => this.dialog.set(shown));
  }

  // holdForm notes whether a form has changes that are not saved; typed also while they are being saved.
  holdForm(root, { changed = false, typed = false }) {
    if (changed) this.#changed.add(root);
    else this.#changed.delete(root);
    if (typed) this.#typed.add(root);
    else this.#typed.delete(root);
  }

  // holds keeps a page whose key is refused, if something typed would be lost with it. It says whether it does.
  holds(reason) {
    if (!this.#typed.size) return false;
    this.signedOut.set(this.signedOut.value || reason);
    return true;
  }

  // renew goes on with another key.
  renew(key) {
    if (!this.api.renew(key)) return;
    this.signedOut.set('');
    this.model.renew();
  }

  logOut() {
    this.leaving(() => this.leave());
  }

  // giveUp leaves a page whose key is refused, and drops what was typed.
  giveUp() {
    const reason = this.signedOut.value;
    this.#changed.clear();
    this.signedOut.set('');
    this.leave(reason);
  }

  // leaving goes on at once, or asks first if a form has changes that would be lost.
  leaving(goOn) {
    if (this.#changed.size) this.asking.set(goOn);
    else goOn();
  }

  // discard drops the changes of all forms, and goes on.
  discard() {
    const goOn = this.asking.value;
    this.#changed.clear();
    this.asking.set(null);
    goOn?.();
  }

  openPalette() {
    if (!this.dialog.value) this.open(Palette, {});
  }

  createProfile() {
    this.open(ProfileDialog, {});
  }

  createProxy() {
    addProxy(this);
  }

  createHere() {
    if (this.router.current.value.name === 'proxies') this.createProxy();
    else this.createProfile();
  }

  start(profile) {
    return start(this, profile);
  }

  // escape closes the drawer, also where the focus is nowhere, such as after a message that is gone.
  escape() {
    if (this.router.current.value.path.length) this.closeDrawer();
  }

  // closeDrawer shows the list alone, with the focus on the object's row unless it is elsewhere.
  closeDrawer() {
    const [object] = this.router.current.value.path;
    this.leaving(() => {
      this.router.open();
      setTimeout(() => document.activeElement === document.body && this.focusPage(object)); // drawn by then, whether frames are shown or not
    });
  }

  // fail shows a failed action: in a dialog, or as a message if a dialog is open.
  fail(subject, problem, action) {
    if (this.dialog.value) this.toasts.say({ text: subject, more: `${problemTitle(problem)}. ${problemWords(problem)}`, tone: 'bad', action });
    else this.open(ProblemDialog, { subject, problem, action });
  }

  setDensity(density) {
    this.density.set(density);
    remember('density', density === 'compact' ? null : density);
  }

  setTheme(theme) {
    remember('theme', theme === 'system' ? null : theme);
    applyTheme();
  }

  saveView(view) {
    this.#keepViews([...this.views.value.filter(({ label }) => label !== view.label), view]);
  }

  dropView(view) {
    this.#keepViews(this.views.value.filter((other) => other !== view));
  }

  #keepViews(views) {
    this.views.set(views);
    remember('views', views.length ? views : null);
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

  // focusPage focuses the row of an object, or the page's heading if the row is gone. It tries again in later frames, while nothing has the focus: a
  // part that is being read has no heading yet, and what is hidden cannot have the focus.
  focusPage(id, frames = FOCUS_FRAMES) {
    const row = id && document.querySelector(`[data-id="${CSS.escape(id)}"]`);
    (row || document.querySelector('.drawer.is-wide h2') || document.querySelector('h1'))?.focus({ preventScroll: !row });
    if (document.activeElement !== document.body || !frames) return;
    requestAnimationFrame(() => document.activeElement === document.body && this.focusPage(id, frames - 1));
  }
}

function Root() {
  const [given, setGiven] = useState(takeFromAddress);
  const [{ key, turn }, setShown] = useState(() => ({ key: readKey(), turn: 0 }));
  const setKey = (next) => setShown((now) => ({ key: next, turn: now.turn + 1 })); // another turn is another page
  const now = useRef(key);
  now.current = key;
  const page = useRef(null); // the App that is shown
  const [reason, setReason] = useState('');
  const enter = (fresh, onlyThisTab) => {
    saveKey(fresh, onlyThisTab);
    setReason('');
    setKey(fresh);
  };
  // leave ends the page's use of its key: the person logs out, or the server has refused the key for the reason why.
  const leave = (why = '') => {
    if (!why) revoke(now.current).catch((problem) => ![401, 404].includes(problem.status) && setReason(STILL_VALID));
    if (readKey() === now.current) dropKey();
    setReason(why);
    setKey(why ? readKey() : ''); // another tab may have logged in anew
  };
  // renew gives the same page another key: that of a new login here, or in another tab.
  const renew = (fresh) => setShown(({ turn: same }) => ({ key: fresh, turn: same }));
  useEffect(() => {
    const look = () => setGiven((before) => takeFromAddress() || before);
    addEventListener('hashchange', look);
    return () => removeEventListener('hashchange', look);
  }, []);
  useEffect(() => {
    if (!given) return;
    const before = readKey();
    exchange(given).then((fresh) => {
      enter(fresh);
      if (before) revoke(before).catch(() => {}); // it expires by itself
    }, (problem) => setReason(problemWords(problem))).then(() => setGiven(null));
  }, [given]);
  useEffect(() => watchKey(() => {
    const other = readKey();
    if (other === key) return;
    if (other ? page.current?.signedOut.value : page.current?.holds(LOGGED_OUT)) {
      if (other) renew(other);
      return;
    }
    setReason(other ? '' : LOGGED_OUT);
    setKey(other);
  }), [key]);
  if (given) return html`<${Entering} />`;
  return key ? html`<${Frame} key=${turn} secret=${key} ...${{ leave, page, renew }} />` : html`<${Login} enter=${enter} reason=${reason} />`;
}

const REFUSED = 'This key is no longer valid. It may have been revoked, or have expired.';
const LOGGED_OUT = 'You have logged out in another tab.';
const STILL_VALID = 'You are logged out here. The server did not answer, so the key of this page is still valid: revoke it in the list of keys.';

function Frame({ secret, leave, page: shown, renew }) {
  const [app] = useState(() => new App(secret, leave));
  useEffect(() => {
    shown.current = app;
    const end = app.begin();
    return () => {
      shown.current = null;
      end();
    };
  }, []);
  useEffect(() => app.renew(secret), [secret]);
  const route = useStore(app.router.current);
  const dialog = useStore(app.dialog);
  useLayoutEffect(() => app.dialog.set(null), [route]); // a dialog belongs to the place where it was opened; one that is opened next stays
  const before = useRef(route.name);
  useEffect(() => {
    if (before.current !== route.name) app.keepFocus(); // what had the focus may have gone with the page before
    before.current = route.name;
  }, [route.name]);
  const Page = PAGES[route.name] || ProfilesPage;
  const page = html`<${ErrorBoundary} key=${route.name} page=${Page} ...${{ route }} />`;
  return html`<${AppContext.Provider} value=${app}>
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); app.focusPage(); }}>Skip to content</a>
    ${FULL.includes(route.name) ? page : html`<div class="frame">
      <${ServerGone} />
      <${Sidebar} route=${route} />
      <main id="main">${page}</main>
    </div>`}
    ${dialog && html`<${dialog.component} key=${dialog.key} ...${dialog.props} />`}
    <${Discard} app=${app} />
    <${SignedOut} app=${app} renew=${renew} />
    <div class="corner"><${WorkArea} /><${ToastArea} toasts=${app.toasts} /></div>
  <//>`;
}

// Discard asks whether the changes of a form may be lost. It is a dialog of its own, over the form's.
function Discard({ app }) {
  const asking = useStore(app.asking);
  return asking && html`<${ConfirmDialog} title="Discard your changes?" verb="Discard" cancel="Keep editing" work=${async () => app.discard()} close=${() => app.asking.set(null)}>
    <p>Your changes are not saved.</p><//>`;
}

// SignedOut says that the key is refused, over the form that would be lost.
function SignedOut({ app, renew }) {
  const reason = useStore(app.signedOut);
  const enter = (fresh) => {
    saveKey(fresh, isOfThisTab());
    renew(fresh);
  };
  return reason && html`<${LogInAgain} reason=${reason} enter=${enter} leave=${() => app.giveUp()} close=${() => app.signedOut.set('')} />`;
}

// ServerGone says across the top that what is shown may be old, until the server is back.
function ServerGone() {
  const app = useApp();
  const offline = useStore(app.offline);
  return html`<div class="gone" role="alert">${offline && html`<p><${Icon} name="warning" /><strong>Warren does not answer.</strong> <span>What you see may be out of date. What you typed is kept. Trying again…</span></p>`}</div>`;
}

// ErrorBoundary keeps an error of one page from breaking the others.
function ErrorBoundary({ page: Page, route }) {
  const [error] = useErrorBoundary();
  if (!error) return html`<${Page} params=${route.params} path=${route.path} route=${route} />`;
  return html`<h1 tabindex="-1">Something went wrong</h1>
    <${ProblemBox} problem=${{ title: 'The page has an error', message: String(error), errors: [] }}>
      <button type="button" class="button small" onClick=${() => location.reload()}>Reload the page</button><//>`;
}

applyTheme();
render(html`<${Root} />`, document.body);
