// The box that takes any proxies: a line, a link, a list or a file. It says what it reads in them while they are typed.
import { useMemo, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { ProblemBox } from '../../components.js';
import { count, number, sentence } from '../../format.js';
import { Choice, Field, TagField } from '../../forms.js';
import { Icon } from '../../icons.js';
import { PROXY_TYPES } from '../../words.js';
import { EVERY } from './reading.js';

const SHOWN = 50; // lines that are named
const LONG_PASTE = 5000; // letters
const LARGEST = 16 << 20; // bytes of a file: what the server takes

const EXAMPLES = 'host:port:user:password\nuser:password@host:port\nsocks5://user:password@host:port';

// boxValues are the values of a form with a box.
export function boxValues() {
  return { text: '', type: 'socks5', tags: [] };
}

// ProxyBox is the field. form holds boxValues, reading is what useReading returned. brief leaves the tags in the fold.
export function ProxyBox({ form, reading, rows = 6, brief, autofocus }) {
  const [over, setOver] = useState(false);
  const [fault, setFault] = useState('');
  const take = async (file) => {
    setOver(false);
    if (!file) return;
    setFault(file.size > LARGEST ? `${file.name} has more than 16 MB. Split it into smaller files.` : '');
    if (file.size <= LARGEST) form.set('text', await file.text());
  };
  const drag = (event) => {
    if (![...event.dataTransfer.types].includes('Files')) return;
    event.preventDefault();
    setOver(event.type === 'dragover');
    if (event.type === 'drop') take(event.dataTransfer.files[0]);
  };
  const press = (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.currentTarget.form.requestSubmit();
  };
  const paste = (event) => {
    const pasted = event.clipboardData?.getData('text/plain') || '';
    if (pasted.length < LONG_PASTE) return;
    event.preventDefault(); // the browser inserts a long text line by line, which takes many seconds
    const field = event.currentTarget;
    field.setRangeText(pasted.replace(/\r\n?/g, '\n'), field.selectionStart, field.selectionEnd, 'end');
    form.set('text', field.value);
  };
  const control = (tied) => html`<div class=${over ? 'box is-over' : 'box'} onDragOver=${drag} onDragLeave=${() => setOver(false)} onDrop=${drag}>
    <textarea rows=${rows} class="mono" wrap="off" autocomplete="off" spellcheck=${false} autofocus=${autofocus} ...${tied} placeholder=${EXAMPLES} value=${form.values.text}
      onInput=${(event) => form.set('text', event.currentTarget.value)} onKeyDown=${press} onPaste=${paste}></textarea>
    <div class="box-foot"><label class="button small"><${Icon} name="upload" /><span>Choose a file</span><input type="file" class="visually-hidden" accept=".txt,.csv,.json,text/plain,text/csv,application/json"
      onChange=${(event) => { take(event.currentTarget.files[0]); event.currentTarget.value = ''; }} /></label><span class="hint">or drop one here. Text, CSV and JSON are read.</span></div>
  </div>`;
  const { answer, busy, problem } = reading;
  const outcome = useMemo(() => html`<${Outcome} text=${form.values.text} reading=${reading} />`, [answer, busy, problem]); // a long text is not looked through at each key
  const tags = html`<${TagField} form=${form} name="tags" label="Tags for all" hint="Press Enter or comma to add a tag." />`;
  return html`<div class="fields">
    <${Field} wide form=${form} name="text" member="" label="Paste a proxy, or a whole list" control=${control} />
    ${fault && html`<p class="fault wide" role="alert">${fault}</p>`}
    <div class="wide">${outcome}</div>
    ${!brief && tags}
    <details class="box-more wide"><summary>${brief ? 'Type and tags' : 'Default type'}: <span class="muted">${PROXY_TYPES[form.values.type]}</span></summary>
      <div class="fields"><${Choice} form=${form} name="type" label="Type of lines that name none" wide options=${Object.entries(PROXY_TYPES)} />${brief && tags}</div></details>
  </div>`;
}

// Outcome says what the server reads in the text: how many proxies, and which lines are none.
function Outcome({ text, reading }) {
  const { answer, busy, problem, choose } = reading;
  if (problem) return html`<${ProblemBox} problem=${problem} />`;
  if (!answer) return html`<p class="hint" role="status">${busy ? 'Reading…' : 'Each line is one proxy. SOCKS5 unless it says otherwise.'}</p>`;
  const { created, duplicate, ambiguous, invalid, results } = answer;
  const of = (result) => results.filter((line) => line.result === result);
  const lines = text.split('\n');
  const wrong = of('invalid');
  const unclear = of('ambiguous').slice(0, SHOWN);
  const shownWrong = wrong.slice(0, Math.max(5, SHOWN - unclear.length));
  return html`<div class=${busy ? 'box-outcome is-old' : 'box-outcome'}>
    <p role="status" class="box-sum"><span class=${created ? 'good-text' : 'muted'}><${Icon} name=${created ? 'check' : 'warning'} /><strong>${created ? count(created, 'proxy', 'proxies') : 'No proxy'}</strong> to add</span>
      ${duplicate > 0 && html`<span>${count(duplicate, 'duplicate')}</span>`}${ambiguous > 0 && html`<span class="wait-text">${number(ambiguous)} ambiguous</span>`}${invalid > 0 && html`<span class="bad-text">${number(invalid)} not readable</span>`}</p>
    ${ambiguous > 0 && html`<section class="box-lines" tabindex="0" aria-label="Ambiguous lines"><h3>${ambiguous === 1 ? 'This line can be read in two ways. Which one is right?' : 'These lines can be read in two ways. Which one is right?'}</h3>
      ${ambiguous > 1 && html`<p class="box-every"><span>All ${number(ambiguous)} lines:</span>${formsOf(lines, unclear).map((form, i) => html`<button type="button" key=${form} class="button small" onClick=${() => choose(EVERY, i + 1)}>${form}</button>`)}</p>`}
      <ul>${unclear.map((line) => html`<${Unclear} key=${line.line} line=${line} text=${lines[line.line - 1] || ''} choose=${choose} />`)}</ul>${more(ambiguous, unclear)}</section>`}
    ${invalid > 0 && html`<section class="box-lines" tabindex="0" aria-label="Lines that are no proxy"><ul>${shownWrong.map(({ line, reason }) => html`<li key=${line}><strong class="number">Line ${number(line)}</strong> ${sentence(reason).replace(/^./, (c) => c.toLowerCase())}</li>`)}</ul>${more(invalid, shownWrong)}</section>`}
    ${duplicate > 0 && html`<${Duplicates} lines=${of('duplicate')} total=${duplicate} />`}
  </div>`;
}

function more(total, shown) {
  return total > shown.length && html`<p class="hint">And ${number(total - shown.length)} more.</p>`;
}

// Unclear is an ambiguous line with a button for each reading. A line is chosen by its text: its number changes while one types.
function Unclear({ line, text, choose }) {
  return html`<li><strong class="number">Line ${number(line.line)}</strong> <span class="box-readings">${line.readings.map((reading, i) => html`<button type="button" key=${reading} class="button small" title=${reading}
    aria-label=${`Line ${line.line}: ${partsOf(text, i) || reading}`} onClick=${() => choose(text.trim(), i + 1)}><bdi>${partsOf(text, i) || reading}</bdi></button>`)}</span></li>`;
}

// formsOf names the readings of lines that look alike, in the server's order.
function formsOf(lines, unclear) {
  const plain = unclear.every(({ line }) => !/@|\[/.test(lines[line - 1] || ''));
  return plain ? ['host:port:user:password', 'user:password:host:port'] : ['The first reading', 'The second reading'];
}

// partsOf says in words what a line's reading means, or '' for a line of another form. It shows no password.
function partsOf(text, reading) {
  const parts = text.trim().replace(/^[a-z0-9]+:\/\//i, '').split(':');
  if (parts.length !== 4 || /[@[]/.test(text)) return '';
  const [host, port, user] = reading === 0 ? parts : [parts[2], parts[3], parts[0]];
  return `${host}:${port}, user ${user}`;
}

function Duplicates({ lines, total }) {
  const there = lines.filter(({ existingId }) => existingId).length;
  const words = lines.slice(0, SHOWN).map(({ line }) => number(line)).join(', ');
  return html`<p class="hint">${total === 1 ? 'Line' : 'Lines'} ${words}${total > Math.min(lines.length, SHOWN) ? ` and ${number(total - Math.min(lines.length, SHOWN))} more` : ''} ${total === 1 ? 'is' : 'are'} skipped:
    ${there === lines.length ? ' already among your proxies.' : there === 0 ? ' the same as a line above.' : ' already among your proxies, or the same as a line above.'}</p>`;
}
