// The question before cookies are deleted.
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { ConfirmDialog, useTold } from '../../dialog.js';
import { count, number } from '../../format.js';
import { bare, keyOf } from './jar.js';

const NAMED = 5; // domains that are named

// DeleteDialog deletes cookies, and lets the person put them back.
export function DeleteDialog({ cookies, jar, done, close }) {
  const app = useApp();
  const told = useTold('The cookies were not deleted');
  const gone = cookies.filter(({ partitionKeyOpaque }) => !partitionKeyOpaque);
  const opaque = cookies.length - gone.length;
  const domains = [...new Set(gone.map(({ domain }) => bare(domain)))];
  const work = () => told(async () => {
    const { removed } = await jar.change([], gone.map(keyOf));
    done();
    app.toasts.say({
      text: `Deleted ${count(removed, 'cookie')}.`, more: removed < gone.length ? `${number(gone.length - removed)} had gone already.` : '',
      action: removed > 0 && { label: 'Undo', run: () => putBack(app, jar, gone) },
    });
  });
  return html`<${ConfirmDialog} title=${`Delete ${count(gone.length, 'cookie')}?`} verb="Delete" doing="Deleting…" ...${{ work, close }}>
    <p>${gone.length === 1 ? html`The cookie <bdi>${gone[0].name || 'without a name'}</bdi> of <bdi>${gone[0].domain}</bdi> is deleted.` : html`Cookies of ${domains.slice(0, NAMED).map((domain, i) => html`${i ? ', ' : ''}<bdi>${domain}</bdi>`)}${domains.length > NAMED && ` and ${count(domains.length - NAMED, 'other domain')}`} are deleted.`} Sites may ask the profile to log in again.</p>
    ${opaque > 0 && html`<p class="muted">${opaque === 1 ? '1 cookie of an opaque partition stays: it ends with its page.' : `${number(opaque)} cookies of opaque partitions stay: they end with their pages.`}</p>`}<//>`;
}

// putBack sets cookies again that were deleted.
async function putBack(app, jar, cookies) {
  try {
    const { taken } = await jar.change(cookies);
    app.toasts.say({ text: `Put back ${count(taken, 'cookie')}.`, more: taken < cookies.length ? `${number(cookies.length - taken)} were refused: they may have expired.` : '', tone: taken < cookies.length ? 'wait' : 'good' });
  } catch (problem) {
    app.fail('The cookies were not put back', problem);
  }
  app.keepFocus(); // the message with the button is gone
}
