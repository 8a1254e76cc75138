// Dialogs: the browser's own <dialog>, which keeps the focus inside, closes on Escape, and returns the focus.
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { ProblemBox } from './components.js';
import { Icon } from './icons.js';

// Dialog shows its children over the page until `close` is called. A sheet is at the side, for long forms. `about` is
// the id of the object whose row gets the focus afterwards, in case the opener has changed.
export function Dialog({ title, lead, sheet, about, close, children }) {
  const app = useApp();
  const box = useRef(null);
  const gone = useRef(false); // the event of a dialog that is gone comes late, and must close no other
  const titleId = useId();
  useLayoutEffect(() => {
    const dialog = box.current;
    dialog.showModal();
    return () => {
      gone.current = true;
      dialog.close(); // returns the focus to the opener
      if (about) requestAnimationFrame(() => app.focusPage(about));
      else app.keepFocus(); // the opener may be gone
    };
  }, []);
  // A click outside closes dialogs, but not long forms.
  return html`<dialog ref=${box} class=${sheet ? 'dialog sheet' : 'dialog'} closedby=${sheet ? 'closerequest' : 'any'}
    aria-labelledby=${titleId} onCancel=${(event) => { event.preventDefault(); close(); }} onClose=${() => !gone.current && close()}>
    <div class="dialog-body">
      <header class="dialog-head">
        <div>
          <h2 id=${titleId}>${title}</h2>
          ${lead && html`<p class="lead">${lead}</p>`}
        </div>
        <button type="button" class="icon-button" aria-label="Close" onClick=${close}><${Icon} name="close" /></button>
      </header>
      ${children}
    </div>
  </dialog>`;
}

// useTold returns a function that does a dialog's work. Its failure is told also when the dialog was closed meanwhile.
export function useTold(subject) {
  const app = useApp();
  const gone = useRef(false);
  useEffect(() => () => { gone.current = true; }, []);
  return (work) => work().catch((problem) => {
    if (gone.current) app.fail(subject, problem);
    throw problem;
  });
}

// ConfirmDialog asks before an action that is hard to undo, and shows its failure.
export function ConfirmDialog({ title, children, verb, doing = 'One moment…', work, tone = 'danger', cancel = 'Cancel', close }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const app = useApp();
  const confirm = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await work();
      close();
      app.keepFocus();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${title} close=${close}>
    <div class="dialog-content">${children}<${ProblemBox} problem=${problem} /></div>
    <footer class="dialog-foot">
      <button type="button" class="button" autofocus onClick=${close}>${cancel}</button>
      <button type="button" class=${`button ${tone}`} disabled=${busy} onClick=${confirm}>${busy ? doing : verb}</button>
    </footer>
  <//>`;
}

// ProblemDialog shows a failure when no form is open that could.
export function ProblemDialog({ problem, subject, action, close }) {
  return html`<${Dialog} title=${subject} close=${close}>
    <div class="dialog-content"><${ProblemBox} problem=${problem} /></div>
    <footer class="dialog-foot">
      <button type="button" class="button" autofocus onClick=${close}>Close</button>
      ${action && html`<button type="button" class="button primary" onClick=${() => { close(); action.run(); }}>${action.label}</button>`}
    </footer>
  <//>`;
}
