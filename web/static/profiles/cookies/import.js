// The dialog that imports cookies: from a text or a file, tried first without a change.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { Problem } from '../../api.js';
import { useApp } from '../../app-context.js';
import { Name } from '../../components.js';
import { Dialog, useTold } from '../../dialog.js';
import { bytes, count, number } from '../../format.js';
import { Choice, Form, Lines, Tick, useForm } from '../../forms.js';
import { Icon } from '../../icons.js';

const MODES = [['merge', 'Stay'], ['replace-domains', 'Go, if they are of the file’s domains'], ['replace-all', 'Go, all of them']];
const SHOWN = 50; // refusals

// ImportDialog tries a file first, and imports it when the person has seen what it would do.
export function ImportDialog({ profile, jar, close }) {
  const app = useApp();
  const form = useForm({ text: '', mode: 'merge', storage: false });
  const [file, setFile] = useState(null); // {name, body}
  const [answer, setAnswer] = useState(null);
  const told = useTold('The cookies were not imported');
  const asked = JSON.stringify(form.values);
  const tried = answer?.asked === asked && answer.file === file ? answer : null; // what it says of another file counts no more
  const send = (values) => told(async () => {
    const body = file ? file.body : values.text;
    if (!file && !values.text.trim()) throw fault('Paste cookies here, or choose a file.');
    const query = { mode: values.mode, ...(!tried && { dryRun: true }), ...(tried && values.mode === 'replace-all' && { confirm: true }) };
    const done = await jar.send(values.storage ? 'storage-state' : 'cookies', query, body).catch((problem) => { throw worded(problem); });
    if (done.dryRun) return setAnswer({ ...done, asked, file });
    if (jar.state.value.cookies) jar.changed();
    if (done.refused.length || done.failed.length) return setAnswer(done);
    app.toasts.say({ text: `Imported ${count(done.taken, 'cookie')}.`, more: tellsOf(done).slice(1).join(' '), tone: 'good' });
    return close();
  });
  if (answer && !answer.dryRun) return html`<${Done} ...${{ answer, profile, close }} />`;
  const nothing = tried && !tried.taken && !tried.removed && !tried.origins;
  const foot = html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button class=${tried?.removed ? 'button danger' : 'button primary'} disabled=${form.busy || nothing}>${form.busy ? (tried ? 'Importing…' : 'Trying…') : tried ? (tried.removed ? `Import ${number(tried.taken)}, remove ${number(tried.removed)}` : `Import ${count(tried.taken, 'cookie')}`) : 'Try it'}</button>`;
  return html`<${Dialog} title="Import cookies" lead=${html`<${Name}>${profile.name}<//>`} close=${close}><${Form} form=${form} work=${send} foot=${foot}>
    <div class="fields">${!file && html`<${Lines} form=${form} name="text" label="Cookies" rows=${6} class="mono" autofocus spellcheck=${false} hint="JSON of Playwright, Puppeteer, Selenium, CDP, Cookie-Editor or EditThisCookie, or lines of a cookies.txt. The server sees which." />`}
      <${FileField} ...${{ file, form, choose: setFile }} />
      <${Choice} form=${form} name="mode" label="Cookies that the file does not have" wide options=${MODES} />
      <${Tick} form=${form} name="storage" label="It is a storageState: write its localStorage and databases too" /></div>
    ${tried && html`<${Outcome} answer=${tried} />`}<//><//>`;
}

function fault(message) {
  return new Problem(422, { code: 'validation_failed', errors: [{ location: 'body.text', message }] }, '');
}

// worded says at the field what is wrong with the file as a whole.
function worded(problem) {
  if (problem.code === 'malformed_json' && problem.errors.length) return fault(`${problem.errors.map(({ message }) => message).join(' ')} Nothing was changed.`);
  if (problem.status === 422 && problem.errors.length && problem.errors.every(({ location }) => location.startsWith('body'))) {
    Object.assign(problem, { code: 'cookies_refused', title: 'The file was not taken', message: problem.detail.replace(' `errors` says why.', ''), errors: [...new Set(problem.errors.map(({ message }) => message))].map((message) => ({ message })) });
  }
  return problem;
}

