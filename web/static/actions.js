// Actions on profiles and proxies that several pages offer, with their messages.
import { html } from './html.js';
import { NO_BROWSER } from './browsers.js';
import { Name } from './components.js';
import { ConfirmDialog } from './dialog.js';
import { count, keptFor, proxyName, since } from './format.js';
import { CheckDialog, ConnectDialog, ProxyDialog } from './lazy.js';
import { viewOf } from './preview.js';
import { href } from './route.js';
import { checkSentence, faultWords } from './words.js';

// NAMED is how many profiles are named when a proxy cannot be deleted.
const NAMED = 10;

// start starts a profile's browser. rows shows the changes. A proxy that is known to be dead is asked about first.
export async function start(app, profile, rows) {
  if (app.browsers.missing()) return app.toasts.say({ text: `${profile.name} was not started.`, more: NO_BROWSER, tone: 'bad' });
  const proxy = profile.proxyId && app.proxies.get(profile.proxyId);
  if (proxy?.status !== 'dead') return begin(app, profile, rows);
  const happened = faultWords(proxy.lastCheck?.error)?.happened || 'The last check failed.';
  return app.open(ConfirmDialog, {
    title: 'Start through a dead proxy?',
    verb: 'Start anyway',
    tone: 'primary',
    work: async () => { begin(app, profile, rows); },
    children: html`<p><${Name}>${proxyName(proxy)}<//>, the proxy of <${Name}>${profile.name}<//>, failed its last check. ${happened}</p>
      <p class="muted">Warren checks it again before the browser starts. Nothing goes out without it.</p>`,
  });
}

// begin starts a profile's browser without a question. body is that of the start.
export function begin(app, profile, rows, body) {
  return app.during(profile.id, async () => {
    rows?.patch(profile.id, { status: 'starting' });
    try {
      const run = await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/start`, body);
      rows?.patch(profile.id, { status: run.status || 'running', run });
      app.toasts.say({
        text: `${profile.name} is running.`,
        tone: 'good',
        actions: [
          { label: 'View', run: () => app.router.go(viewOf(profile.id)) },
          { label: 'Connect', run: () => app.open(ConnectDialog, { profile, run }) },
          run.warnings?.length > 0 && { label: count(run.warnings.length, 'note'), run: () => app.router.go(href('profiles', undefined, [profile.id])) },
        ],
      });
    } catch (problem) {
      app.fail(`${profile.name} did not start`, problem, remedy(app, profile, problem, rows));
    }
    rows?.again(profile.id);
  });
}

// beginMany starts the browsers of many profiles, a few at a time.
export function beginMany(app, profiles) {
  return app.works.each({
    title: `Starting ${count(profiles.length, 'profile')}`, items: profiles.map(({ id, name }) => ({ id, name })), size: 10,
    call: async (part, signal) => (await app.api.post('/profiles/batch', { action: 'start', ids: part.map(({ id }) => id) }, { signal })).results,
  });
}

// restart closes a running browser and starts it again, with the settings of now.
export function restart(app, profile, body) {
  return app.during(profile.id, async () => {
    try {
      await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/restart`, body);
      app.toasts.say({ text: `${profile.name} is running again.`, tone: 'good' });
    } catch (problem) {
      app.fail(`${profile.name} did not restart`, problem, remedy(app, profile, problem));
    }
  });
}

// connect shows the URLs of a running browser.
export function connect(app, profile, rows) {
  return app.during(profile.id, async () => {
    try {
      const run = await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/start`); // answers the present run
      app.open(ConnectDialog, { profile, run });
    } catch (problem) {
      app.fail(`The URLs of ${profile.name} could not be read`, problem);
    }
    rows?.again(profile.id);
  });
}

// remedy returns what the person can do at once about a failed start.
function remedy(app, profile, problem, rows) {
  const [newest] = problem.body?.snapshots || [];
  if (problem.code === 'profile_damaged' && newest) {
    return { label: `Go back to the snapshot of ${since(newest.createdAt, Date.now())}`, run: () => begin(app, profile, rows, { repair: true }) };
  }
  if (problem.code === 'profile_damaged') { // no snapshot opens either
    return { label: 'Set the damaged files aside', run: () => begin(app, profile, rows, { repair: true, setAside: true }) };
  }
  if (problem.code === 'proxy_missing' || problem.code === 'proxy_unreachable') {
    return { label: 'Choose a proxy', run: () => app.open(ProxyDialog, { profile }) };
  }
  return null;
}

export function stop(app, profile, rows) {
  return app.during(profile.id, async () => {
    rows?.patch(profile.id, { status: 'stopping' });
    try {
      await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/stop`);
      app.toasts.say({ text: profile.temporary ? `${profile.name} is stopped and deleted. It was temporary.` : `${profile.name} is stopped. Its tabs and cookies are kept.`, tone: 'good' });
    } catch (problem) {
      app.fail(`${profile.name} did not stop`, problem);
    }
    rows?.again(profile.id);
  });
}

