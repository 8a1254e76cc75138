// A page's requests to the viewer: dialogs, files, and a choice from a list.
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { bytes } from '../format.js';
import { Icon } from '../icons.js';
import { useStore } from '../store.js';

const TYPED_MS = 800; // letters typed faster than this form one word

// Prompt is a dialog over the stage. For the viewer in control it is modal, and Escape cancels. Other viewers can
// keep watching.
export function Prompt({ title, drives, refuse, children, foot }) {
  const box = useRef(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    if (drives) box.current.showModal();
    else box.current.show();
    return () => {
      box.current?.close();
      if (drives) before?.focus?.({ preventScroll: true });
    };
  }, [drives]);
  const cancel = (event) => {
    event.preventDefault(); // the dialog closes when the browser reports that it is closed
    if (drives) refuse();
  };
  return html`<dialog ref=${box} class="dialog asked" closedby="none" aria-labelledby=${titleId} onCancel=${cancel}
    onKeyDown=${(event) => event.key === 'Escape' && cancel(event)}>
    <div class="dialog-body">
      <header class="dialog-head"><h2 id=${titleId}>${title}</h2></header>
      <div class="dialog-content">${children}</div>
      ${drives ? html`<footer class="dialog-foot">${foot}</footer>` : html`<p class="hint asked-hint">Who has the controls answers this.</p>`}
    </div>
  </dialog>`;
}

const BEFORE = 'Changes that you made may not be saved.';

// PageDialog is an alert, a confirmation or a prompt of the page.
export function PageDialog({ link, drives }) {
  const asked = useStore(link.dialog);
  return asked && html`<${OneDialog} key=${`${asked.id} ${drives}`} ...${{ link, asked, drives }} />`;
}

function OneDialog({ link, asked, drives }) {
  const { id, kind, message, url } = asked;
  const [text, setText] = useState(asked.text || '');
  const answer = (accept) => link.send({ type: 'dialog', id, accept, text: accept && kind === 'prompt' ? text : '' });
  const leaving = kind === 'beforeunload';
  const submit = (event) => {
    event.preventDefault();
    answer(true);
  };
  return html`<${Prompt} title=${leaving ? 'Leave this page?' : html`<bdi>${hostOf(url)}</bdi> says`} drives=${drives} refuse=${() => answer(false)} foot=${html`
    ${kind !== 'alert' && html`<button type="button" class="button" onClick=${() => answer(false)}>${leaving ? 'Stay' : 'Cancel'}</button>`}
    <button type="button" class="button primary" autofocus=${kind !== 'prompt'} onClick=${() => answer(true)}>${leaving ? 'Leave' : 'OK'}</button>`}>
    <p class="asked-text">${message || (leaving ? BEFORE : '')}</p>
    ${kind === 'prompt' && html`<form onSubmit=${submit}>
      <input aria-label="Answer" value=${text} autofocus disabled=${!drives} autocomplete="off" onInput=${(event) => setText(event.currentTarget.value)} /></form>`}
  <//>`;
}

function hostOf(url) {
  try {
    return new URL(url).host || 'This page';
  } catch {
    return 'This page';
  }
}

// Chooser uploads files for a page's file chooser.
export function Chooser({ link, drives }) {
  const asked = useStore(link.chooser);
  return asked && html`<${OneChooser} key=${`${asked.id} ${drives}`} ...${{ link, asked, drives }} />`;
}

function OneChooser({ link, asked, drives }) {
  const [files, setFiles] = useState([]);
  const [over, setOver] = useState(false);
  const uploads = useStore(link.uploads);
  const cancel = () => link.send({ type: 'chooser', id: asked.id, cancel: true });
  const give = (list) => {
    const chosen = asked.multiple ? [...list] : [...list].slice(0, 1);
    setOver(false);
    if (!chosen.length || files.length || !drives) return;
    setFiles(chosen);
    link.upload(asked.id, chosen);
  };
  const drop = (event) => {
    event.preventDefault();
    give(event.dataTransfer.files);
  };
  return html`<${Prompt} title=${asked.multiple ? 'The page wants files' : 'The page wants a file'} drives=${drives} refuse=${cancel}
    foot=${html`<button type="button" class="button" onClick=${cancel}>Cancel</button>`}>
    ${files.length === 0
      ? drives && html`<label class=${over ? 'drop is-over' : 'drop'} onDrop=${drop} onDragOver=${(event) => { event.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)}>
          <${Icon} name="upload" /><span><strong>${asked.multiple ? 'Choose files' : 'Choose a file'}</strong> of this computer, or drop ${asked.multiple ? 'them' : 'it'} here</span>
          <input type="file" class="visually-hidden" multiple=${asked.multiple} onChange=${(event) => give(event.currentTarget.files)} /></label>`
      : html`<ul class="transfers" aria-label="Files on their way">${files.map((file) => html`<li key=${file.name}>
          <bdi class="transfer-name">${file.name}</bdi><span class="muted number">${bytes(uploads.get(file.name) || 0)} of ${bytes(file.size)}</span>
          <progress max=${file.size || 1} value=${uploads.get(file.name) || 0} aria-label=${file.name}></progress></li>`)}</ul>`}
  <//>`;
}

