// The dialog that imports profiles from a file: an archive, or what another product exports.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { Name, Notice } from '../../components.js';
import { Dialog, useTold } from '../../dialog.js';
import { bytes, count } from '../../format.js';
import { Form, Text, Tick, useForm } from '../../forms.js';
import { Icon } from '../../icons.js';
import { href } from '../../route.js';
import { asHeader, kindOf } from './transfer.js';

// ImportDialog imports the profiles of a file: one that is given, or that the person chooses.
export function ImportDialog({ file: given, close }) {
  const app = useApp();
  const [file, setFile] = useState(given);
  const [kind, setKind] = useState('');
  const [sent, setSent] = useState(0);
  const [answer, setAnswer] = useState(null);
  const ending = useRef(null);
  const form = useForm({ passphrase: '', identity: '', same: false });
  const told = useTold('The profiles were not imported');
  useEffect(() => {
    setKind('');
    form.setProblem(null);
    if (file) kindOf(file).then(setKind, () => setKind('none'));
  }, [file]);
  const leave = () => {
    ending.current?.abort();
    close();
  };
  const send = ({ passphrase, identity, same }) => told(async () => {
    setSent(0);
    const { signal } = (ending.current = new AbortController());
    const headers = {};
    if (kind === 'passphrase') headers['X-Warren-Passphrase'] = asHeader(passphrase.trim());
    if (kind === 'identity') headers['X-Warren-Identity'] = asHeader(/AGE-SECRET-KEY-\S+/.exec(identity)?.[0] || identity.trim());
    const query = { workspaceId: app.model.workspace.value, as: same && kind !== 'other' ? 'same' : undefined };
    let made;
    try {
      made = await app.api.upload('/profiles/import', query, headers, file, signal, setSent);
    } catch (problem) {
      if (problem.name === 'AbortError') return;
      throw worded(problem);
    }
    if (made.profiles.some(({ warnings, reason }) => warnings.length || reason)) return setAnswer(made);
    say(app, made);
    close();
  });
  if (answer) return html`<${Done} answer=${answer} close=${close} />`;
  const done = file && sent >= file.size;
  const foot = html`<button type="button" class="button" onClick=${leave}>Cancel</button><button class="button primary" disabled=${form.busy || !file || !kind || kind === 'none'}>${form.busy ? 'Importing…' : 'Import'}</button>`;
  return html`<${Dialog} title="Import profiles" lead="From an archive of Warren, or from a file of another product." close=${leave}><${Form} form=${form} work=${send} foot=${foot}>
    <div class="fields"><${Chooser} file=${file} choose=${setFile} busy=${form.busy} />
      ${kind === 'none' && html`<p class="fault wide" role="alert">This file is empty. Choose another.</p>`}
      ${kind === 'other' && html`<div class="wide"><${Notice}><p>This is no archive of Warren. Exports of other products, CSV and packed folders of Chrome’s user data become new profiles, with their proxies and cookies.</p><//></div>`}
      ${kind === 'passphrase' && html`<${Text} form=${form} name="passphrase" member="X-Warren-Passphrase" label="Passphrase" type="password" autocomplete="off" wide autofocus />`}
      ${kind === 'identity' && html`<${Text} form=${form} name="identity" member="X-Warren-Identity" label="age identity" type="password" autocomplete="off" wide autofocus placeholder="AGE-SECRET-KEY-1…" hint="Of one of the recipients that it was sealed for. It is used for this import alone." />`}
      ${kind === 'open' && html`<div class="wide"><${Notice}><p>This file is not sealed: anybody may have changed it. Import it only if you trust where it comes from.</p><//></div>`}
      ${kind && kind !== 'none' && kind !== 'other' && html`<${Tick} form=${form} name="same" label="Keep their ids" hint="To restore profiles that were deleted, or to move them to this server. Otherwise each becomes a new profile." />`}
      ${form.busy && html`<div class="wide transfer" role="status"><span>${done ? 'Checking and unpacking…' : `${bytes(sent)} of ${bytes(file.size)} sent`}</span>
        <progress max=${file.size || 1} value=${done ? undefined : sent} aria-label="Import"></progress></div>`}</div><//><//>`;
}

// worded says a refusal in the words of this dialog: beside the field that is wrong, or as what is wrong with the file.
function worded(problem) {
  const { code, errors } = problem;
  if (code === 'archive_refused' && errors.every(({ location }) => location.startsWith('header.'))) problem.code = 'validation_failed';
  else if (code === 'archive_refused') Object.assign(problem, { message: errors.map(({ message }) => message).join(' '), errors: [] });
  if (code === 'duplicate') {
    const taken = errors.length > 1 ? `${count(errors.length, 'profile')} of this file are here already, maybe in the trash.` : 'This profile is here already, maybe in the trash.';
    Object.assign(problem, { code: 'ids_taken', message: `${taken} Import it without keeping ids, or delete what is here for good first.`, errors: [] });
  }
  return problem;
}

// Chooser is a field for the file, which can be dropped on it.
function Chooser({ file, choose, busy }) {
  const [over, setOver] = useState(false);
  const drag = (event) => {
    event.preventDefault();
    setOver(event.type === 'dragover');
    if (event.type === 'drop' && event.dataTransfer.files[0] && !busy) choose(event.dataTransfer.files[0]);
  };
  return html`<label class=${over ? 'drop wide is-over' : 'drop wide'} onDragOver=${drag} onDragLeave=${() => setOver(false)} onDrop=${drag}>
    <${Icon} name="upload" />${file ? html`<span><strong><bdi>${file.name}</bdi></strong> <span class="muted number">${bytes(file.size)}</span></span>` : html`<span><strong>Choose a file</strong> of this computer, or drop it here</span>`}
    <input type="file" class="visually-hidden" name="file" disabled=${busy} autofocus=${!file} aria-label="Archive" onChange=${(event) => { if (event.currentTarget.files[0]) choose(event.currentTarget.files[0]); }} /></label>`;
}

function titleOf({ profiles, created }) {
  return profiles.length === 1 ? `Imported ${profiles[0].name}` : `Imported ${count(created, 'profile')}`;
}

function say(app, answer) {
  const ids = answer.profiles.map(({ id }) => id);
  app.toasts.say({ text: titleOf(answer), more: answer.format === 'warren' ? 'With settings and data, which are unpacked at the first start.' : 'With their proxies and cookies.', tone: 'good', action: ids.length === 1 && { label: 'Show', run: () => app.router.go(href('profiles', undefined, ids)) } });
}

// Done says what did not travel.
function Done({ answer, close }) {
  const some = answer.profiles.filter(({ warnings, reason }) => warnings.length || reason);
  return html`<${Dialog} title=${titleOf(answer)} lead=${answer.profiles.length === 1 ? 'Not everything could come along.' : `For ${some.length} of them not everything could come along.`} close=${close}>
    <div class="dialog-content"><ul class="imported" aria-label="What did not travel">${some.map(({ number, name, reason, warnings }) => html`<li key=${number}>
      ${answer.profiles.length > 1 && html`<strong><${Name}>${name}<//></strong>`}<ul>${reason && html`<li>It was not imported. ${reason}</li>`}${warnings.map(({ message }) => html`<li key=${message}>${message}</li>`)}</ul></li>`)}</ul></div>
    <footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer><//>`;
}