export function askToDelete(app, profile, rows) {
  app.open(ConfirmDialog, {
    title: 'Move this profile to the trash?',
    verb: 'Move to trash',
    work: async () => {
      await app.api.delete(`/profiles/${encodeURIComponent(profile.id)}`);
      app.toasts.say({ text: `Moved ${profile.name} to the trash.`, action: { label: 'Undo', run: () => restore(app, profile, rows) } });
      await rows?.reload().catch(() => {});
    },
    children: html`<p><${Name}>${profile.name}<//> ${profile.status === 'running' ? 'is running. Its browser is closed first. The profile' : ''} goes
      to the trash with its cookies and data. You can restore it${keptFor(app.model.counts.value)}.</p>`,
  });
}

export function askToDestroy(app, profile, rows) {
  app.open(ConfirmDialog, {
    title: 'Delete this profile permanently?',
    verb: 'Delete permanently',
    work: async () => {
      await app.api.delete(`/profiles/${encodeURIComponent(profile.id)}`, { permanent: true });
      app.toasts.say({ text: `Deleted ${profile.name}.` });
      await rows.reload().catch(() => {});
    },
    children: html`<p><${Name}>${profile.name}<//> and its cookies, history and files are deleted now. This cannot be undone.</p>`,
  });
}

export function restore(app, profile, rows) {
  return app.during(profile.id, async () => {
    try {
      const restored = await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/restore`);
      app.toasts.say({
        text: `Restored ${profile.name}.`,
        more: restored?.proxyMissing ? 'Its proxy was deleted. Choose another before you start it.' : '',
        tone: 'good',
      });
    } catch (problem) {
      app.fail( `${profile.name} was not restored`, problem);
    }
    await rows?.reload().catch(() => {});
    app.keepFocus();
  });
}

// check checks a proxy. The server stores the result, and the proxy's row shows it.
export function check(app, proxy) {
  return app.during(proxy.id, async () => {
    try {
      const result = await app.api.post(`/proxies/${encodeURIComponent(proxy.id)}/check`);
      app.proxies.keep({ ...app.proxies.get(proxy.id) ?? proxy, lastCheck: result, status: result.status });
      app.toasts.say({
        text: `${proxyName(proxy)} is ${result.ok ? 'alive' : 'dead'}.`,
        more: result.ok ? checkSentence(result) : Object.values(faultWords(result.error) || {}).join(' '),
        tone: result.ok ? 'good' : 'plain',
        action: { label: 'Details', run: () => app.open(CheckDialog, { proxy, result }) },
      });
    } catch (problem) {
      app.fail( `${proxyName(proxy)} was not checked`, problem);
    }
  });
}

export function askToDeleteProxy(app, proxy) {
  app.open(ConfirmDialog, {
    title: 'Delete this proxy?',
    verb: 'Delete',
    work: async () => {
      try {
        await app.api.delete(`/proxies/${encodeURIComponent(proxy.id)}`);
      } catch (problem) {
        await nameUsers(app, proxy, problem);
        throw problem;
      }
      app.toasts.say({ text: `Deleted ${proxyName(proxy)}.` });
    },
    children: html`<p><${Name}>${proxyName(proxy)}<//> and its saved password are removed. ${proxy.profileCount > 0
      ? html`<strong>${count(proxy.profileCount, 'profile uses', 'profiles use')} it.</strong> Give them another first: <a href=${href('profiles', new URLSearchParams({ proxyId: proxy.id }))}>show them</a>.` : 'No profile uses it.'}</p>`,
  });
}

// nameUsers adds to a refusal the names of the profiles that use the proxy. The refusal has only their ids.
async function nameUsers(app, proxy, problem) {
  if (problem.code !== 'proxy_in_use') return;
  const users = await app.api.get('/profiles', { proxyId: proxy.id, sort: 'name', order: 'asc', limit: NAMED }).catch(() => null);
  problem.users = users?.data || [];
  problem.moreUsers = (users?.total || 0) - problem.users.length;
}
