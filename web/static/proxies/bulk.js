// What can be done with many proxies at once.
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { ConfirmDialog } from '../dialog.js';
import { count, proxyName } from '../format.js';
import { BulkBar } from '../grid/bulkbar.js';
import { chosenOf } from '../grid/chosen.js';
import { TagDialog } from '../lazy.js';

const AT_ONCE = 4;

// one calls `call` for each item of a part, and returns a result each.
function one(call) {
  return (part) => Promise.all(part.map((item) => call(item).then(() => ({ id: item.id }), (error) => ({ id: item.id, error }))));
}

// ProxyBulk is the bar for chosen proxies.
export function ProxyBulk({ selection, rows, total }) {
  const app = useApp();
  const size = () => selection.size(total);
  const begin = (verb, call, part = AT_ONCE) => chosenOf(app.api, '/proxies', { selection, query: rows.query, name: proxyName }).then((items) => {
    selection.clear();
    return app.works.each({ title: `${verb} ${count(items.length, 'proxy', 'proxies')}`, items, size: part, call });
  }).catch((problem) => app.fail('Nothing was started', problem));
  const path = ({ id }) => `/proxies/${encodeURIComponent(id)}`;
  const check = () => begin('Checking', one((item) => app.api.post(`${path(item)}/check`)), 16);
  const remove = () => app.open(ConfirmDialog, {
    title: `Delete ${count(size(), 'proxy', 'proxies')}?`, verb: 'Delete', work: async () => { begin('Deleting', one((item) => app.api.delete(path(item)))); },
    children: html`<p>Their saved passwords are removed. Proxies that profiles still use are kept, and listed afterwards.</p>`,
  });
  const tag = (action, tags) => begin('Tagging', one(async (item) => {
    const now = await app.api.get(path(item));
    const next = action === 'tag' ? [...new Set([...now.tags, ...tags])] : now.tags.filter((other) => !tags.includes(other));
    await app.api.put(path(item), { tags: next });
  }));
  return html`<${BulkBar} selection=${selection} total=${total} atLeast=${rows.view.value.atLeast} what="proxies" actions=${[
    { label: 'Check', icon: 'pulse', run: check },
    { label: 'Tag…', icon: 'tag', run: () => app.open(TagDialog, { size: size(), tag }) },
    { label: 'Delete', icon: 'trash', danger: true, run: remove },
  ]} />`;
}
