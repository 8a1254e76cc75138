// A field that finds one of many by typing (WAI-ARIA, combobox with list autocomplete).
import { useEffect, useId, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { number } from './format.js';

const FOUND = 20; // lines that the list shows
const PAUSE_MS = 120;

// Combobox searches the list at `path`. `words` say what is chosen, and `chosen` whether anything is. `optionsOf(data, text)` returns the list's lines as
// {key, words, run, stays}: `data` are the objects found, `words` a text or an element, and a line that `stays`
// closes the list itself: `run` gets the function for it.
export function Combobox({ tied, path, workspaceId, label, words, chosen, placeholder = 'Search', optionsOf }) {
  const { api } = useApp();
  const listId = useId();
  const [text, setText] = useState(null); // null: not typing
  const [found, setFound] = useState({ data: [], total: 0 });
  const [at, setAt] = useState(0);
  const open = text !== null;
  useEffect(() => {
    if (!open) return undefined;
    const ending = new AbortController();
    const timer = setTimeout(() => api.get(path, { search: text.trim(), workspaceId, limit: FOUND }, { signal: ending.signal }).then(setFound, () => {}), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [text, workspaceId]);
  const options = optionsOf(found.data, text || '');
  const take = (option) => {
    option?.run(() => setText(null));
    if (!option?.stays) setText(null);
  };
  const press = (event) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      if (!open) setText('');
      setAt((to + options.length) % options.length);
    } else if (event.key === 'Enter' && open) {
      event.preventDefault();
      take(options[at]);
    } else if (event.key === 'Escape' && open) {
      event.preventDefault();
      event.stopPropagation();
      setText(null);
    }
  };
  return html`<div class="finder"><input type="text" ...${tied} role="combobox" aria-expanded=${open} aria-controls=${listId} aria-autocomplete="list" aria-activedescendant=${open ? `${listId}-${at}` : undefined} autocomplete="off" spellcheck=${false}
      placeholder=${open ? placeholder : words} value=${open ? text : words} class=${chosen && !open ? 'has-value' : ''}
      onFocus=${(event) => event.currentTarget.select()} onClick=${() => !open && setText('')} onInput=${(event) => { setAt(0); setText(event.currentTarget.value); }} onKeyDown=${press} onBlur=${() => setText(null)} />
    ${open && html`<ul class="finder-list" role="listbox" id=${listId} aria-label=${label}>${options.map((option, i) => html`<li key=${option.key} id=${`${listId}-${i}`} role="option" aria-selected=${i === at} class="finder-line"
      onMouseDown=${(event) => { event.preventDefault(); take(option); }} onMouseMove=${() => i !== at && setAt(i)}>${option.words}</li>`)}
      ${found.total > found.data.length && html`<li class="finder-more" role="presentation">${number(found.total - found.data.length)} more. Type to narrow the list.</li>`}</ul>`}
  </div>`;
}
