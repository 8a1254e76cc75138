// Writes a call of an operation in curl, JavaScript, Python and Go. Pure: a request goes in, a text comes out.
import { bodyExample, jsonOf, resolve } from './example.js';

// requestOf makes a request of an operation. base is the address of the server, with a slash at its end. values has what
// parameters are set to, by name, and the text of the body. A path parameter without a value is its name in capitals.
// The request is {method, url, headers, body, file, secured, answer}: body is a text or null, file whether a file is the
// body, and answer is json, text, lines, file or none.
export function requestOf(doc, operation, base, values = valuesOf(doc, operation)) {
  const { method, path, security, requestBody, responses } = operation;
  const parameters = operation.parameters.map((parameter) => resolve(doc, parameter));
  const filled = path.replace(/\{(\w+)[^}]*\}/g, (_, name) => (values.parameters[name] ? encodeURIComponent(values.parameters[name]) : name.toUpperCase()));
  const query = parameters.filter(({ in: place }) => place === 'query')
    .flatMap(({ name, schema }) => listOf(values.parameters[name], schema).map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`));
  const headers = parameters.filter(({ in: place, name }) => place === 'header' && values.parameters[name])
    .map(({ name }) => [name, values.parameters[name]]);
  const kind = kindOf(doc, requestBody);
  const file = kind === 'application/octet-stream';
  if (kind && (values.body || file)) headers.push(['Content-Type', kind]);
  return {
    method: method.toUpperCase(),
    url: new URL(`.${filled}`, base).href + (query.length ? `?${query.join('&')}` : ''),
    headers,
    body: kind && !file && values.body ? values.body : null,
    file,
    secured: !security || (security.length > 0 && Object.keys(security[0]).length > 0),
    answer: answerOf(doc, responses),
  };
}

// valuesOf returns what a request has at first: the document's example of the body, and no parameters.
export function valuesOf(doc, operation) {
  return { parameters: { __proto__: null }, body: bodyExample(doc, operation.requestBody) };
}

function listOf(value, schema) {
  if (value === undefined || value === '') return [];
  return [].concat(schema?.type || []).includes('array') ? value.split(',').map((one) => one.trim()).filter(Boolean) : [value];
}

// kindOf returns the media type of a request's body: JSON if it may be.
export function kindOf(doc, requestBody) {
  const body = resolve(doc, requestBody);
  return jsonOf(body) ? 'application/json' : Object.keys(body.content || {})[0] || '';
}

function answerOf(doc, responses = {}) {
  const good = Object.entries(responses).find(([status]) => /^2/.test(status));
  const types = Object.keys(resolve(doc, good?.[1]).content || {});
  if (!types.length) return 'none';
  if (types.some((type) => /event-stream|ndjson/.test(type))) return 'lines';
  if (types.every((type) => type === 'application/json')) return 'json';
  return types.some((type) => type.startsWith('text/')) ? 'text' : 'file';
}

// LANGUAGES are the languages of the samples: id, name and writer.
export const LANGUAGES = [
  { id: 'curl', name: 'curl', write: curl },
  { id: 'javascript', name: 'JavaScript', write: javascript },
  { id: 'python', name: 'Python', write: python },
  { id: 'go', name: 'Go', write: go },
];

// curl takes the key from the environment, so that it is not stored in a history.
function curl({ method, url, headers, body, file, secured, answer }) {
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}${answer === 'lines' ? '-N ' : ''}${shell(url)}`];
  if (secured) parts.push('-H "Authorization: Bearer $WARREN_API_KEY"');
  for (const [name, value] of headers) parts.push(`-H ${shell(`${name}: ${value}`)}`);
  if (file) parts.push('--data-binary @FILE');
  else if (body !== null) parts.push(`${body.startsWith('@') ? '--data-raw' : '-d'} ${shell(body)}`);
  if (answer === 'file') parts.push('-o ANSWER');
  return parts.join(' \\\n  ');
}

