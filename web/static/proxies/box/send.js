// Adds the proxies of a box, and checks them at once.
import { checkMany } from '../../checkall.js';
import { count } from '../../format.js';
import { bodyOf, kindOf, queryOf } from './reading.js';

// addProxies imports what a box holds, and begins to check it. It returns {answer, ids, rest}: rest are the lines that made nothing and may be mended.
export async function addProxies(app, { values, choices, workspaceId }) {
  const { text, tags } = values;
  const kind = kindOf(text);
  const answer = await app.api.send('/proxies/import', queryOf({ ...values, workspaceId, choices }), kind, bodyOf(text));
  const ids = answer.results.filter(({ id }) => id).map(({ id }) => id);
  const bad = new Set(answer.results.filter(({ result }) => ['invalid', 'ambiguous'].includes(result)).map(({ line }) => line));
  const rest = !bad.size ? '' : kind === 'text/plain' ? text.split('\n').filter((_, i) => bad.has(i + 1)).join('\n') : text;
  const skipped = answer.duplicate > 0 ? `${count(answer.duplicate, 'duplicate was', 'duplicates were')} skipped.` : '';
  if (ids.length) app.toasts.say({ text: `Added ${count(ids.length, 'proxy', 'proxies')}.`, more: skipped, tone: 'good' });
  else app.toasts.say({ text: 'Nothing was added.', more: skipped });
  const checked = ids.length ? checkMany(app, { ids, tags }) : null;
  return { answer, ids, rest, checked };
}
