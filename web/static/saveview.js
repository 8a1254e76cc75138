// The dialog that keeps a view under a name.
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Dialog } from './dialog.js';
import { Form, Text, useForm } from './forms.js';

export function SaveView({ params, close }) {
  const app = useApp();
  const form = useForm({ label: '' });
  const save = async ({ label }) => {
    app.saveView({ label: label.trim(), params });
    close();
  };
  return html`<${Dialog} title="Save this view" lead="It is kept in this browser, in the sidebar." close=${close}><${Form} form=${form} work=${save} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${!form.values.label.trim()}>Save</button>`}>
    <${Text} form=${form} name="label" label="Name" autofocus maxlength="40" placeholder="Shops in Germany" /><//><//>`;
}