function shell(text) {
  return /^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// javascript is a module for Node.js 18 or later.
function javascript({ method, url, headers, body, file, secured, answer }) {
  const lines = secured ? ['Authorization: `Bearer ${process.env.WARREN_API_KEY}`,'] : [];
  for (const [name, value] of headers) lines.push(`${/^\w+$/.test(name) ? name : literal(name)}: ${literal(value)},`);
  const options = [];
  if (method !== 'GET') options.push(`method: ${literal(method)},`);
  if (lines.length) options.push('headers: {', ...lines.map((line) => `  ${line}`), '},');
  const value = jsonValue(body);
  if (file) options.push('body: await readFile("FILE"),');
  else if (value !== undefined) options.push(`body: JSON.stringify(${indented(body, '  ')}),`);
  else if (body !== null) options.push(`body: ${literal(body)},`);
  const read = { json: 'console.log(answer.status, await answer.json());', text: 'console.log(answer.status, await answer.text());',
    none: 'console.log(answer.status);', file: 'await writeFile("ANSWER", Buffer.from(await answer.arrayBuffer()));',
    lines: 'for await (const part of answer.body.pipeThrough(new TextDecoderStream())) console.log(part);' }[answer];
  const tools = [file && 'readFile', answer === 'file' && 'writeFile'].filter(Boolean);
  return [
    ...(tools.length ? [`import { ${tools.join(', ')} } from "node:fs/promises";`, ''] : []),
    options.length ? `const answer = await fetch(${literal(url)}, {` : `const answer = await fetch(${literal(url)});`,
    ...options.map((line) => `  ${line}`),
    ...(options.length ? ['});'] : []),
    read,
  ].join('\n');
}

function python({ method, url, headers, body, file, secured, answer }) {
  const value = jsonValue(body);
  const modules = [value !== undefined && 'json', secured && 'os', 'urllib.request'].filter(Boolean);
  const all = secured ? ['"Authorization": "Bearer " + os.environ["WARREN_API_KEY"],'] : [];
  for (const [name, text] of headers) all.push(`${literal(name)}: ${literal(text)},`);
  const lines = [`${literal(url)},`, `method=${literal(method)},`];
  if (all.length) lines.push('headers={', ...all.map((line) => `    ${line}`), '},');
  if (file) lines.push('data=open("FILE", "rb"),');
  else if (value !== undefined) lines.push(`data=json.dumps(${pythonValue(value, '    ')}).encode(),`);
  else if (body !== null) lines.push(`data=${literal(body)}.encode(),`);
  const read = { json: 'print(answer.status, answer.read().decode())', text: 'print(answer.status, answer.read().decode())',
    none: 'print(answer.status)', file: 'open("ANSWER", "wb").write(answer.read())',
    lines: 'for line in answer:\n        print(line.decode(), end="")' }[answer];
  return [...modules.map((name) => `import ${name}`), '', 'request = urllib.request.Request(', ...lines.map((line) => `    ${line}`), ')',
    'with urllib.request.urlopen(request) as answer:', `    ${read}`].join('\n');
}

function pythonValue(value, indent) {
  const deeper = `${indent}    `;
  if (Array.isArray(value)) {
    return value.length ? `[\n${value.map((one) => `${deeper}${pythonValue(one, deeper)},\n`).join('')}${indent}]` : '[]';
  }
  if (value && typeof value === 'object') {
    const members = Object.entries(value).map(([name, one]) => `${deeper}${literal(name)}: ${pythonValue(one, deeper)},\n`);
    return members.length ? `{\n${members.join('')}${indent}}` : '{}';
  }
  return { true: 'True', false: 'False', null: 'None' }[typeof value === 'string' ? '' : String(value)] ?? literal(value);
}

function go({ method, url, headers, body, file, secured, answer }) {
  const tools = ['"fmt"', answer !== 'none' && '"io"', '"log"', '"net/http"', (secured || file || answer !== 'none') && '"os"', body !== null && '"strings"'];
  const failed = ['\tif err != nil {', '\t\tlog.Fatal(err)', '\t}'];
  const lines = [];
  if (file) lines.push('\tbody, err := os.Open("FILE")', ...failed);
  else if (body !== null) lines.push(`\tbody := strings.NewReader(${raw(body)})`);
  lines.push(`\trequest, err := http.NewRequest(${literal(method)}, ${literal(url)}, ${file || body !== null ? 'body' : 'nil'})`, ...failed);
  if (secured) lines.push('\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("WARREN_API_KEY"))');
  for (const [name, value] of headers) lines.push(`\trequest.Header.Set(${literal(name)}, ${literal(value)})`);
  lines.push('\tanswer, err := http.DefaultClient.Do(request)', ...failed, '\tdefer answer.Body.Close()', '\tfmt.Println(answer.Status)');
  if (answer === 'file') lines.push('\tout, err := os.Create("ANSWER")', ...failed);
  if (answer !== 'none') {
    lines.push(`\tif _, err := io.Copy(${answer === 'file' ? 'out' : 'os.Stdout'}, answer.Body); err != nil {`, '\t\tlog.Fatal(err)', '\t}');
  }
  return ['package main', '', 'import (', ...tools.filter(Boolean).map((name) => `\t${name}`), ')', '', 'func main() {', ...lines, '}'].join('\n');
}

// raw is a text as Go writes it: between backquotes if it can be.
function raw(text) {
  return /[`\r\ufeff]/.test(text) ? literal(text) : `\`${text}\``;
}

// literal is a text or a number as all three languages write it, which is JSON's way.
function literal(value) {
  return JSON.stringify(value);
}

function indented(text, indent) {
  return JSON.stringify(JSON.parse(text), null, 2).replaceAll('\n', `\n${indent}`);
}

// jsonValue parses a body; undefined if it is no JSON.
function jsonValue(body) {
  try {
    return body === null ? undefined : JSON.parse(body);
  } catch {
    return undefined;
  }
}
