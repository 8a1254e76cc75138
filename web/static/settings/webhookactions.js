// The state of a webhook, and what can be done with it.
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Ago, Status } from '../components.js';
import { ConfirmDialog } from '../dialog.js';
import { Icon } from '../icons.js';
import { Menu } from '../menu.js';
import { activityOf } from '../route.js';
import { RotateDialog, WebhookDialog } from './webhookform.js';
import { TestDialog } from './webhooktest.js';

// stateOf returns a webhook's state. `why` is more about it.
function stateOf({ enabled, disabledReason, failingSince }) {
  if (disabledReason === 'gone') return { text: 'Off', tone: 'bad', why: 'The endpoint answered 410' };
  if (disabledReason) return { text: 'Off', tone: 'bad', why: 'It failed for five days' };
  if (!enabled) return { text: 'Off', tone: 'quiet' };
  return failingSince ? { text: 'Failing', tone: 'bad', since: failingSince } : { text: 'On', tone: 'good' };
}

export function State({ webhook }) {
  const state = stateOf(webhook);
  return html`<span class=${state.why || state.since ? 'two-lines' : ''}><${Status} of=${state} />${state.why ? html`<span class="sub">${state.why}</span>` : state.since && html`<span class="sub">First <${Ago} time=${state.since} /></span>`}</span>`;
}

// Actions are what can be done with a webhook, in its row and on its page. gone is called when it was deleted.
export function Actions({ webhook, reload, gone = reload }) {
  const app = useApp();
  const { id, url, enabled } = webhook;
  return html`<div class="actions"><button type="button" class="button small" aria-label=${`Test ${url}`} onClick=${() => app.open(TestDialog, { webhook })}><${Icon} name="pulse" />Test</button>
    <${Menu} label=${`More for ${url}`} items=${[
      { label: 'Edit', icon: 'edit', run: () => app.open(WebhookDialog, { webhook, done: reload }) },
      { label: enabled ? 'Switch off' : 'Switch on', icon: enabled ? 'stop' : 'play', run: () => turn(app, webhook, reload) },
      { label: 'New secret', icon: 'key', run: () => app.open(RotateDialog, { webhook, done: reload }) },
      { label: 'Activity', icon: 'activity', run: () => app.router.go(activityOf(id)) },
      'line',
      { label: 'Delete', icon: 'trash', danger: true, run: () => askToDelete(app, webhook, gone) },
    ]} /></div>`;
}

async function turn(app, { id, enabled }, reload) {
  try {
    await app.api.put(`/webhooks/${encodeURIComponent(id)}`, { enabled: !enabled });
    app.toasts.say({ text: `The webhook is switched ${enabled ? 'off. What is waiting to be sent waits.' : 'on.'}` });
  } catch (problem) {
    app.fail('The webhook was not changed', problem);
  }
  await reload();
}

function askToDelete(app, { id, url }, gone) {
  app.open(ConfirmDialog, {
    title: 'Delete this webhook?',
    verb: 'Delete',
    work: async () => {
      await app.api.delete(`/webhooks/${encodeURIComponent(id)}`).catch((problem) => { if (problem.status !== 404) throw problem; });
      app.toasts.say({ text: 'Deleted the webhook.' });
      await gone();
    },
    children: html`<p><bdi class="path">${url}</bdi> is told of nothing more. What is waiting to be sent to it is dropped. This cannot be undone.</p>`,
  });
}
