// The API's documentation, drawn from /openapi.json. Nothing here depends on a certain operation.
import { render } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { html } from './html.js';
import { Api } from './api.js';
import { Copy, ProblemBox, Prose, Waiting } from './components.js';
import { Icon, Logo } from './icons.js';
import { Operation } from './operation.js';
import { SearchBox } from './searchbox.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

function Docs() {
  const [doc, setDoc] = useState(null);
  const [problem, setProblem] = useState(null);
  const [search, setSearch] = useState('');
  const read = () => new Api('').open('GET', 'openapi.json').then((response) => response.json()).then(setDoc, setProblem);
  useEffect(() => {
    read();
  }, []);
  const all = useMemo(() => (doc ? operationsOf(doc) : []), [doc]);
  const shown = all.filter((operation) => matches(operation, search.toLowerCase()));
  const groups = groupsOf(doc, shown);
  const current = useCurrent(doc);
  useEffect(() => {
    const slash = (event) => {
      if (event.key !== '/' || event.target.closest('input')) return;
      event.preventDefault();
      document.querySelector('input[type="search"]')?.focus();
    };
    addEventListener('keydown', slash);
    return () => removeEventListener('keydown', slash);
  }, []);
  return html`<a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.querySelector('main h1')?.focus(); }}>Skip to content</a>
    <div class="frame docs">
      <aside class="side">
        <a class="brand" href="./"><${Logo} />Warren</a>
        <${SearchBox} value=${search} label="Search the API" change=${setSearch} />
        <nav aria-label="Operations" class="contents">
          ${groups.map(({ name, operations }) => html`<div key=${name}><h2>${name}</h2>
            <ul>${operations.map(({ id, method, summary }) => html`<li key=${id}><a href=${`#${id}`} aria-current=${current === id ? 'true' : undefined}>
              <span class="method ${method}">${method}</span>${summary}</a></li>`)}</ul></div>`)}
        </nav>
        <p class="visually-hidden" role="status">${search ? `${shown.length} operations fit` : ''}</p>
      </aside>
      <main id="main">
        <${ProblemBox} problem=${problem}><button type="button" class="button small" onClick=${() => { setProblem(null); read(); }}>Try again</button><//>
        ${!doc && !problem && html`<${Waiting} />`}
        ${doc && html`<${Intro} doc=${doc} />`}
        ${doc && groups.map(({ name, about, operations }) => html`<section key=${name} class="group-of-operations">
          <h2>${name}</h2>${about && html`<${Prose} text=${about} />`}
          ${operations.map((operation) => html`<${Operation} key=${operation.id} doc=${doc} operation=${operation} />`)}
        </section>`)}
        ${doc && shown.length === 0 && html`<p class="lead">No operation fits this search.</p>`}
      </main>
    </div>`;
}

function Intro({ doc }) {
  const { info } = doc;
  const line = `export WARREN_API_KEY=wrn_…   # your key`;
  return html`<header class="intro">
    <p class="back"><a href="./"><${Icon} name="exit" />Back to the profiles</a></p>
    <h1 tabindex="-1">${info.title} API <span class="total">${info.version}</span></h1>
    <${Prose} text=${info.description} />
    <p>The examples take the key from the environment. The description itself is <a href="openapi.json" download="openapi.json" onClick=${(event) => save(event, doc)}>openapi.json</a> (OpenAPI ${doc.openapi}).</p>
    <div class="code"><pre tabindex="0" aria-label="Shell">${line}</pre><${Copy} text="export WARREN_API_KEY=" label="Copy" /></div>
  </header>`;
}

// save downloads the description, indented.
function save(event, doc) {
  event.preventDefault();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([JSON.stringify(doc, null, 2)], { type: 'application/json' }));
  link.download = 'openapi.json';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// operationsOf lists the operations, including the parameters of their paths.
function operationsOf(doc) {
  const list = [];
  for (const [path, item] of Object.entries(doc.paths || {})) {
    for (const method of METHODS) {
      const operation = item[method];
      if (!operation) continue;
      const server = (operation.servers || item.servers || doc.servers || [{ url: '' }])[0].url.replace(/\/$/, '');
      list.push({
        ...operation,
        id: operation.operationId || `${method}${path}`.replace(/\W+/g, '-'),
        method,
        path: server + path,
        parameters: [...(item.parameters || []), ...(operation.parameters || [])],
      });
    }
  }
  return list;
}

// groupsOf groups operations by their first tag, in the document's order of tags.
function groupsOf(doc, operations) {
  const names = [...new Set([...(doc?.tags || []).map((tag) => tag.name), ...operations.map(tagOf)])];
  return names.map((name) => ({
    name,
    about: (doc.tags || []).find((tag) => tag.name === name)?.description,
    operations: operations.filter((operation) => tagOf(operation) === name),
  })).filter((group) => group.operations.length);
}

function tagOf(operation) {
  return operation.tags?.[0] || 'other';
}

function matches({ id, method, path, summary = '', description = '' }, search) {
  const text = `${id} ${method} ${path} ${summary} ${description}`.toLowerCase();
  return search.split(/\s+/).every((word) => text.includes(word));
}

// useCurrent tracks the operation in view, and scrolls to the one in the address.
function useCurrent(doc) {
  const [current, setCurrent] = useState('');
  useEffect(() => {
    if (!doc) return undefined;
    const go = () => document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
    go();
    const seen = new IntersectionObserver((entries) => {
      const entry = entries.find((one) => one.isIntersecting);
      if (entry) setCurrent(entry.target.id);
    }, { rootMargin: '-10% 0px -75%' });
    for (const section of document.querySelectorAll('.operation')) seen.observe(section);
    addEventListener('hashchange', go);
    return () => {
      seen.disconnect();
      removeEventListener('hashchange', go);
    };
  }, [doc]);
  return current;
}

render(html`<${Docs} />`, document.body);
