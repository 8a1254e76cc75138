// The form that sends a request: its parameters and its body, a question before what deletes or stops, and the answer.
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { Icon } from '../icons.js';
import { readKey } from '../session.js';
import { Code } from './code.js';
import { resolve } from './example.js';
import { kindOf } from './samples.js';
import { asksFirst, send } from './send.js';

export function Trial({ doc, operation, request, values, change, close }) {
  const parameters = operation.parameters.map((parameter) => resolve(doc, parameter));
  const sorted = [...parameters.filter(({ required }) => required), ...parameters.filter(({ required }) => !required)];
  const [file, setFile] = useState(null);
  const [fault, setFault] = useState('');
  const [asking, setAsking] = useState(false);
  const { answer, error, busy, run, stop } = useSender();
  const form = useRef(null);
  const key = request.secured ? readKey() : '';
  useEffect(() => form.current.querySelector('input, select, textarea, button')?.focus(), []);
  const set = (name, value) => change({ ...values, parameters: { __proto__: null, ...values.parameters, [name]: value } });
  const go = () => {
    setAsking(false);
    run(request, { key, file });
  };
  const submit = (event) => {
    event.preventDefault();
    const missing = sorted.find(({ name, required }) => required && !values.parameters[name]);
    setFault(missing ? `Enter ${missing.name} first.` : bodyFault(request));
    if (missing) form.current.elements[missing.name]?.focus();
    else if (!bodyFault(request)) asksFirst(request) ? setAsking(true) : go();
  };
  if (request.secured && !key) return html`<div ref=${form}><${SignIn} close=${close} /></div>`;
  return html`<form class="trial" ref=${form} onSubmit=${submit} novalidate aria-label=${`Try: ${operation.summary || operation.id}`}>
    ${sorted.map((parameter) => html`<${Parameter} key=${parameter.in + parameter.name} parameter=${parameter}
      value=${values.parameters[parameter.name] ?? ''} set=${(value) => set(parameter.name, value)} />`)}
    ${request.file && html`<label class="field"><span>File</span><input type="file" onChange=${(event) => setFile(event.currentTarget.files[0] || null)} /></label>`}
    ${!request.file && kindOf(doc, operation.requestBody) && html`<${BodyField} kind=${kindOf(doc, operation.requestBody)} value=${values.body} set=${(body) => change({ ...values, body })} />`}
    <div role="alert">${fault && html`<p class="fault">${fault}</p>`}</div>
    ${asking
      ? html`<${Question} request=${request} yes=${go} no=${() => setAsking(false)} />`
      : html`<p class="trial-buttons">
        <button class="button primary" disabled=${busy}><${Icon} name="play" />Send</button>
        ${busy && html`<button type="button" class="button" onClick=${stop}><${Icon} name="stop" />Stop</button>`}
        <button type="button" class="button" onClick=${() => { stop(); close(); }}>Close</button>
      </p>`}
    <p class="visually-hidden" role="status">${answer?.done ? `Answer ${answer.status} after ${answer.ms} milliseconds` : ''}</p>
    ${error && html`<p class="fault" role="alert">${error}</p>`}
    ${answer && html`<${AnswerBox} answer=${answer} />`}
  </form>`;
}

function SignIn({ close }) {
  return html`<div class="notice"><${Icon} name="warning" /><div>
    <p>Log in to try this: run <code>warren open</code> in a terminal, or <a href="./">log in with a key</a>. Then come back to this page.</p>
    <p><button type="button" class="button small" onClick=${close}>Close</button></p>
  </div></div>`;
}

function bodyFault({ body, headers }) {
  if (!body || !headers.some(([name, value]) => name === 'Content-Type' && value === 'application/json')) return '';
  try {
    JSON.parse(body);
    return '';
  } catch (error) {
    return `The body is no JSON: ${error.message}.`;
  }
}

function Parameter({ parameter: { name, in: place, required, schema = {}, example }, value, set }) {
  const id = useId();
  const options = schema.enum || (schema.type === 'boolean' ? ['true', 'false'] : null);
  const isList = [].concat(schema.type || []).includes('array');
  const shown = example ?? schema.examples?.[0];
  const tied = { id, name, value, required };
  return html`<div class="field">
    <label for=${id}><code>${name}</code> <span class="optional">${required ? 'required' : place}</span></label>
    ${options
      ? html`<select ...${tied} onChange=${(event) => set(event.currentTarget.value)}>
        <option value="">–</option>${options.map((option) => html`<option key=${option} value=${String(option)} selected=${String(option) === value}>${String(option)}</option>`)}</select>`
      : html`<input type="text" ...${tied} spellcheck=${false} autocomplete="off" placeholder=${isList ? 'a, b' : shown === undefined ? '' : String(shown)}
        onInput=${(event) => set(event.currentTarget.value)} />`}
  </div>`;
}

function BodyField({ kind, value, set }) {
  const id = useId();
  return html`<div class="field"><label for=${id}>Body <span class="optional">${kind}</span></label>
    <textarea id=${id} class="mono" rows=${Math.min(16, Math.max(3, value.split('\n').length + 1))} spellcheck=${false} value=${value} onInput=${(event) => set(event.currentTarget.value)}></textarea>
  </div>`;
}

// Question asks before a request that deletes or stops. The focus is on the way back.
function Question({ request, yes, no }) {
  const back = useRef(null);
  useEffect(() => back.current.focus(), []);
  const escape = (event) => event.key === 'Escape' && no();
  return html`<div class="notice" role="alertdialog" aria-label="Really send?" onKeyDown=${escape}><${Icon} name="warning" /><div>
    <p>This acts on the real server: <code>${request.method} ${new URL(request.url).pathname}</code></p>
    <p class="trial-buttons"><button type="button" class="button" ref=${back} onClick=${no}>Cancel</button>
      <button type="button" class="button danger" onClick=${yes}>Send it</button></p>
  </div></div>`;
}

function AnswerBox({ answer: { status, title, ok, ms, bytes, headers, kind, text, blob, done } }) {
  const save = () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = `answer.${(kind.split(';')[0].split('/')[1] || 'bin').replace('octet-stream', 'bin')}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  return html`<div class="answer">
    <p class="answer-line"><strong class=${ok ? 'good-text' : 'bad-text'}>${status} ${title}</strong> <span class="muted">${ms} ms · ${bytes} bytes${done ? '' : ' · reading'}</span></p>
    <details class="fold"><summary>Headers</summary><dl class="headers">${headers.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></details>
    ${blob && html`<p><button type="button" class="button small" onClick=${save}><${Icon} name="download" />Save the answer</button> <span class="muted">${kind}</span></p>`}
    ${text && html`<${Code} title="The answer" text=${text} />`}
  </div>`;
}

// useSender sends one request at a time. A request ends with the form.
function useSender() {
  const [state, setState] = useState({ answer: null, error: '', busy: false });
  const current = useRef(null);
  const stop = () => current.current?.abort();
  useEffect(() => stop, []);
  const run = async (request, { key, file }) => {
    stop();
    const mine = new AbortController();
    current.current = mine;
    const show = (more) => current.current === mine && setState((now) => ({ ...now, ...more }));
    show({ answer: null, error: '', busy: true });
    try {
      await send(request, { key, file, signal: mine.signal, progress: (answer) => show({ answer: { ...answer } }) });
    } catch (error) {
      if (error.name !== 'AbortError') show({ error: 'Warren does not answer. The server may have stopped, or the network is down.' });
    }
    show({ busy: false });
  };
  return { ...state, run, stop };
}
