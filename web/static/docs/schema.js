// Shows JSON Schema of OpenAPI 3.1 in words.
import { useState } from 'preact/hooks';
import { html } from '../html.js';
import { Prose } from '../components.js';
import { DEPTH, membersOf, resolve, schemaOf } from './example.js';

export function typeOf(doc, given) {
  const schema = schemaOf(doc, given);
  const types = [].concat(schema.type || []);
  const main = types.find((type) => type !== 'null');
  const alternatives = schema.oneOf || schema.anyOf;
  if (alternatives) return alternatives.map((one) => typeOf(doc, one)).join(' or ');
  let words = main || (schema.properties ? 'object' : types[0] || 'any');
  if (main === 'array') words = `list of ${typeOf(doc, schema.items || {})}`;
  if (schema.format && !/^(int|double|float)/.test(schema.format)) words += ` (${schema.format})`;
  return main && types.includes('null') ? `${words} or null` : words;
}

const FEW = 8; // as many members are shown of a long list

// Schema lists the members of an object with their types, required ones first. Members that are objects unfold. Of a
// long list those that are required or in the example are shown, and the others unfold too.
export function Schema({ doc, schema, example, depth = 0 }) {
  const found = schemaOf(doc, schema);
  const inner = found.items ? schemaOf(doc, found.items) : found;
  const members = membersOf(doc, inner, example);
  if (!members.length || depth > DEPTH) return html`<p class="type">${typeOf(doc, schema)}</p>`;
  const chosen = members.filter(([name, , required]) => required || (example && Object.hasOwn(example, name))).length;
  const count = members.length > 2 * FEW ? Math.max(chosen, FEW) : members.length;
  const rest = members.slice(count);
  return html`<${Members} ...${{ doc, depth, members: members.slice(0, count) }} />
    ${rest.length > 0 && html`<${Fold} title=${`${rest.length} more members`}>${() => html`<${Members} ...${{ doc, depth, members: rest }} />`}<//>`}`;
}

function Members({ doc, depth, members }) {
  return html`<ul class="members">${members.map(([name, member, required]) => html`<${Member} key=${name} ...${{ doc, name, member, depth, required }} />`)}</ul>`;
}

function Member({ doc, name, member, required, depth }) {
  const schema = schemaOf(doc, member);
  const nested = schema.properties || resolve(doc, schema.items || {}).properties;
  return html`<li>
    <p><code class="member">${name}</code> <span class="type">${typeOf(doc, member)}</span>${required && depth === 0 && html` <span class="required">required</span>`}</p>
    <${Prose} text=${member.description || schema.description} />
    <${Bounds} schema=${schema} />
    ${nested && html`<${Fold} title=${`Members of ${name}`}>${() => html`<${Schema} doc=${doc} schema=${member} depth=${depth + 1} />`}<//>`}
  </li>`;
}

// Fold draws its content once it is opened.
export function Fold({ title, children }) {
  const [open, setOpen] = useState(false);
  return html`<details class="fold" onToggle=${(event) => setOpen(event.currentTarget.open)}><summary>${title}</summary>${open && children()}</details>`;
}

function Bounds({ schema }) {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = schema;
  const values = schema.enum || schema.items?.enum;
  const bounds = [
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' of them'),
    pattern && `like ${pattern}`,
  ].filter(Boolean).join(', ');
  if (!values && !bounds && schema.default === undefined) return null;
  return html`<p class="bounds">
    ${values && html`One of ${values.map((value) => html`<code key=${value}>${String(value)}</code> `)}`}
    ${bounds} ${schema.default !== undefined && html`Default <code>${JSON.stringify(schema.default)}</code>`}
  </p>`;
}

function range(from, to, unit) {
  const [least, most] = [from, to].map((n) => (n === undefined ? n : new Intl.NumberFormat('en').format(n)));
  if (least === undefined && most === undefined) return '';
  if (least === undefined) return `at most ${most}${unit}`;
  if (most === undefined) return `at least ${least}${unit}`;
  return `${least} to ${most}${unit}`;
}
