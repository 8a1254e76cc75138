// Views: filters and an order under a name, kept in the browser.
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Dialog } from './dialog.js';
import { Form, Text, useForm } from './forms.js';

// sameView says whether parameters are those of a view, in any order.
export function sameView(view, params) {
  const sorted = (all) => [...new URLSearchParams(all)].map((pair) => pair.join('=')).sort().join('&');
  return sorted(view) === sorted(params);
}

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
