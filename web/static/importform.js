// Imports a list of proxies, pasted or from a file, with an optional trial and the result of each line.
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Dialog } from './dialog.js';
import { count } from './format.js';
import { Choice, Form, Lines, TagField, useForm } from './forms.js';
import { useStore } from './store.js';
import { PROXY_TYPES } from './words.js';

const SHOWN = 100; // lines without a proxy that are shown
const KINDS = { csv: 'text/csv', json: 'application/json' };

export function ImportForm({ close }) {
  const app = useApp();
  const workspace = useStore(app.model.workspace);
  const form = useForm({ text: '', kind: 'text/plain', type: 'socks5', tags: [] });
  const [result, setResult] = useState(null);
  const send = (dryRun) => async ({ text, kind, type, tags }) => {
    setResult(null);
    const answer = await app.api.send('/proxies/import', { workspaceId: workspace, type, tag: tags, dryRun: dryRun || '' }, kind, text);
    setResult({ ...answer, dryRun });
    if (dryRun) return;
    form.setAll({ ...form.values, text: '', kind: 'text/plain' });
    app.toasts.say({ text: `${count(answer.created, 'proxy', 'proxies')} imported.`, tone: answer.created ? 'good' : 'plain' });
  };
  const read = async (event) => {
    const [file] = event.currentTarget.files;
    if (!file) return;
    const [, ending] = /\.([a-z]+)$/i.exec(file.name) || [];
    form.setAll({ ...form.values, text: await file.text(), kind: KINDS[ending?.toLowerCase()] || 'text/plain' });
  };
  const foot = html`
    <button type="button" class="button apart" disabled=${form.busy || !form.values.text} onClick=${() => form.send(send(true))}>Try first</button>
    <button type="button" class="button" onClick=${close}>${result && !result.dryRun ? 'Done' : 'Cancel'}</button>
    <button class="button primary" disabled=${form.busy || !form.values.text}>${form.busy ? 'One moment…' : 'Import'}</button>`;
  return html`<${Dialog} sheet title="Import proxies" lead="At most 10,000 lines at a time" close=${close}>
    <${Form} form=${form} work=${send(false)} foot=${foot}>
      <div class="fields">
        <${Lines} form=${form} name="text" label="List" rows=${10} class="mono" wrap="off" spellcheck=${false} autofocus placeholder=${'host:port:user:password\nuser:password@host:port\nsocks5://user:password@host:port'}
          hint="One proxy a line. A line that can be read in two ways makes nothing and is shown below." />
        <div class="field wide"><label>Or a file <input type="file" accept=".txt,.csv,.json,text/plain,text/csv,application/json" onChange=${read} /></label></div>
        <${Choice} form=${form} name="type" label="Type of lines without one" options=${Object.entries(PROXY_TYPES)} />
        <${TagField} form=${form} name="tags" label="Tags for all" hint="Enter or a comma ends a tag." />
      </div>
      <div role="status">${result && html`<${Outcome} result=${result} />`}</div>
    <//>
  <//>`;
}

// Outcome shows the result of the import, and of each line without a proxy.
function Outcome({ result }) {
  const rest = result.results.filter((line) => line.result !== 'created');
  const parts = [[result.created, result.dryRun ? 'would be imported' : 'imported'], [result.duplicate, 'there already'], [result.ambiguous, 'ambiguous'], [result.invalid, 'not a proxy']];
  return html`<div class="panel">
    <p><strong>${parts.filter(([n]) => n > 0).map(([n, words]) => `${n} ${words}`).join(', ') || 'Nothing to import'}.</strong></p>
    ${rest.length > 0 && html`<ul class="import-lines">${rest.slice(0, SHOWN).map((line) => html`<li key=${line.line}>
      <strong>Line ${line.line}</strong> ${line.reason}${line.readings.map((reading) => html`<br key=${reading} /><span class="mono">${reading}</span>`)}</li>`)}</ul>`}
    ${rest.length > SHOWN && html`<p class="hint">And ${rest.length - SHOWN} more.</p>`}
  </div>`;
}
