// Menus and small panels that open beside a button: the browser's popovers, with the keys of a menu.
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { Icon } from './icons.js';

const GAP = 4;
const TYPED_MS = 700; // letters within this time belong to one word

// Menu is a button with a menu of actions. Items are {label, icon, run, danger, keys, checked}; null is left out, and 'line' is a line.
export function Menu({ label, items, children, class: kind = 'icon-button', title = 'More', disabled }) {
  const id = useId();
  const button = useRef(null);
  const list = useRef(null);
  const [open, setOpen] = useState(false);
  const toggled = (event) => setOpen(event.newState === 'open');
  useLayoutEffect(() => { if (open) list.current.querySelector('[role^="menuitem"]')?.focus(); }, [open]); // not before they are drawn
  const choose = (item) => {
    list.current.hidePopover();
    button.current.focus();
    item.run();
  };
  return html`<button type="button" class=${kind} ref=${button} popovertarget=${id} aria-haspopup="menu" aria-expanded=${open} disabled=${disabled}
      aria-label=${label} title=${title} onKeyDown=${(event) => event.key === 'ArrowDown' && (event.preventDefault(), list.current.showPopover())}>
      ${children || html`<${Icon} name="more" />`}</button>
    <div id=${id} ref=${list} class="menu" popover="auto" role="menu" aria-label=${label} onBeforeToggle=${(event) => placed(event, button.current, list.current)}
      onToggle=${toggled} onKeyDown=${menuKeys}>
      ${open && items.filter(Boolean).map((item, i) => (item === 'line' ? html`<hr key=${i} />` : html`<button type="button" key=${item.label}
        role=${item.checked === undefined ? 'menuitem' : 'menuitemcheckbox'} aria-checked=${item.checked} tabindex="-1"
        class=${item.danger ? 'menu-item danger' : 'menu-item'} onClick=${() => choose(item)}>
        ${item.checked !== undefined ? html`<span class="menu-tick">${item.checked && html`<${Icon} name="check" />`}</span>` : item.icon && html`<${Icon} name=${item.icon} />`}
        <span class="menu-label">${item.label}</span>${item.keys && html`<kbd>${item.keys}</kbd>`}
      </button>`))}
    </div>`;
}

// Panel is a button with a small panel of fields. children is a function of the panel's close.
export function Panel({ label, class: kind = 'button', face, children, title }) {
  const id = useId();
  const button = useRef(null);
  const panel = useRef(null);
  const [open, setOpen] = useState(false);
  const close = () => {
    panel.current?.hidePopover();
    button.current?.focus();
  };
  const toggled = (event) => {
    setOpen(event.newState === 'open');
    if (event.newState === 'open') requestAnimationFrame(() => panel.current?.querySelector('input, select, button')?.focus());
  };
  return html`<button type="button" class=${kind} ref=${button} popovertarget=${id} aria-haspopup="dialog" aria-expanded=${open} aria-label=${label} title=${title}>${face}</button>
    <div id=${id} ref=${panel} class="menu panel-menu" popover="auto" role="dialog" aria-label=${label}
      onBeforeToggle=${(event) => placed(event, button.current, panel.current)} onToggle=${toggled}>${open && children(close)}</div>`;
}

// placed puts a popover below its button, or above it where there is more room.
export function placed(event, button, popover) {
  if (event.newState !== 'open') return;
  const at = button.getBoundingClientRect();
  const { style } = popover;
  const below = innerHeight - at.bottom > 320 || innerHeight - at.bottom > at.top;
  style.top = below ? `${at.bottom + GAP}px` : 'auto';
  style.bottom = below ? 'auto' : `${innerHeight - at.top + GAP}px`;
  style.maxHeight = `${Math.max(120, (below ? innerHeight - at.bottom : at.top) - 3 * GAP)}px`;
  const left = at.left + at.width / 2 < innerWidth / 2;
  style.left = left ? `${Math.max(8, at.left)}px` : 'auto';
  style.right = left ? 'auto' : `${Math.max(8, document.documentElement.clientWidth - at.right)}px`;
}

const typed = new WeakMap(); // menu → {text, at}

// menuKeys moves the focus as in a menu of the system (WAI-ARIA Authoring Practices, menu).
export function menuKeys(event) {
  const menu = event.currentTarget;
  const items = [...menu.querySelectorAll('[role^="menuitem"]')];
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    items.at(to % items.length)?.focus();
  } else if (event.key === 'Tab') {
    menu.hidePopover();
  } else if (event.key.length === 1 && event.key !== ' ' && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    event.stopPropagation();
    const before = typed.get(menu);
    const text = (before && event.timeStamp - before.at < TYPED_MS ? before.text : '') + event.key.toLowerCase();
    typed.set(menu, { text, at: event.timeStamp });
    const from = text.length === 1 ? at + 1 : Math.max(0, at);
    [...items.slice(from), ...items.slice(0, from)].find((item) => item.textContent.trim().toLowerCase().startsWith(text))?.focus();
  }
}
