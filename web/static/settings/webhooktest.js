// A test of a webhook, and the attempts to deliver a message.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { ProblemBox, Status } from '../components.js';
import { Dialog } from '../dialog.js';
import { moment, sentence, span } from '../format.js';

// STATES are the states of a message.
export const STATES = { __proto__: null, pending: { text: 'Waiting', tone: 'wait' }, delivered: { text: 'Delivered', tone: 'good' }, failed: { text: 'Failed', tone: 'bad' } };

// Attempts lists attempts, the last one first.
export function Attempts({ attempts }) {
  return html`<ul class="lines-list">${[...attempts].reverse().map((attempt) => html`<li key=${attempt.at} class="attempt"><p class="attempt-head"><${Status} of=${attempt.error ? STATES.failed : STATES.delivered} /><span class="muted number">${moment(attempt.at)} · ${span(attempt.durationMs)}${attempt.status == null ? '' : ` · HTTP ${attempt.status}`}</span></p>
    ${attempt.error && html`<p>${sentence(attempt.error.message)}</p>`}
    ${attempt.answer && html`<pre class="lines" tabindex="0" aria-label="How the answer begins">${attempt.answer}</pre>`}</li>`)}</ul>`;
}

// useTest sends a test of a webhook: {busy, sent, problem, send}.
export function useTest({ id }) {
  const { api } = useApp();
  const [state, setState] = useState({ busy: false, sent: null, problem: null });
  const send = async () => {
    setState({ busy: true, sent: null, problem: null });
    await api.post(`/webhooks/${encodeURIComponent(id)}/test`).then((sent) => setState({ busy: false, sent, problem: null }), (problem) => setState({ busy: false, sent: null, problem }));
  };
  return { ...state, send };
}

// TestResult shows what came back.
export function TestResult({ test: { sent, problem, busy } }) {
  return html`<div role="status">${busy ? 'Waiting for the answer, for up to 20 seconds…' : sent && html`<${Attempts} attempts=${sent.attempts} />`}</div><${ProblemBox} problem=${problem} />`;
}

// TestDialog sends a test at once.
export function TestDialog({ webhook, close }) {
  const test = useTest(webhook);
  useEffect(() => { test.send(); }, []);
  return html`<${Dialog} title="Test the webhook" lead=${html`<bdi class="path">${webhook.url}</bdi>`} close=${close}>
    <div class="dialog-content"><p class="hint">An event <code>webhook.test</code> is sent once.</p><${TestResult} test=${test} /></div>
    <footer class="dialog-foot"><button type="button" class="button" disabled=${test.busy} onClick=${test.send}>Test again</button><button type="button" class="button primary" autofocus onClick=${close}>Close</button></footer><//>`;
}
