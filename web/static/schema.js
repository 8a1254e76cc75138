// Shows JSON Schema of OpenAPI 3.1 in words and as an example.
import { html } from './html.js';
import { Prose } from './components.js';

const DEPTH = 6; // schemas may refer to each other in a cycle

// resolve follows a reference within the document.
export function resolve(doc, value) {
  let found = value;
  for (let i = 0; found?.$ref && i < DEPTH; i += 1) {
    const steps = found.$ref.replace(/^#\//, '').split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
    found = steps.reduce((at, step) => at?.[step], doc);
  }
  return found || {};
}

export function typeOf(doc, given) {
  const schema = resolve(doc, given);
  const types = [].concat(schema.type || []);
  const main = types.find((type) => type !== 'null');
  const alternatives = schema.oneOf || schema.anyOf;
  if (alternatives) return alternatives.map((one) => typeOf(doc, one)).join(' or ');
  let words = main || (schema.properties ? 'object' : types[0] || 'any');
  if (main === 'array') words = `list of ${typeOf(doc, schema.items || {})}`;
  if (schema.format && !/^(int|double|float)/.test(schema.format)) words += ` (${schema.format})`;
  return main && types.includes('null') ? `${words} or null` : words;
}

// Schema lists the members of an object with their types. Members that are objects unfold.
export function Schema({ doc, schema, depth = 0 }) {
  const found = resolve(doc, schema);
  const inner = found.items ? resolve(doc, found.items) : found;
  const members = Object.entries(inner.properties || {});
  if (!members.length || depth > DEPTH) return html`<p class="type">${typeOf(doc, schema)}</p>`;
  return html`<ul class="members">${members.map(([name, member]) => html`<${Member} key=${name}
    ...${{ doc, name, member, depth, required: inner.required?.includes(name) }} />`)}</ul>`;
}

function Member({ doc, name, member, required, depth }) {
  const schema = resolve(doc, member);
  const nested = schema.properties || resolve(doc, schema.items || {}).properties;
  return html`<li>
    <p><code class="member">${name}</code> <span class="type">${typeOf(doc, member)}</span>${required && depth === 0 && html` <span class="required">required</span>`}</p>
    <${Prose} text=${member.description || schema.description} />
    <${Bounds} schema=${schema} />
    ${nested && html`<details class="fold"><summary>Members of ${name}</summary><${Schema} doc=${doc} schema=${member} depth=${depth + 1} /></details>`}
  </li>`;
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

// exampleOf returns a value that a schema allows. A request's example has only required members and those with an
// example; an answer's has all.
export function exampleOf(doc, given, { asked = false, depth = 0 } = {}) {
  const schema = resolve(doc, given);
  const own = given?.examples?.[0] ?? schema.examples?.[0] ?? schema.example ?? schema.const ?? schema.default ?? schema.enum?.[0];
  if (own !== undefined) return own;
  const types = [].concat(schema.type || (schema.properties ? 'object' : []));
  const type = types.find((one) => one !== 'null');
  if (types.includes('null') && !['object', 'array'].includes(type)) return null;
  const next = { asked, depth: depth + 1 };
  if (depth > DEPTH) return null;
  if (schema.oneOf || schema.anyOf) return exampleOf(doc, (schema.oneOf || schema.anyOf)[0], next);
  if (type === 'array') return asked ? [] : [exampleOf(doc, schema.items || {}, next)];
  if (type === 'object') {
    const members = Object.entries(schema.properties || {}).filter(([name, member]) => !asked || schema.required?.includes(name)
      || (member.examples ?? resolve(doc, member).examples) !== undefined);
    return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(doc, member, next)]));
  }
  return plain(type, schema);
}

function plain(type, schema) {
  if (type === 'integer' || type === 'number') return schema.minimum ?? 0;
  if (type === 'boolean') return false;
  if (type !== 'string') return null;
  return { __proto__: null, 'date-time': '2026-01-31T12:00:00.000Z', uri: 'https://example.com/' }[schema.format] ?? '';
}
