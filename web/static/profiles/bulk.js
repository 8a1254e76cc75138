// What can be done with many profiles at once.
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { NO_BROWSER } from '../browsers.js';
import { ConfirmDialog } from '../dialog.js';
import { count, keptFor } from '../format.js';
import { BulkBar } from '../grid/bulkbar.js';
import { ExportDialog, ProxyBulkDialog, TagBulkDialog } from '../lazy.js';

const PART = { start: 10, restart: 10, stop: 20 }; // profiles a request; others: 200
const REST = 200;

const VERBS = { __proto__: null, start: 'Starting', stop: 'Stopping', restart: 'Restarting', delete: 'Moving to the trash', restore: 'Restoring',
  tag: 'Tagging', untag: 'Removing tags from', setProxy: 'Setting the proxy of' };

// batch does one action on the chosen profiles: a request for each part of those chosen by id, or one job of the server for all that match.
export function batch(app, { selection, query, total, action, members = {} }) {
  const { all, ids } = selection.state.value;
  const title = (n) => `${VERBS[action]} ${count(n, 'profile')}`;
  selection.clear();
  const send = (items) => app.works.each({
    title: title(items.length), items, size: PART[action] || REST,
    call: async (part, signal) => (await app.api.post('/profiles/batch', { action, ...members, ids: part.map(({ id }) => id) }, { signal })).results,
  });
  if (!all) return send([...ids].map(([id, name]) => ({ id, name })));
  const job = (filter) => app.works.follow({
    title: title(total), api: app.api, events: app.model.event,
    start: () => app.api.post('/profiles/batch', { action, ...members, filter }),
    retry: ({ id }) => job({ failedIn: id }),
  }).catch((problem) => app.fail(`${title(total)} did not begin`, problem));
  return job(filterOf(query, [...ids.keys()]));
}

// filterOf returns a batch's filter for a list's query.
function filterOf({ tag, neverStarted, trashed, ...query }, except) {
  const filter = Object.fromEntries(Object.entries(query).filter(([name, value]) => value && !['sort', 'order'].includes(name)));
  if (tag?.length) filter.tag = tag;
  if (neverStarted) filter.neverStarted = neverStarted === 'true';
  if (trashed) filter.trashed = true;
  if (except.length) filter.except = except;
  return filter;
}

// ProfileBulk is the bar for chosen profiles.
export function ProfileBulk({ selection, rows, total }) {
  const app = useApp();
  const todo = (action, members) => batch(app, { selection, query: rows.query, total: selection.size(total), action, members });
  const begin = (action) => (app.browsers.missing() ? app.toasts.say({ text: 'Nothing was started.', more: NO_BROWSER, tone: 'bad' }) : todo(action));
  const ask = (component, props) => app.open(component, { ...props, size: selection.size(total), todo });
  return html`<${BulkBar} selection=${selection} total=${total} atLeast=${rows.view.value.atLeast} what="profiles" actions=${[
    { label: 'Start', icon: 'play', run: () => begin('start') },
    { label: 'Stop', icon: 'stop', run: () => todo('stop') },
    { label: 'Proxy…', icon: 'proxies', run: () => ask(ProxyBulkDialog) },
    { label: 'Tag…', icon: 'tag', run: () => ask(TagBulkDialog) },
  ]} more=${[
    { label: 'Restart', icon: 'reload', run: () => begin('restart') },
    { label: 'Export', icon: 'download', run: () => exportChosen(app, selection, rows.query, total) },
    'line',
    { label: 'Move to trash', icon: 'trash', danger: true, run: () => ask(TrashBulk) },
  ]} />`;
}

const MOST = 1000; // profiles of one archive

// exportChosen asks how to seal an archive of the chosen profiles. Those that match a filter are read first.
async function exportChosen(app, selection, query, total) {
  const { all, ids } = selection.state.value;
  if (selection.size(total) > MOST) return app.toasts.say({ text: 'Nothing was exported.', more: `Export at most ${MOST.toLocaleString('en')} profiles at a time.`, tone: 'bad' });
  let profiles = [...ids].map(([id, name]) => ({ id, name }));
  if (all) {
    profiles = [];
    try {
      for (let after; after !== null && profiles.length < MOST;) {
        const { data, next } = await app.api.get('/profiles', { ...query, limit: 200, after });
        profiles.push(...data.filter(({ id }) => !ids.has(id)));
        after = next || null;
      }
    } catch (problem) {
      return app.fail('The profiles could not be read', problem);
    }
  }
  app.open(ExportDialog, { profiles });
}

function TrashBulk({ size, todo, close }) {
  const { model } = useApp();
  return html`<${ConfirmDialog} title=${`Move ${count(size, 'profile')} to the trash?`} verb="Move to trash" work=${async () => { todo('delete'); }} close=${close}>
    <p>Running browsers are closed first. The profiles can be restored${keptFor(model.counts.value)}, with their cookies and data.</p><//>`;
}
