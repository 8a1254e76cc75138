// The search box, which searches after a pause in typing.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { Icon } from './icons.js';

const PAUSE_MS = 200;

export function SearchBox({ value, label, change }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => setText((now) => (now.trim() === value ? now : value)), [value]); // changed by the route: back, or a link
  useEffect(() => () => clearTimeout(timer.current), []);
  const typed = (event) => {
    const next = event.currentTarget.value;
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => change(next.trim()), PAUSE_MS);
  };
  return html`<div class="search"><${Icon} name="search" />
    <input type="search" aria-label=${label} placeholder=${label} value=${text} onInput=${typed} spellcheck=${false} />
    <kbd aria-hidden="true" title="Press / to search">/</kbd>
  </div>`;
}
