// Choosing a template: a field that finds one by its name, and the words of its choice of proxies.
import { useEffect, useId, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { number } from './format.js';
import { Field } from './forms.js';

const FOUND = 20; // templates that the list shows
const PAUSE_MS = 120;

// PICKS are the ways to choose one of several proxies, as [value, words].
export const PICKS = [['leastUsed', 'The one with the fewest profiles'], ['roundRobin', 'In turn'], ['random', 'Any'], ['each', 'A different one for each']];

// dealtWords says where a template's profiles get their proxies from.
export function dealtWords(proxies) {
  return proxies === 'each' ? 'A proxy that no profile uses yet' : `A proxy with the tag ${proxies.tag}`;
}

// TemplateField finds one of the workspace's templates by typing. It is not shown where there is none.
export function TemplateField({ form, workspaceId, template, choose }) {
  const { api } = useApp();
  const [any, setAny] = useState(Boolean(template));
  useEffect(() => {
    let ended = false;
    api.get('/templates', { workspaceId, limit: 1 }).then(({ total }) => ended || setAny(total > 0), () => {});
    return () => { ended = true; };
  }, [workspaceId]);
  const control = (tied) => html`<${Finder} ...${{ workspaceId, template, choose, tied }} />`;
  return any && html`<${Field} wide ...${{ form, control }} name="templateId" label="Template" hint=${template ? 'Its settings are filled in below. The profile keeps them when the template changes.' : 'Fills in the settings of a new profile.'} />`;
}

function Finder({ workspaceId, template, choose, tied }) {
  const { api } = useApp();
  const listId = useId();
  const [text, setText] = useState(null); // null: not typing
  const [found, setFound] = useState({ data: [], total: 0 });
  const [at, setAt] = useState(0);
  const open = text !== null;
  useEffect(() => {
    if (!open) return undefined;
    const ending = new AbortController();
    const timer = setTimeout(() => api.get('/templates', { search: text.trim(), workspaceId, limit: FOUND }, { signal: ending.signal }).then(setFound, () => {}), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [text, workspaceId]);
  const take = (one) => {
    choose(one);
    setText(null);
  };
  const options = [{ id: 'none', words: 'No template', run: () => take(null) }, ...found.data.map((one) => ({ id: one.id, words: one.name, run: () => take(one) }))];
  const press = (event) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      if (!open) setText('');
      setAt((to + options.length) % options.length);
    } else if (event.key === 'Enter' && open) {
      event.preventDefault();
      options[at]?.run();
    } else if (event.key === 'Escape' && open) {
      event.preventDefault();
      event.stopPropagation();
      setText(null);
    }
  };
  const words = template ? template.name : 'No template';
  return html`<div class="finder"><input type="text" ...${tied} role="combobox" aria-expanded=${open} aria-controls=${listId} aria-autocomplete="list" aria-activedescendant=${open ? `${listId}-${at}` : undefined} autocomplete="off" spellcheck=${false}
      placeholder=${open ? 'Search' : words} value=${open ? text : words} class=${template && !open ? 'has-value' : ''}
      onFocus=${(event) => event.currentTarget.select()} onClick=${() => !open && setText('')} onInput=${(event) => { setAt(0); setText(event.currentTarget.value); }} onKeyDown=${press} onBlur=${() => setText(null)} />
    ${open && html`<ul class="finder-list" role="listbox" id=${listId} aria-label="Templates">${options.map((option, i) => html`<li key=${option.id} id=${`${listId}-${i}`} role="option" aria-selected=${i === at} class="finder-line"
      onMouseDown=${(event) => { event.preventDefault(); option.run(); }} onMouseMove=${() => i !== at && setAt(i)}><bdi>${option.words}</bdi></li>`)}
      ${found.total > found.data.length && html`<li class="finder-more" role="presentation">${number(found.total - found.data.length)} more. Type to narrow the list.</li>`}</ul>`}
  </div>`;
}
