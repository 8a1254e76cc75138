// The live view for a logged-in person: it uses the key, and offers what only a login may do.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Name } from '../components.js';
import { ConfirmDialog } from '../dialog.js';
import { href } from '../route.js';
import { useStore } from '../store.js';
import { problemTitle, problemWords } from '../words.js';
import { KeyAccess, LiveLink } from './link.js';
import { LiveView } from './view.js';

const LISTED = 100; // downloads in the list

export function LivePage({ params }) {
  const app = useApp();
  const id = params.get('profile') || '';
  const readonly = params.has('readonly');
  const link = useMemo(() => new LiveLink(new KeyAccess(app.api, id, readonly)), [app, id, readonly]);
  const profile = useProfile(app, id);
  useEffect(() => link.begin(), [link]);
  const starting = useStore(app.busy).has(id);
  const actions = useMemo(() => new Actions(app, id, link), [app, id, link]);
  const owner = {
    profile, starting, home: href('profiles'),
    start: () => actions.start(profile),
    stop: (drivers) => actions.stop(profile, drivers),
    screenshot: (tab, whole) => actions.screenshot(tab, whole),
    downloads: () => actions.downloads(),
    download: (name) => actions.download(name),
  };
  return html`<${LiveView} link=${link} owner=${owner} />`;
}

// useProfile reads the profile, and again when an event is about it: its name, its proxy and its exit may change meanwhile.
function useProfile(app, id) {
  const [profile, setProfile] = useState(null);
  const event = useStore(app.model.event);
  const turn = useRef(0);
  const about = event?.type === 'everything' || event?.data?.id === id || event?.data?.profileId === id ? event : null;
  const last = useRef(null);
  if (about) last.current = about;
  useEffect(() => {
    const mine = ++turn.current; // of two answers the later question's counts
    app.api.get(`/profiles/${encodeURIComponent(id)}`).then((answer) => mine === turn.current && setProfile(answer), () => {}); // the connection shows the reason
  }, [app, id, last.current]);
  return profile;
}

// Actions are what a login may do with the run.
class Actions {
  #app;
  #link;
  #id;
  #path;

  constructor(app, id, link) {
    this.#app = app;
    this.#id = id;
    this.#link = link;
    this.#path = `/profiles/${encodeURIComponent(id)}`;
  }

  start(profile) {
    return this.#app.during(this.#id, async () => {
      try {
        await this.#app.api.post(`${this.#path}/start`);
        this.#link.connect();
      } catch (problem) {
        this.#failed(`${nameOf(profile)} did not start`, problem);
      }
    });
  }

  // stop asks first if somebody else drives; `drivers` says who.
  stop(profile, drivers) {
    if (!drivers) {
      return this.#stop().then(() => this.#app.toasts.say({ text: `${nameOf(profile)} is closed. Its tabs and cookies are kept.`, tone: 'good' }),
        (problem) => this.#failed(`${nameOf(profile)} did not stop`, problem));
    }
    return this.#app.open(ConfirmDialog, {
      title: 'Stop this browser?',
      verb: 'Stop',
      work: () => this.#stop(),
      children: html`<p>${drivers}. <${Name}>${nameOf(profile)}<//> is closed for everybody. Its tabs and cookies are kept.</p>`,
    });
  }

  #stop() {
    return this.#app.api.post(`${this.#path}/stop`);
  }

  // screenshot returns a picture of a tab, of the whole page or of what is seen, as a PNG.
  async screenshot(tab, whole) {
    const query = new URLSearchParams({ tab, fullPage: String(whole) });
    return (await this.#open(`screenshot?${query}`)).blob();
  }

  async downloads() {
    return (await this.#app.api.get(`${this.#path}/downloads`, { limit: LISTED })).data;
  }

  async download(name) {
    return (await this.#open(`downloads/${encodeURIComponent(name)}`)).blob();
  }

  #open(rest) {
    return this.#app.api.open('GET', `api/v1${this.#path}/${rest}`);
  }

  #failed(text, problem) {
    this.#app.toasts.say({ text, more: `${problemTitle(problem)}. ${problemWords(problem)}`, tone: 'bad' });
  }
}

function nameOf(profile) {
  return profile?.name || 'The profile';
}
