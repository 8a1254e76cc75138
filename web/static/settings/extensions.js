// The extensions: what each may do, and how to add and delete them.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Ago, Empty, Name, Notice } from '../components.js';
import { ConfirmDialog, Dialog, useTold } from '../dialog.js';
import { bytes, count } from '../format.js';
import { Form, useForm } from '../forms.js';
import { Grid } from '../grid/grid.js';
import { ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList } from '../grid/use.js';
import { Icon } from '../icons.js';
import { Missing } from './read.js';

const may = ({ may: words }) => words.join('. ') || 'Nothing of note';

const COLUMNS = [
  { id: 'name', label: 'Extension', min: 190, grow: 2, always: true, draw: ({ name, extensionId }) => html`<span class="two-lines"><span class="title" title=${name}><${Name}>${name}<//></span><span class="sub mono">${extensionId}</span></span>` },
  { id: 'version', label: 'Version', width: 110, rank: 1, card: true, draw: ({ version }) => html`<span class="number">${version}</span>` },
  { id: 'may', label: 'It may', min: 220, grow: 3, rank: 2, draw: (one) => html`<span class="one-line" title=${may(one)}>${may(one)}</span>` },
  { id: 'workspace', label: 'Workspace', min: 110, grow: 1, rank: 5, draw: ({ workspaceId }) => html`<bdi class="one-line">${workspaceId}</bdi>` },
  { id: 'size', label: 'Size', width: 96, numeric: true, rank: 4, card: true, draw: ({ bytes: size }) => html`<span class="number">${bytes(size)}</span>` },
  { id: 'created', label: 'Added', width: 112, rank: 6, draw: ({ createdAt }) => html`<span class="muted"><${Ago} time=${createdAt} /></span>` },
];

export function Extensions() {
  const app = useApp();
  const { rows, selection, view } = useList('/extensions', {}, ({ type }, list) => type.startsWith('extension.') && list.changed(null, true));
  const columns = useColumns('extensions', () => COLUMNS);
  const { total, problem } = view;
  const reload = () => rows.reload().catch(() => {});
  const add = () => app.open(AddDialog, { done: reload });
  return html`
    <div class="settings-head"><p class="lead">Extensions that profiles can have. Chrome loads those of a profile before its first page. They get no files of this computer.</p>
      <div class="tools"><${ViewMenu} columns=${columns} /><button type="button" class="button primary" onClick=${add}><${Icon} name="plus" /><span>Add an extension</span></button></div></div>
    <${Missing} problem=${problem} what="the extensions" scope="read" />
    ${total === 0 ? html`<${Empty} title="No extensions yet" drawing=${false}><p>Add a zip of an extension’s folder, or a CRX file. Then choose it in a profile.</p><//>` : html`<div class="page-body"><${Grid} label="Extensions" ...${{ rows, columns, selection }} ticks=${false} what=${({ name }) => name}
      actionsWidth=${104} actions=${(one) => html`<div class="actions"><button type="button" class="button small" aria-label=${`Delete ${one.name} ${one.version}`} onClick=${() => askToDelete(app, one, reload)}>Delete</button></div>`} /></div>`}
    <p class="visually-hidden" role="status">${total !== null && count(total, 'extension')}</p>`;
}

function askToDelete(app, { id, name, version }, reload) {
  app.open(ConfirmDialog, {
    title: 'Delete this extension?',
    verb: 'Delete',
    work: async () => {
      try {
        await app.api.delete(`/extensions/${encodeURIComponent(id)}`);
      } catch (problem) {
        if (problem.code === 'extension_in_use') await nameUsers(app, problem);
        throw problem;
      }
      app.toasts.say({ text: `${name} ${version} is deleted.` });
      await reload();
    },
    children: html`<p><${Name}>${name}<//> ${version} can then be chosen no more. What profiles have kept with it stays in their data. While a profile has it, it cannot be deleted.</p>`,
  });
}

const NAMED = 10; // profiles

