// The dialog that exports profiles with their data as a file.
import { useRef, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { Problem } from '../../api.js';
import { useApp } from '../../app-context.js';
import { Name, Notice } from '../../components.js';
import { Dialog } from '../../dialog.js';
import { bytes, count } from '../../format.js';
import { Choice, Form, Lines, linesOf, Text, Tick, useForm } from '../../forms.js';
import { asHeader, fileNamed, forget, place, store } from './transfer.js';

const SHORTEST = 8; // passphrase, in letters

const SEALS = [['passphrase', 'With a passphrase'], ['recipient', 'For an age key'], ['unsealed', 'Not sealed']];

const AFTER = {
  passphrase: 'Keep the passphrase: without it nobody can open the file.',
  recipient: 'Whoever has the key’s identity can open it.',
  unsealed: 'It is not sealed: keep it where nobody else can read it.',
};

// ExportDialog exports profiles: [{id, name}].
export function ExportDialog({ profiles, close }) {
  const app = useApp();
  const form = useForm({ seal: 'passphrase', passphrase: '', again: '', recipient: '', sure: false });
  const [received, setReceived] = useState(0);
  const ending = useRef(null);
  const { seal } = form.values;
  const what = profiles.length === 1 ? profiles[0].name : count(profiles.length, 'profile');
  const leave = () => {
    ending.current?.abort();
    close();
  };
  const send = async (values) => {
    const faults = faultsOf(values);
    if (faults.length) throw new Problem(422, { code: 'validation_failed', errors: faults }, '');
    const name = fileNamed(profiles);
    const { signal } = (ending.current = new AbortController());
    let file = null;
    try {
      file = await place(name);
      const response = await app.api.open('GET', address(profiles, values), { headers: values.seal === 'passphrase' ? { 'X-Warren-Passphrase': asHeader(values.passphrase) } : {}, signal });
      await store(response, file, name, signal, setReceived);
    } catch (error) {
      await forget(file);
      setReceived(0);
      if (error.name === 'AbortError') return;
      throw error instanceof Problem ? error : new Problem(0, { code: 'broken_off', title: 'The file did not arrive whole', detail: 'Nothing was kept of it. Is the disk full, or has Warren stopped? Try again.' }, '');
    }
    app.toasts.say({ text: `Exported ${what}`, more: AFTER[values.seal], tone: 'good' });
    close();
  };
  const ready = seal !== 'unsealed' || form.values.sure;
  const foot = html`${form.busy && html`<span class="dialog-status" role="status">${received > 0 ? `${bytes(received)} received…` : 'Reading the data…'}</span>`}
    <button type="button" class="button" onClick=${leave}>Cancel</button><button class="button primary" disabled=${form.busy || !ready}>${form.busy ? 'Exporting…' : 'Export'}</button>`;
  return html`<${Dialog} title=${html`Export ${profiles.length === 1 ? html`<${Name}>${what}<//>` : what}`} lead="One file with settings, logins and data. Passwords of proxies stay here." close=${leave}><${Form} form=${form} work=${send} foot=${foot}
    explain=${(problem) => problem.code === 'profile_running' && html`<${Running} ids=${problem.body.profileIds} profiles=${profiles} />`}>
    <div class="fields"><${Choice} form=${form} name="seal" label="Seal it" wide options=${SEALS} />
      ${seal === 'passphrase' && html`<${Text} form=${form} name="passphrase" member="X-Warren-Passphrase" label="Passphrase" type="password" autocomplete="new-password" autofocus hint="At least 8 letters. Several words are better." />
        <${Text} form=${form} name="again" label="The same again" type="password" autocomplete="new-password" />`}
      ${seal === 'recipient' && html`<${Lines} form=${form} name="recipient" label="Recipients" class="mono" placeholder="age1…" hint="One on each line. Whoever has the identity of one of them can open the file." />`}
      ${seal === 'unsealed' && html`<div class="wide"><${Notice}><p>Whoever gets this file is signed in wherever ${profiles.length === 1 ? 'this profile is' : 'these profiles are'}, and can change what is in it.</p><//></div>
        <${Tick} form=${form} name="sure" label="Export without a seal" />`}</div><//><//>`;
}

// faultsOf says what the page alone can see.
function faultsOf({ seal, passphrase, again, recipient }) {
  if (seal === 'recipient') return linesOf(recipient).length ? [] : [{ location: 'query.recipient', message: 'Enter a recipient, such as age1….' }];
  if (seal !== 'passphrase') return [];
  const faults = [];
  if ([...passphrase.trim()].length < SHORTEST) faults.push({ location: 'header.X-Warren-Passphrase', message: `Choose a passphrase of at least ${SHORTEST} letters, without spaces at its ends.` });
  else if (passphrase !== passphrase.trim()) faults.push({ location: 'header.X-Warren-Passphrase', message: 'Remove the spaces at its ends.' });
  if (passphrase !== again) faults.push({ location: 'body.again', message: 'The two are not the same.' });
  return faults;
}

// address is where the file comes from.
function address(profiles, { seal, recipient }) {
  const query = new URLSearchParams();
  if (profiles.length > 1) query.set('ids', profiles.map(({ id }) => id).join(','));
  if (seal === 'unsealed') query.set('unsealed', 'true');
  if (seal === 'recipient') for (const one of linesOf(recipient)) query.append('recipient', one);
  const path = profiles.length > 1 ? 'export' : `${encodeURIComponent(profiles[0].id)}/export`;
  return `api/v1/profiles/${path}?${query}`;
}

function Running({ ids = [], profiles }) {
  const names = profiles.filter(({ id }) => ids.includes(id)).map(({ name }) => name);
  if (profiles.length < 2 || !names.length) return null;
  return html`<ul aria-label="Profiles that run">${names.slice(0, 10).map((name) => html`<li><${Name}>${name}<//></li>`)}${names.length > 10 && html`<li>and ${names.length - 10} more</li>`}</ul>`;
}
