// The login: exchanges a key for a session key of the page.
import { useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { ProblemBox } from './components.js';
import { Dialog } from './dialog.js';
import { Burrows, Logo } from './icons.js';
import { exchange, looksLikeKey } from './session.js';

// useEntry holds the key that is typed, and exchanges it: {key, type, fault, problem, busy, field, submit}. enter is called with the session key.
function useEntry(enter, reason = '') {
  const [key, type] = useState('');
  const [fault, setFault] = useState(reason);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const field = useRef(null);
  const submit = async (event) => {
    event.preventDefault();
    const given = key.trim();
    setFault('');
    setProblem(null);
    if (!looksLikeKey(given)) {
      setFault(given ? 'This is not a key: it has characters that no key has.' : 'Paste your key first.');
      field.current.focus();
      return;
    }
    setBusy(true);
    try {
      enter(await exchange({ key: given }));
    } catch (error) {
      if (error.status === 401) setFault('This key isn’t valid. It may be mistyped, revoked or expired.');
      else setProblem(error);
      setBusy(false);
      field.current?.focus();
    }
  };
  return { key, type, fault, problem, busy, field, submit };
}

function KeyField({ entry, hint }) {
  const { key, type, fault, field } = entry;
  return html`<div class="field">
    <label for="key">API key</label>
    <input id="key" ref=${field} type="password" autocomplete="current-password" autofocus spellcheck=${false} placeholder="wrn_…"
      aria-invalid=${fault ? 'true' : undefined} aria-describedby=${fault ? 'key-fault key-hint' : 'key-hint'}
      value=${key} onInput=${(event) => type(event.currentTarget.value)} />
    <div role="alert">${fault && html`<p class="fault" id="key-fault">${fault}</p>`}</div>
    <p class="hint" id="key-hint">${hint}</p>
  </div>`;
}

export function Login({ enter, reason }) {
  const [onlyThisTab, setOnlyThisTab] = useState(false);
  const entry = useEntry((fresh) => enter(fresh, onlyThisTab), reason);
  return html`<main class="login">
    <form class="login-card" onSubmit=${entry.submit} novalidate>
      <p class="brand"><${Logo} />Warren</p>
      <h1 tabindex="-1">Welcome</h1>
      <p class="lead">Log in with your API key to see your profiles and proxies.</p>
      <${KeyField} entry=${entry} hint=${html`Warren printed it when it first started, and keeps it in <code>admin.key</code> in its data folder. On the server’s machine <code>warren open</code> logs you in without it.`} />
      <label class="tick"><input type="checkbox" checked=${onlyThisTab} onChange=${(event) => setOnlyThisTab(event.currentTarget.checked)} />
        Only this tab</label>
      <${ProblemBox} problem=${entry.problem} />
      <button class="button primary large" disabled=${entry.busy}>${entry.busy ? 'Checking…' : 'Log in'}</button>
      <p class="hint">The page keeps a key of its own in place of yours. It ends when you log out, or 30 days after its last use${onlyThisTab ? ', and is forgotten with this tab' : ''}.</p>
    </form>
    <${Landscape} />
  </main>`;
}

// LogInAgain is over a page whose key is refused while something typed is not saved. The page goes on with the key that is entered.
export function LogInAgain({ reason, enter, leave, close }) {
  const entry = useEntry(enter);
  return html`<${Dialog} title="You are logged out" lead=${reason} close=${close}><form class="form" onSubmit=${entry.submit} novalidate>
    <div class="dialog-content">
      <p>What you typed is still here, and not saved. Log in again to save it.</p>
      <${KeyField} entry=${entry} hint=${html`Or run <code>warren open</code> on the server’s machine, and come back to this tab.`} />
      <${ProblemBox} problem=${entry.problem} />
    </div>
    <footer class="dialog-foot"><button type="button" class="button danger-quiet" onClick=${leave}>Discard and leave</button>
      <button class="button primary" disabled=${entry.busy}>${entry.busy ? 'Checking…' : 'Log in again'}</button></footer>
  </form><//>`;
}

// Entering is shown while a link or a key in the address is exchanged.
export function Entering() {
  return html`<main class="login">
    <div class="login-card" role="status">
      <p class="brand"><${Logo} />Warren</p>
      <h1 tabindex="-1">Logging in…</h1>
    </div>
    <${Landscape} />
  </main>`;
}

function Landscape() {
  return html`<div class="landscape">${[1, 2, 3, 4].map((part) => html`<${Burrows} key=${part} />`)}</div>`;
}
