// Small components that the pages share.
import { useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { useNow } from './app-context.js';
import { ago, moment } from './format.js';
import { Icon } from './icons.js';
import { checkSentence, faultWords, problemTitle, problemWords } from './words.js';

// Status shows a state in words, with a dot of its own shape.
export function Status({ of: { text, tone } }) {
  return html`<span class="status ${tone}"><span class="dot"></span>${text}</span>`;
}

export function Ago({ time, prefix = '' }) {
  const now = useNow();
  return time ? html`<time datetime=${time} title=${moment(time)}>${prefix}${ago(time, now)}</time>` : null;
}

// Name shows a text from another person, isolated so that its writing direction does not affect others.
export function Name({ children }) {
  return html`<bdi class="name">${children}</bdi>`;
}

export function Tags({ tags = [], choose, most = 3 }) {
  if (!tags.length) return null;
  const shown = tags.length > most ? tags.slice(0, most - 1) : tags;
  const rest = tags.slice(shown.length);
  return html`<ul class="tags" aria-label="Tags">
    ${shown.map((tag) => html`<li key=${tag}>
      ${choose
        ? html`<button type="button" class="tag" title=${`Show only ${tag}`} onClick=${() => choose(tag)}><bdi>${tag}</bdi></button>`
        : html`<span class="tag" title=${tag}><bdi>${tag}</bdi></span>`}
    </li>`)}
    ${rest.length > 0 && html`<li><span class="tag more" title=${rest.join(', ')}>+${rest.length}</span></li>`}
  </ul>`;
}

// Temporary marks a profile that is deleted when its run ends.
export function Temporary({ of: { temporary } }) {
  return temporary && html`<span class="temporary" title="Temporary: deleted with its data when its run ends"><${Icon} name="hourglass" /><span class="visually-hidden">Temporary</span></span>`;
}

// Country is in flag.js, Menu in menu.js.
export { Country } from './flag.js';
export { Menu } from './menu.js';

// ProblemBox shows a problem: what happened, what to do, errors that no field shows, and the request id for the log.
export function ProblemBox({ problem, shown = [], children }) {
  if (!problem) return null;
  const errors = (problem.errors || []).filter((error) => !shown.includes(error));
  if (problem.code === 'validation_failed' && errors.length === 0 && shown.length > 0) return null; // each error is shown by its field
  const { check, damaged, lines, exitCode } = problem.body || {};
  return html`<div class="problem" role="alert" tabindex="-1" aria-label=${problemTitle(problem)}>
    <p class="problem-title"><${Icon} name="warning" />${problemTitle(problem)}</p>
    ${problem.message && problem.code !== 'validation_failed' && html`<${Prose} text=${problemWords(problem)} />`}
    ${problem.users?.length > 0 && html`<ul aria-label="Profiles that use it">${problem.users.map((profile) => html`<li key=${profile.id}><${Name}>${profile.name}<//></li>`)}
      ${problem.moreUsers > 0 && html`<li>and ${problem.moreUsers} more</li>`}</ul>`}
    ${errors.length > 0 && html`<ul>${errors.map((error) => html`<li>${error.location ? html`<code>${error.location}</code>: ` : ''}${error.message}</li>`)}</ul>`}
    ${damaged?.length > 0 && html`<ul aria-label="What is damaged">${damaged.map(({ file, problem: wrong }) => html`<li key=${file}><code>${file}</code>: ${wrong}</li>`)}</ul>`}
    ${check && html`<p>${checkSentence(check)} ${faultWords(check.error)?.advice}</p>`}
    ${exitCode != null && html`<p>Exit code ${exitCode}.</p>`}
    ${lines?.length > 0 && html`<pre class="lines" tabindex="0" aria-label="The browser’s last lines">${lines.join('\n')}</pre>`}
    ${children}
    ${problem.requestId && html`<p class="request">Request ${problem.requestId}</p>`}
  </div>`;
}

// Prose shows paragraphs with `code`, the only formatting in our texts.
export function Prose({ text }) {
  if (!text) return null;
  return html`<div class="prose">${text.split(/\n\n+/).map((paragraph, i) => html`<p key=${i}>${
    paragraph.split(/(`[^`]+`)/).map((part) => (/^`.+`$/.test(part) ? html`<code>${part.slice(1, -1)}</code>` : part))}</p>`)}</div>`;
}

export function Notice({ children }) {
  return html`<div class="notice"><${Icon} name="warning" /><div>${children}</div></div>`;
}

// Copy copies a text to the clipboard.
export function Copy({ text, label = 'Copy' }) {
  const [done, setDone] = useState(false);
  const button = useRef(null);
  const copy = async () => {
    await copyText(text, button.current);
    setDone(true);
    setTimeout(() => setDone(false), 2000);
  };
  return html`<button type="button" class="button small" ref=${button} onClick=${copy} aria-label=${done ? 'Copied' : label}>
    <${Icon} name=${done ? 'check' : 'copy'} /><span aria-live="polite">${done ? 'Copied' : 'Copy'}</span>
  </button>`;
}

// copyText puts a text onto the clipboard. Plain HTTP from another machine has no clipboard API; the old command is used there, with a field
// beside an element that keeps the focus.
export async function copyText(text, beside = document.activeElement) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyByCommand(text, beside);
  }
}

function copyByCommand(text, beside) {
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'visually-hidden';
  beside.after(field);
  field.select();
  document.execCommand('copy');
  field.remove();
  beside.focus();
}

// Empty is shown instead of an empty list.
export function Empty({ title, children }) {
  return html`<div class="empty">
    <h2>${title}</h2>
    ${children}
  </div>`;
}

// Waiting appears only for slow answers, so that quick ones do not flicker.
export function Waiting() {
  return html`<div class="waiting" role="status"><span class="visually-hidden">Reading…</span>
    ${[1, 2, 3, 4, 5].map((row) => html`<div class="bone" key=${row}></div>`)}
  </div>`;
}
