// The API's documentation, drawn from /openapi.json. Nothing here depends on a certain operation.
import { render } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { Copy, Prose, Waiting } from '../components.js';
import { Icon, Logo } from '../icons.js';
import { SearchBox } from '../searchbox.js';
import { readKey } from '../session.js';
import { groupsOf, matches, named, operationsOf } from './catalog.js';
import { LanguageChoice } from './language.js';
import { Operation } from './operation.js';

function Docs() {
  const { doc, fault, read } = useDocument();
  const [search, setSearch] = useState('');
  const all = useMemo(() => (doc ? operationsOf(doc) : []), [doc]);
  const shown = all.filter((operation) => matches(operation, search));
  const groups = groupsOf(doc, shown);
  const { opened, open, toggle } = useOpened(all, (operation) => setSearch((now) => (matches(operation, now) ? now : '')));
  const current = useCurrent(shown);
  useSlash();
  const enter = (event) => {
    if (event.key !== 'Enter') return;
    const [hit] = all.filter((operation) => matches(operation, event.target.value.trim()));
    if (hit) open(hit.id);
  };
  return html`<a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.querySelector('main h1')?.focus(); }}>Skip to content</a>
    <div class="frame docs">
      <aside class="side">
        <a class="brand" href="./"><${Logo} />Warren</a>
        <div onKeyDown=${enter}><${SearchBox} value=${search} label="Search the API" change=${setSearch} /></div>
        <nav aria-label="Operations" class="contents">
          ${groups.map(({ name, operations }) => html`<div key=${name}><h2>${name}</h2>
            <ul>${operations.map(({ id, method, summary }) => html`<li key=${id}><a href=${`#${id}`} aria-current=${current === id ? 'true' : undefined} onClick=${() => open(id)}>
              <span class="method ${method}">${method}</span>${summary}</a></li>`)}</ul></div>`)}
        </nav>
        <p class="visually-hidden" role="status">${search ? `${shown.length} operations fit. Enter opens the first.` : ''}</p>
      </aside>
      <main id="main">
        ${fault && html`<div class="problem" role="alert"><p class="problem-title"><${Icon} name="warning" />${fault}</p>
          <button type="button" class="button small" onClick=${read}>Try again</button></div>`}
        ${!doc && !fault && html`<${Waiting} />`}
        ${doc && html`<${Intro} doc=${doc} />`}
        ${groups.map(({ name, about, operations }) => html`<section key=${name} class="group-of-operations">
          <h2>${name}</h2>${about && html`<${Prose} text=${about} />`}
          ${operations.map((operation) => html`<${Operation} key=${operation.id} doc=${doc} operation=${operation}
            open=${opened.has(operation.id) || shown.length === 1} toggle=${() => toggle(operation.id)} />`)}
        </section>`)}
        ${doc && shown.length === 0 && html`<p class="lead">No operation fits this search.</p>`}
      </main>
    </div>`;
}

// useDocument reads the description. It is open to everybody; a key is sent if there is one.
function useDocument() {
  const [doc, setDoc] = useState(null);
  const [fault, setFault] = useState('');
  const read = async () => {
    setFault('');
    const key = readKey();
    try {
      const response = await fetch('openapi.json', { headers: key ? { Authorization: `Bearer ${key}` } : {}, cache: 'no-store', credentials: 'omit' });
      if (response.ok) setDoc(await response.json());
      else setFault(response.status === 401 ? 'Log in to read this: run “warren open” in a terminal, or log in on the page.' : `The server answered ${response.status}.`);
    } catch {
      setFault('Warren does not answer. The server may have stopped, or the network is down.');
    }
  };
  useEffect(() => {
    read();
  }, []);
  return { doc, fault, read };
}

// useOpened keeps which operations are open. The one in the address is, and comes into view; reveal ends a search that
// hides it.
function useOpened(all, reveal) {
  const [opened, setOpened] = useState(new Set());
  const target = useRef('');
  const open = (id) => {
    const operation = named(all, id);
    if (!operation) return;
    target.current = operation.id;
    reveal(operation);
    if (location.hash.slice(1) !== id) history.replaceState(null, '', `#${id}`);
    setOpened((now) => new Set([...now, operation.id]));
  };
  useEffect(() => {
    const go = () => open(decodeURIComponent(location.hash.slice(1)));
    go();
    addEventListener('hashchange', go);
    return () => removeEventListener('hashchange', go);
  }, [all]);
  useEffect(() => {
    if (!target.current) return;
    const article = document.getElementById(target.current);
    target.current = '';
    article?.scrollIntoView();
    article?.querySelector('button')?.focus({ preventScroll: true });
  }, [opened]);
  const toggle = (id) => setOpened((now) => {
    const next = new Set(now);
    if (next.delete(id)) return next;
    history.replaceState(null, '', `#${id}`);
    return next.add(id);
  });
  return { opened, open, toggle };
}

// useSlash has / go to the search.
function useSlash() {
  useEffect(() => {
    const slash = (event) => {
      if (event.key !== '/' || event.target.closest('input, textarea, select')) return;
      event.preventDefault();
      document.querySelector('input[type="search"]')?.focus();
    };
    addEventListener('keydown', slash);
    return () => removeEventListener('keydown', slash);
  }, []);
}

function Intro({ doc }) {
  const { info } = doc;
  const line = `export WARREN_API_KEY=wrn_…   # your key`;
  return html`<header class="intro">
    <p class="back"><a href="./"><${Icon} name="exit" />Back to the profiles</a></p>
    <h1 tabindex="-1">${info.title} API <span class="total">${info.version}</span></h1>
    <${Prose} text=${info.description} />
    <p>The examples take the key from the environment. The description itself is <a href="openapi.json" download="openapi.json" onClick=${(event) => save(event, doc)}>openapi.json</a> (OpenAPI ${doc.openapi}).</p>
    <div class="code"><pre tabindex="0" role="group" aria-label="Shell">${line}</pre><${Copy} text="export WARREN_API_KEY=" label="Copy" /></div>
    ${!readKey() && html`<p>To try operations here, log in: run <code>warren open</code> in a terminal, or <a href="./">log in with a key</a>.</p>`}
  </header>`;
}

// save downloads the description as it was read.
function save(event, doc) {
  event.preventDefault();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([JSON.stringify(doc, null, 2)], { type: 'application/json' }));
  link.download = 'openapi.json';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// useCurrent tracks the operation in view.
function useCurrent(shown) {
  const [current, setCurrent] = useState('');
  const names = shown.map(({ id }) => id).join(' ');
  useEffect(() => {
    const seen = new IntersectionObserver((entries) => {
      const entry = entries.find((one) => one.isIntersecting);
      if (entry) setCurrent(entry.target.id);
    }, { rootMargin: '-10% 0px -75%' });
    for (const section of document.querySelectorAll('.operation')) seen.observe(section);
    return () => seen.disconnect();
  }, [names]);
  return current;
}

render(html`<${LanguageChoice}><${Docs} /><//>`, document.body);
