// Reads JSON Schema of OpenAPI 3.1: references, members and examples. Pure: it draws nothing.

export const DEPTH = 6; // schemas may refer to each other in a cycle

// resolve follows a reference within the document.
export function resolve(doc, value) {
  let found = value;
  for (let i = 0; found?.$ref && i < DEPTH; i += 1) {
    const steps = found.$ref.replace(/^#\//, '').split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
    found = steps.reduce((at, step) => at?.[step], doc);
  }
  return found || {};
}

// schemaOf follows a reference, and merges the parts of allOf into one schema.
export function schemaOf(doc, value) {
  const found = resolve(doc, value);
  if (!found.allOf) return found;
  const parts = [...found.allOf.map((part) => schemaOf(doc, part)), { ...found, allOf: undefined }];
  return {
    ...Object.assign({}, ...parts),
    properties: Object.assign({}, ...parts.map((part) => part.properties)),
    required: parts.flatMap((part) => part.required || []),
  };
}

// membersOf lists the members of an object, as [name, schema, required]. Required ones are first, then those of the
// example, then the others.
export function membersOf(doc, value, example) {
  const { properties = {}, required = [] } = schemaOf(doc, value);
  const rank = (name) => (required.includes(name) ? 0 : example && Object.hasOwn(example, name) ? 1 : 2);
  return Object.entries(properties)
    .map(([name, member]) => [name, member, required.includes(name)])
    .sort(([a], [b]) => rank(a) - rank(b));
}

// jsonOf returns the JSON content of a request body or an answer.
export function jsonOf(holder) {
  const content = holder?.content || {};
  const type = Object.keys(content).find((name) => /json$/.test(name));
  return type ? content[type] : null;
}

// givenExample returns an example from the document.
export function givenExample(content) {
  if (content?.example !== undefined) return content.example;
  const [first] = Object.values(content?.examples || {});
  return first?.value;
}

// exampleOf returns a value that a schema allows. A request's example has only required members and those with an
// example; an answer's has all.
export function exampleOf(doc, given, { asked = false, depth = 0 } = {}) {
  const schema = schemaOf(doc, given);
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
    const members = membersOf(doc, schema).filter(([, member, required]) => !asked || required
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

// bodyExample returns the text of a request's body as the document shows it: JSON with required members first. A body
// that nobody must send and that has no members is ''.
export function bodyExample(doc, requestBody) {
  const body = resolve(doc, requestBody);
  const content = jsonOf(body);
  if (!content) {
    const [first] = Object.values(body.content || {});
    return first?.schema?.format === 'binary' ? '' : String(first?.example ?? '');
  }
  const example = givenExample(content) ?? exampleOf(doc, content.schema, { asked: true });
  if (!body.required && Object.keys(example || {}).length === 0) return '';
  return JSON.stringify(sorted(doc, content.schema, example), null, 2);
}

function sorted(doc, schema, example) {
  if (!example || typeof example !== 'object' || Array.isArray(example)) return example;
  const names = membersOf(doc, schema, example).map(([name]) => name).filter((name) => Object.hasOwn(example, name));
  return Object.fromEntries([...new Set([...names, ...Object.keys(example)])].map((name) => [name, example[name]]));
}
