// Actions on profiles and proxies that several pages offer, with their messages.
import { html } from './html.js';
import { CheckDialog } from './checkresult.js';
import { Name } from './components.js';
import { ConnectDialog } from './connect.js';
import { ConfirmDialog, ProblemDialog } from './dialog.js';
import { count, proxyName } from './format.js';
import { ProxyDialog } from './proxychoice.js';
import { href } from './route.js';
import { checkSentence, faultWords, problemTitle, problemWords } from './words.js';

// NAMED is how many profiles are named when a proxy cannot be deleted.
const NAMED = 10;

// start starts a profile's browser, or gets the addresses of the running one. list shows the changes.
export function start(app, profile, list) {
  return app.during(profile.id, async () => {
    if (profile.status !== 'running') list.patch(profile.id, { status: 'starting' });
    try {
      const run = await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/start`);
      list.patch(profile.id, { status: run.status || 'running', run });
      const connect = () => app.open(ConnectDialog, { profile, run });
      if (app.dialog.value) app.toasts.say({ text: `${profile.name} is running.`, tone: 'good', action: { label: 'Connect', run: connect } });
      else connect();
    } catch (problem) {
      showFailure(app, `${profile.name} did not start`, problem, remedy(app, profile, problem));
    }
    list.again(profile.id);
  });
}

// remedy returns what the person can do at once about a failed start.
function remedy(app, profile, problem) {
  if (problem.code === 'proxy_missing' || problem.code === 'proxy_unreachable') {
    return { label: 'Choose a proxy', run: () => app.open(ProxyDialog, { profile }) };
  }
  return null;
}

export function stop(app, profile, list) {
  return app.during(profile.id, async () => {
    list.patch(profile.id, { status: 'stopping' });
    try {
      await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/stop`);
      app.toasts.say({ text: `${profile.name} is closed. Its tabs and cookies are kept.`, tone: 'good' });
    } catch (problem) {
      showFailure(app, `${profile.name} did not stop`, problem);
    }
    list.again(profile.id);
  });
}

export function askToDelete(app, profile, list) {
  app.open(ConfirmDialog, {
    title: 'Move this profile to the trash?',
    verb: 'Move to trash',
    work: async () => {
      await app.api.delete(`/profiles/${encodeURIComponent(profile.id)}`);
      app.toasts.say({ text: `${profile.name} is in the trash.`, action: { label: 'Undo', run: () => restore(app, profile, list) } });
      await list.reload();
    },
    children: html`<p><${Name}>${profile.name}<//> ${profile.status === 'running' ? 'is running: its browser is closed first, in good order. The profile' : ''} goes
      to the trash with its cookies and data, and can be restored from there.</p>`,
  });
}

export function askToDestroy(app, profile, list) {
  app.open(ConfirmDialog, {
    title: 'Delete this profile for good?',
    verb: 'Delete for good',
    work: async () => {
      await app.api.delete(`/profiles/${encodeURIComponent(profile.id)}`, { permanent: true });
      app.toasts.say({ text: `${profile.name} is deleted.` });
      await list.reload();
    },
    children: html`<p><${Name}>${profile.name}<//> and its cookies, history and files are removed now. This cannot be undone.</p>`,
  });
}

export function restore(app, profile, list) {
  return app.during(profile.id, async () => {
    try {
      const restored = await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/restore`);
      app.toasts.say({
        text: `${profile.name} is back.`,
        more: restored?.proxyMissing ? 'Its proxy was deleted meanwhile. Choose another before you start it.' : '',
        tone: 'good',
      });
    } catch (problem) {
      showFailure(app, `${profile.name} was not restored`, problem);
    }
    await list.reload();
    app.keepFocus();
  });
}

// check checks a proxy. The server stores the result, and the proxy's row shows it.
export function check(app, proxy) {
  return app.during(proxy.id, async () => {
    try {
      const result = await app.api.post(`/proxies/${encodeURIComponent(proxy.id)}/check`);
      app.model.keepProxy({ ...app.model.proxies.value?.get(proxy.id) ?? proxy, lastCheck: result, status: result.status });
      app.toasts.say({
        text: `${proxyName(proxy)} ${result.ok ? 'works' : 'does not work'}.`,
        more: result.ok ? checkSentence(result) : Object.values(faultWords(result.error) || {}).join(' '),
        tone: result.ok ? 'good' : 'plain',
        action: { label: 'Details', run: () => app.open(CheckDialog, { proxy, result }) },
      });
    } catch (problem) {
      showFailure(app, `${proxyName(proxy)} was not checked`, problem);
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
      app.model.dropProxy(proxy.id);
      app.toasts.say({ text: `${proxyName(proxy)} is deleted.` });
    },
    children: html`<p><${Name}>${proxyName(proxy)}<//> and its saved password are removed. ${proxy.profileCount > 0
      ? html`<strong>${count(proxy.profileCount, 'profile uses', 'profiles use')} it.</strong> Warren refuses until they have another: <a href=${href('profiles', new URLSearchParams({ proxyId: proxy.id }))}>show them</a>.` : 'No profile uses it.'}</p>`,
  });
}

// nameUsers adds to a refusal the names of the profiles that use the proxy. The refusal has only their ids.
async function nameUsers(app, proxy, problem) {
  if (problem.code !== 'proxy_in_use') return;
  const users = await app.api.get('/profiles', { proxyId: proxy.id, sort: 'name', order: 'asc', limit: NAMED }).catch(() => null);
  problem.users = users?.data || [];
  problem.moreUsers = (users?.total || 0) - problem.users.length;
}

// showFailure shows a failed action: in a dialog, or as a message if a dialog is open.
export function showFailure(app, subject, problem, action) {
  if (app.dialog.value) app.toasts.say({ text: subject, more: `${problemTitle(problem)}. ${problemWords(problem)}`, tone: 'bad', action });
  else app.open(ProblemDialog, { subject, problem, action });
}