// FileField is a field for a file, which can be dropped on it. The file is read at once: what is imported is what was tried.
function FileField({ file, form, choose }) {
  const [over, setOver] = useState(false);
  const take = async (chosen) => {
    if (!chosen || form.busy) return;
    form.setProblem(null);
    try {
      choose({ name: chosen.name, body: await chosen.arrayBuffer() });
    } catch {
      form.setProblem(new Problem(0, { title: 'The file could not be read', detail: 'It may have been moved, or it is too large.' }, ''));
    }
  };
  const drag = (event) => {
    event.preventDefault();
    setOver(event.type === 'dragover');
    if (event.type === 'drop') take(event.dataTransfer.files[0]);
  };
  return html`<div class="wide file-line"><label class=${over ? 'drop is-over' : 'drop'} onDragOver=${drag} onDragLeave=${() => setOver(false)} onDrop=${drag}><${Icon} name="upload" />
    ${file ? html`<span><strong><bdi>${file.name}</bdi></strong> <span class="muted number">${bytes(file.body.byteLength)}</span></span>` : html`<span><strong>Choose a file</strong> of this computer, or drop it here</span>`}
    <input type="file" class="visually-hidden" name="file" disabled=${form.busy} aria-label="File" onChange=${(event) => take(event.currentTarget.files[0])} /></label>
    ${file && html`<button type="button" class="button small" disabled=${form.busy} onClick=${() => choose(null)}>Paste instead</button>`}</div>
    ${file && form.faults('text').length > 0 && html`<p class="fault wide" role="alert">${form.faults('text').map(({ message }) => message).join(' ')}</p>`}`;
}

// tellsOf says in sentences what an import does or did.
function tellsOf({ dryRun, taken, changed, removed, origins }) {
  const [are, is] = dryRun ? ['would be', 'would be'] : ['were', 'was'];
  return [
    taken ? `${count(taken, 'cookie')} ${taken === 1 ? is : are} taken: ${number(changed)} new or changed${taken > changed ? `, ${number(taken - changed)} as before` : ''}.` : 'No cookie of it can be taken.',
    removed > 0 && `${count(removed, 'cookie')} of the profile ${removed === 1 ? is : are} removed.`,
    origins > 0 && `The storage of ${count(origins, 'site')} ${origins === 1 ? is : are} written.`,
  ].filter(Boolean);
}

// Outcome says what an import does: what is taken, refused and lost.
function Outcome({ answer }) {
  const { refused, moreRefused, failed, lost, notices } = answer;
  const box = useRef(null);
  useEffect(() => box.current.scrollIntoView({ block: 'nearest' }), [answer]);
  const all = refused.length + moreRefused;
  const where = ({ line, place, index }) => place || (line ? `Line ${line}` : `Entry ${index + 1}`);
  return html`<section class="cookie-outcome" ref=${box} aria-label=${answer.dryRun ? 'What the import would do' : 'What the import did'} role="status">
    ${tellsOf(answer).map((sentence) => html`<p key=${sentence}>${sentence}</p>`)}
    ${all > 0 && html`<div><h3 class="bad-text">${number(all)} refused</h3><ul class="box-lines">${refused.slice(0, SHOWN).map((one) => html`<li key=${`${one.place || one.line || ''}${one.index}`}><span class="muted">${where(one)}</span> <strong><bdi>${one.name}</bdi></strong>${one.domain && html` of <bdi>${one.domain}</bdi>`}: ${one.reason}</li>`)}
      ${all > SHOWN && html`<li>and ${number(all - Math.min(SHOWN, refused.length))} more</li>`}</ul></div>`}
    ${failed.length > 0 && html`<div><h3 class="bad-text">Not written</h3><ul class="box-lines">${failed.map(({ origin, reason }) => html`<li key=${origin + reason}><bdi>${origin}</bdi>: ${reason}</li>`)}</ul></div>`}
    ${lost.length > 0 && html`<div><h3>Left out</h3><ul class="plain-list">${lost.map((note) => html`<li key=${note.code}>${noteWords(note)}</li>`)}</ul></div>`}
    ${notices.length > 0 && html`<div><h3>Good to know</h3><ul class="plain-list">${notices.map((note) => html`<li key=${note.code}>${noteWords(note)}</li>`)}</ul></div>`}</section>`;
}

function noteWords({ code, message, count: n }) {
  if (code === 'storage') return 'The file has localStorage or databases. Tick the box above to write them too.';
  return n > 1 ? `${message} (${number(n)})` : message;
}

// Done shows what an import did that was not taken as a whole.
function Done({ answer, profile, close }) {
  return html`<${Dialog} title=${`Imported ${count(answer.taken, 'cookie')}`} lead=${html`<${Name}>${profile.name}<//>`} close=${close}>
    <div class="dialog-content"><${Outcome} answer=${answer} /></div>
    <footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer><//>`;
}
