// The clipboard both ways: what the page copied goes to this device, and this device's text into the page.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { Copy } from '../components.js';
import { useStore } from '../store.js';
import { Prompt } from './prompts.js';

// paste types this device's clipboard into the page. `refused` is called if the browser does not let it be read: over plain HTTP, or
// because the person said no.
export async function paste(link, refused) {
  let text;
  try {
    text = await navigator.clipboard.readText();
  } catch {
    return refused();
  }
  return link.text(text);
}

// PasteBox is a field to paste into, for browsers that do not let their clipboard be read.
export function PasteBox({ link, close }) {
  const field = useRef(null);
  const send = () => {
    link.text(field.current.value);
    close();
  };
  return html`<${Prompt} title="Paste into the page" drives=${true} refuse=${close}
    foot=${html`<button type="button" class="button" onClick=${close}>Cancel</button><button type="button" class="button primary" onClick=${send}>Paste</button>`}>
    <label>This browser keeps its clipboard closed here. Paste the text into this field.
      <textarea ref=${field} rows="4" autofocus></textarea></label>
  <//>`;
}

// Copied writes the page's copied text to this device's clipboard. It shows the text if the browser refuses that.
export function Copied({ link, toasts }) {
  const copied = useStore(link.copied);
  const [refused, setRefused] = useState(null);
  const box = useRef(null);
  useEffect(() => {
    if (!copied?.text) {
      if (copied?.asked) toasts.say({ text: 'Nothing is selected in the page.' });
      return;
    }
    const done = () => {
      setRefused(null);
      if (copied.asked) toasts.say({ text: 'Copied.', tone: 'good' });
    };
    Promise.resolve().then(() => navigator.clipboard.writeText(copied.text)).then(done, () => setRefused(copied));
  }, [copied]);
  useEffect(() => box.current?.select(), [refused]);
  if (!refused) return null;
  return html`<div class="copied" role="status">
    <p>This browser keeps its clipboard closed here. Copy the text yourself:</p>
    <textarea ref=${box} readonly rows="3" aria-label="What was copied" value=${refused.text}></textarea>
    <div class="copied-foot"><button type="button" class="button small" onClick=${() => setRefused(null)}>Close</button><${Copy} text=${refused.text} label="Copy the text" /></div>
  </div>`;
}