// nameUsers adds to a refusal the names of the first profiles that have the extension. The refusal has only their ids.
async function nameUsers(app, problem) {
  const ids = problem.body.profileIds || [];
  const read = (id) => app.api.get(`/profiles/${encodeURIComponent(id)}`).catch(() => null);
  problem.users = (await Promise.all(ids.slice(0, NAMED).map(read))).filter(Boolean);
  problem.moreUsers = ids.length - problem.users.length;
}

// worded says of a package that is there already which one that is.
function worded(problem) {
  if (problem.code === 'duplicate') Object.assign(problem, { code: 'package_there', title: 'This package is here already', detail: 'Nothing was added. Choose it in the form of a profile.' });
  return problem;
}

// AddDialog takes a package, shows what it may do, and adds it.
function AddDialog({ done, close }) {
  const app = useApp();
  const [file, setFile] = useState(null);
  const [found, setFound] = useState(null);
  const ending = useRef(null);
  const form = useForm({});
  const told = useTold('The extension was not added');
  const send = (dryRun) => {
    const { signal } = (ending.current = new AbortController());
    return app.api.upload('/extensions', { workspaceId: app.model.workspace.value, dryRun: dryRun || undefined }, { 'Content-Type': 'application/octet-stream' }, file, signal, () => {});
  };
  useEffect(() => {
    setFound(null);
    form.setProblem(null);
    if (file) send(true).then(setFound, (problem) => problem.name !== 'AbortError' && form.setProblem(worded(problem)));
    return () => ending.current?.abort();
  }, [file]);
  const add = () => told(async () => {
    const made = await send(false).catch((problem) => { throw worded(problem); });
    app.toasts.say({ text: `Added ${made.name}`, more: 'Choose it in the form of a profile.', tone: 'good' });
    await done();
    close();
  });
  const foot = html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy || !found}>${form.busy ? 'Adding…' : 'Add'}</button>`;
  return html`<${Dialog} title="Add an extension" lead="A zip of its folder, or a CRX file as a store gives it." close=${close}><${Form} form=${form} work=${add} foot=${foot}>
    <div class="fields"><${Chooser} file=${file} choose=${setFile} busy=${form.busy} />
      ${file && !found && !form.problem && html`<p class="hint wide" role="status">Reading it…</p>`}
      ${found && html`<${Found} of=${found} />`}</div><//><//>`;
}

function Found({ of: { name, version, description, extensionId, files, bytes: size, may: words, mayAsk } }) {
  return html`<div class="wide found" aria-live="polite"><p><strong><${Name}>${name}<//></strong> <span class="number">${version}</span></p>
    ${description && html`<p class="muted">${description}</p>`}
    <p class="muted"><span class="mono">${extensionId}</span>, ${count(files, 'file')}, ${bytes(size)}</p>
    ${words.length ? html`<${Notice}><p>It may:</p><ul>${words.map((text) => html`<li key=${text}>${text}</li>`)}</ul><//>` : html`<p>It asks for nothing of note.</p>`}
    ${mayAsk.length > 0 && html`<p>Later it may ask to:</p><ul>${mayAsk.map((text) => html`<li key=${text}>${text}</li>`)}</ul>`}</div>`;
}

function Chooser({ file, choose, busy }) {
  const [over, setOver] = useState(false);
  const drag = (event) => {
    event.preventDefault();
    setOver(event.type === 'dragover');
    if (event.type === 'drop' && event.dataTransfer.files[0] && !busy) choose(event.dataTransfer.files[0]);
  };
  return html`<label class=${over ? 'drop wide is-over' : 'drop wide'} onDragOver=${drag} onDragLeave=${() => setOver(false)} onDrop=${drag}>
    <${Icon} name="upload" />${file ? html`<span><strong><bdi>${file.name}</bdi></strong> <span class="muted number">${bytes(file.size)}</span></span>` : html`<span><strong>Choose a file</strong> of this computer, or drop it here</span>`}
    <input type="file" class="visually-hidden" name="file" accept=".zip,.crx" disabled=${busy} autofocus=${!file} aria-label="Package" onChange=${(event) => { if (event.currentTarget.files[0]) choose(event.currentTarget.files[0]); }} /></label>`;
}
