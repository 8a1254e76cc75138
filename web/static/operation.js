// One operation of the API: its input, its answers, and how to call it from a shell.
import { html } from './html.js';
import { Copy, Prose } from './components.js';
import { exampleOf, resolve, Schema, typeOf } from './schema.js';

export function Operation({ doc, operation }) {
  const { id, method, path, summary, description, parameters, requestBody, responses = {} } = operation;
  const body = jsonOf(requestBody && resolve(doc, requestBody));
  const good = Object.entries(responses).filter(([status]) => /^[123]/.test(status));
  const bad = Object.entries(responses).filter(([status]) => !/^[123]/.test(status));
  const command = curl(doc, operation, body);
  return html`<article class="operation" id=${id} aria-labelledby=${`${id}-title`}>
    <div class="operation-words">
      <h3 id=${`${id}-title`}><a href=${`#${id}`}>${summary || id}</a></h3>
      <p class="operation-path"><span class="method ${method}">${method}</span><code>${path}</code></p>
      <${Prose} text=${description} />
      <${Parameters} doc=${doc} parameters=${parameters.map((parameter) => resolve(doc, parameter))} />
      ${body && html`<h4>Body${requestBody.required ? '' : html` <span class="optional">optional</span>`}</h4><${Schema} doc=${doc} schema=${body.schema} />`}
      ${good.map(([status, response]) => html`<${Answer} key=${status} doc=${doc} status=${status} response=${resolve(doc, response)} />`)}
      ${bad.length > 0 && html`<h4>Errors</h4><ul class="errors">${bad.map(([status, response]) => html`<${ErrorLine} key=${status} doc=${doc} status=${status} response=${resolve(doc, response)} />`)}</ul>`}
    </div>
    <div class="operation-code">
      <${Code} title="Call" text=${command} />
      ${good.map(([status, response]) => html`<${AnswerExample} key=${status} doc=${doc} status=${status} response=${resolve(doc, response)} />`)}
    </div>
  </article>`;
}

function Parameters({ doc, parameters }) {
  if (!parameters.length) return null;
  return html`<h4>Parameters</h4><ul class="members">${parameters.map(({ name, in: place, required, description, schema = {} }) => html`<li key=${place + name}>
    <p><code class="member">${name}</code> <span class="type">${typeOf(doc, schema)}, in ${place}</span>${required && html` <span class="required">required</span>`}</p>
    <${Prose} text=${description || schema.description} />
  </li>`)}</ul>`;
}

function Answer({ doc, status, response }) {
  const content = jsonOf(response);
  return html`<h4>Answer ${status} <span class="optional">${response.description}</span></h4>
    ${content?.schema ? html`<details class="fold"><summary>What it holds</summary><${Schema} doc=${doc} schema=${content.schema} /></details>`
      : html`<p class="lead">${Object.keys(response.content || {}).join(', ') || 'No body.'}</p>`}`;
}

function AnswerExample({ doc, status, response }) {
  const content = jsonOf(response);
  if (!content) return null;
  return html`<${Code} title=${`Answer ${status}`} text=${JSON.stringify(given(content) ?? exampleOf(doc, content.schema), null, 2)} />`;
}

// ErrorLine lists an error's codes if the document has an example of each.
function ErrorLine({ doc, status, response }) {
  const examples = jsonOf(response)?.examples || {};
  const codes = Object.entries(examples).map(([name, example]) => resolve(doc, example).value?.code || name);
  return html`<li><strong>${status}</strong> ${response.description} ${codes.map((code) => html`<code key=${code}>${code}</code> `)}</li>`;
}

function Code({ title, text }) {
  return html`<div class="code"><p class="code-title">${title}</p><pre tabindex="0" aria-label=${title}>${text}</pre><${Copy} text=${text} label=${`Copy: ${title}`} /></div>`;
}

function jsonOf(holder) {
  const content = holder?.content || {};
  const type = Object.keys(content).find((name) => /json$/.test(name));
  return type ? content[type] : null;
}

// given returns an example from the document.
function given(content) {
  if (content.example !== undefined) return content.example;
  const [first] = Object.values(content.examples || {});
  return first?.value;
}

// curl formats a call as a shell line. The key comes from the environment, so that it is not stored in a history.
function curl(doc, { method, path, parameters, security, requestBody }, body) {
  const query = parameters.map((parameter) => resolve(doc, parameter))
    .filter(({ in: place, required, example, schema }) => place === 'query' && (required || (example ?? schema?.examples?.[0]) !== undefined))
    .map(({ name, example, schema }) => `${name}=${encodeURIComponent(example ?? exampleOf(doc, schema))}`).join('&');
  const address = new URL(`.${path.replace(/\{(\w+)[^}]*\}/g, (_, name) => name.toUpperCase())}`, document.baseURI).href + (query && `?${query}`);
  const parts = [`curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}${quote(address)}`];
  if (!security || security.length) parts.push('-H "Authorization: Bearer $WARREN_API_KEY"');
  const sent = body && JSON.stringify(given(body) ?? exampleOf(doc, body.schema, { asked: true }), null, 2);
  if (sent && (sent !== '{}' || requestBody.required)) parts.push("-H 'Content-Type: application/json'", `-d ${quote(sent)}`);
  return parts.join(' \\\n  ');
}

function quote(text) {
  return /^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
