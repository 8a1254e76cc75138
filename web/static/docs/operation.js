// One operation of the API: its head, and once it is open its input, its answers, how to call it, and a form to try it.
import { useState } from 'preact/hooks';
import { html } from '../html.js';
import { Prose } from '../components.js';
import { Icon } from '../icons.js';
import { Code } from './code.js';
import { exampleOf, givenExample, jsonOf, resolve } from './example.js';
import { Languages, useLanguage } from './language.js';
import { requestOf, valuesOf } from './samples.js';
import { Fold, Schema, typeOf } from './schema.js';
import { Trial } from './trial.js';

export function Operation({ doc, operation, open, toggle }) {
  const { id, method, twins, path, summary } = operation;
  return html`<article class="operation" id=${id}>
    <h3><button type="button" class="operation-head" aria-expanded=${open ? 'true' : 'false'} aria-controls=${open ? `${id}-body` : undefined} onClick=${toggle}>
      <span class="method ${method}">${method}</span>
      <span class="operation-summary">${summary || id}${twins.map((twin) => html` <span key=${twin.method} class="method ${twin.method}">${twin.method}</span>`)}</span>
      <code class="operation-path">${path}</code>
      <${Icon} name="play" />
    </button></h3>
    ${open && html`<${Body} doc=${doc} operation=${operation} />`}
  </article>`;
}

function Body({ doc, operation }) {
  const { id, method, twins, description, parameters, requestBody, responses = {} } = operation;
  const [values, setValues] = useState(() => valuesOf(doc, operation));
  const [trying, setTrying] = useState(false);
  const body = jsonOf(requestBody && resolve(doc, requestBody));
  const good = Object.entries(responses).filter(([status]) => /^[123]/.test(status));
  const bad = Object.entries(responses).filter(([status]) => !/^[123]/.test(status));
  const request = requestOf(doc, operation, document.baseURI, values);
  return html`<div class="operation-body" id=${`${id}-body`}>
    <div class="operation-words">
      ${twins.length > 0 && html`<p>${twins.map((twin) => twin.method.toUpperCase()).join(' and ')} does the same as ${method.toUpperCase()}.</p>`}
      <${Prose} text=${description} />
      <${Parameters} doc=${doc} parameters=${parameters.map((parameter) => resolve(doc, parameter))} />
      ${body && html`<h4>Body${requestBody.required ? '' : html` <span class="optional">optional</span>`}</h4><${Schema} doc=${doc} schema=${body.schema} example=${givenExample(body)} />`}
      ${good.map(([status, response]) => html`<${Answer} key=${status} doc=${doc} status=${status} response=${resolve(doc, response)} />`)}
      ${bad.length > 0 && html`<h4>Errors</h4><ul class="errors">${bad.map(([status, response]) => html`<${ErrorLine} key=${status} doc=${doc} status=${status} response=${resolve(doc, response)} />`)}</ul>`}
    </div>
    <div class="operation-code">
      <${Call} request=${request} />
      ${trying
        ? html`<${Trial} doc=${doc} operation=${operation} request=${request} values=${values} change=${setValues} close=${() => setTrying(false)} />`
        : html`<p><button type="button" class="button" onClick=${() => setTrying(true)}><${Icon} name="play" />Try it</button></p>`}
      ${good.map(([status, response]) => html`<${AnswerExample} key=${status} doc=${doc} status=${status} response=${resolve(doc, response)} />`)}
    </div>
  </div>`;
}

// Call is the sample in the chosen language.
function Call({ request }) {
  const { name, write } = useLanguage();
  return html`<div><${Languages} /><${Code} title=${`Call in ${name}`} text=${write(request)} /></div>`;
}

function Parameters({ doc, parameters }) {
  if (!parameters.length) return null;
  const sorted = [...parameters.filter(({ required }) => required), ...parameters.filter(({ required }) => !required)];
  return html`<h4>Parameters</h4><ul class="members">${sorted.map(({ name, in: place, required, description, schema = {} }) => html`<li key=${place + name}>
    <p><code class="member">${name}</code> <span class="type">${typeOf(doc, schema)}, in ${place}</span>${required && html` <span class="required">required</span>`}</p>
    <${Prose} text=${description || schema.description} />
    ${schema.enum && html`<p class="bounds">One of ${schema.enum.map((value) => html`<code key=${value}>${String(value)}</code> `)}</p>`}
  </li>`)}</ul>`;
}

function Answer({ doc, status, response }) {
  const content = jsonOf(response);
  return html`<h4>Answer ${status} <span class="optional">${response.description}</span></h4>
    ${content?.schema ? html`<${Fold} title="What it holds">${() => html`<${Schema} doc=${doc} schema=${content.schema} />`}<//>`
      : html`<p class="lead">${Object.keys(response.content || {}).join(', ') || 'No body.'}</p>`}`;
}

function AnswerExample({ doc, status, response }) {
  const content = jsonOf(response);
  if (!content) return null;
  return html`<${Code} title=${`Answer ${status}`} text=${JSON.stringify(givenExample(content) ?? exampleOf(doc, content.schema), null, 2)} />`;
}

// ErrorLine lists an error's codes if the document has an example of each.
function ErrorLine({ doc, status, response }) {
  const examples = jsonOf(response)?.examples || {};
  const codes = Object.entries(examples).map(([name, example]) => resolve(doc, example).value?.code || name);
  return html`<li><strong>${status}</strong> ${response.description} ${codes.map((code) => html`<code key=${code}>${code}</code> `)}</li>`;
}