// Options is the list of a page's <select>, which Chrome draws in no frame. It appears in the page's position.
export function Options({ link, drives, place }) {
  const asked = useStore(link.options);
  return asked && place && html`<${OneList} key=${asked.id} ...${{ link, asked, drives, place }} />`;
}

function OneList({ link, asked, drives, place }) {
  const { id, multiple, options = [] } = asked;
  const first = [].concat(asked.selected ?? [])[0] ?? options.findIndex((option) => !option.disabled);
  const [at, setAt] = useState(first);
  const [chosen, setChosen] = useState(() => new Set([].concat(asked.selected ?? [])));
  const list = useRef(null);
  const typed = useRef({ word: '', at: 0 });
  const listId = useId();
  const answer = (indexes) => drives && link.send({ type: 'options', id, indexes });
  const pick = (index) => {
    if (!drives || !options[index] || options[index].disabled) return;
    setAt(index);
    if (!multiple) answer([index]);
    else setChosen(toggled(chosen, index));
  };
  useLayoutEffect(() => {
    placeList(list.current, asked, place);
    const before = document.activeElement;
    if (drives) list.current.focus();
    return () => before?.focus?.({ preventScroll: true });
  }, []);
  useEffect(() => list.current.children[at]?.scrollIntoView({ block: 'nearest' }), [at]);
  const key = (event) => {
    event.preventDefault();
    event.stopPropagation();
    const to = nextIndex(options, at, event.key);
    if (to !== undefined) setAt(to);
    else if (event.key === 'Escape' || event.key === 'Tab') answer(null);
    else if (event.key === 'Enter') answer(multiple ? [...chosen].sort((a, b) => a - b) : [at]);
    else if (event.key === ' ' && !typed.current.word) pick(at);
    else if ([...event.key].length === 1) setAt(typeAhead(options, at, typed.current, event.key));
  };
  return html`<ul ref=${list} class="options" role="listbox" tabindex=${drives ? 0 : undefined} aria-label="Choose" aria-multiselectable=${multiple ? 'true' : undefined}
    aria-activedescendant=${at >= 0 ? `${listId}-${at}` : undefined} onKeyDown=${drives ? key : undefined} onBlur=${() => link.options.value?.id === id && answer(null)}>
    ${options.map((option, i) => html`<li key=${i} id=${`${listId}-${i}`} role="option" data-group=${option.group && option.group !== options[i - 1]?.group ? option.group : undefined}
      class=${`${i === at ? 'is-at' : ''}${option.group ? ' in-group' : ''}`} aria-selected=${multiple ? chosen.has(i) : i === at} aria-disabled=${option.disabled ? 'true' : undefined}
      onPointerDown=${(event) => { event.preventDefault(); pick(i); }} onPointerMove=${() => drives && !option.disabled && setAt(i)}>${option.text || '\u00a0'}</li>`)}
    ${multiple && drives && html`<li role="none" class="options-done"><button type="button" class="button small primary" tabindex="-1"
      onPointerDown=${(event) => { event.preventDefault(); answer([...chosen].sort((a, b) => a - b)); }}>Done</button></li>`}
  </ul>`;
}

function toggled(set, index) {
  const changed = new Set(set);
  if (!changed.delete(index)) changed.add(index);
  return changed;
}

// placeList puts the list below the page's field, or above it if there is more room.
function placeList(list, { x, y, width, height }, place) {
  const room = list.parentElement;
  const { scrollLeft, scrollTop } = room.querySelector('.stage-room');
  const [left, top] = [place.left - scrollLeft + x * place.scale, place.top - scrollTop + y * place.scale];
  const bottom = top + height * place.scale;
  const below = room.clientHeight - bottom;
  list.style.minWidth = `${width * place.scale}px`;
  list.style.left = `${Math.max(4, Math.min(left, room.clientWidth - list.offsetWidth - 4))}px`;
  list.style.maxHeight = `${Math.max(below, top, 120) - 8}px`;
  if (below >= Math.min(list.scrollHeight, top)) list.style.top = `${bottom}px`;
  else list.style.bottom = `${room.clientHeight - top}px`;
}

// nextIndex returns where an arrow key leads, skipping disabled options; undefined for other keys.
function nextIndex(options, at, key) {
  const step = { __proto__: null, ArrowDown: 1, ArrowUp: -1, Home: 1, End: -1, PageDown: 1, PageUp: -1 }[key];
  if (!step) return undefined;
  let to = { __proto__: null, Home: 0, End: options.length - 1, PageDown: at + 10, PageUp: at - 10 }[key] ?? at + step;
  to = Math.max(0, Math.min(options.length - 1, to));
  while (options[to]?.disabled) to += step;
  return options[to] ? to : at;
}

// typeAhead returns the next option with the typed prefix. Repeating one letter cycles through its options.
function typeAhead(options, at, typed, letter) {
  const now = performance.now();
  typed.word = (now - typed.at < TYPED_MS ? typed.word : '') + letter.toLowerCase();
  typed.at = now;
  const same = [...typed.word].every((one) => one === typed.word[0]);
  const word = same ? typed.word[0] : typed.word;
  for (let i = same ? 1 : 0; i <= options.length; i++) {
    const to = (at + i + options.length) % options.length;
    if (!options[to].disabled && options[to].text.trim().toLowerCase().startsWith(word)) return to;
  }
  return at;
}
