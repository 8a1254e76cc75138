// The dialog that adds proxies: the box, or a proxy's fields.
import { html } from '../../html.js';
import { check } from '../../actions.js';
import { useApp } from '../../app-context.js';
import { Dialog } from '../../dialog.js';
import { count } from '../../format.js';
import { Form, useForm } from '../../forms.js';
import { ProxyForm } from '../../proxyform.js';
import { useStore } from '../../store.js';
import { boxValues, ProxyBox } from './box.js';
import { useReading } from './reading.js';
import { addProxies } from './send.js';

// AddProxies takes proxies in any form. done is called with {answer, ids}.
export function AddProxies({ done, close }) {
  const app = useApp();
  const workspaceId = useStore(app.model.workspace);
  const form = useForm(boxValues());
  const reading = useReading({ ...form.values, workspaceId });
  const ready = reading.answer?.created ?? 0;
  const send = async (values) => {
    const added = await addProxies(app, { values, choices: reading.choices, workspaceId });
    done?.(added);
    if (!added.rest) return close();
    form.setAll({ ...values, text: added.rest }); // what could not be read stays, to be mended
    return reading.again();
  };
  const foot = html`<button type="button" class="button apart" disabled=${form.busy} onClick=${() => app.open(ProxyForm, { done: (proxy) => check(app, proxy) })}>Enter fields instead</button>
    <button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" aria-keyshortcuts="Control+Enter Meta+Enter" title="Ctrl Enter" disabled=${form.busy || !form.values.text.trim() || (reading.answer && !ready)}>${form.busy ? 'Adding…' : ready > 1 ? `Add ${count(ready, 'proxy', 'proxies')}` : 'Add'}</button>`;
  return html`<${Dialog} sheet title="Add proxies" lead="They are checked at once." close=${close}>
    <${Form} form=${form} work=${send} foot=${foot}><${ProxyBox} form=${form} reading=${reading} rows=${10} autofocus /><//><//>`;
}
