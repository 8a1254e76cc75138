// The bars above the stage: the tabs, and the address with its buttons.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { Icon } from '../icons.js';
import { useStore } from '../store.js';

export function Tabs({ link, drives }) {
  const { tabs = [], active } = useStore(link.tabs);
  const list = useRef(null);
  const tab = (what, more) => link.send({ type: 'tab', do: what, ...more });
  useEffect(() => list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }), [active, tabs.length]);
  return html`<ul class="live-tabs" ref=${list} aria-label="Tabs">
    ${tabs.map(({ id, title, url, crashed }) => html`<li key=${id} class=${`live-tab${id === active ? ' is-active' : ''}`}>
      <button type="button" class="live-tab-name" disabled=${!drives && id !== active} aria-current=${id === active ? 'true' : undefined} title=${title || url}
        onClick=${() => drives && id !== active && tab('show', { tab: id })}>
        ${crashed && html`<span class="crashed"><${Icon} name="warning" /><span class="visually-hidden">Crashed: </span></span>`}
        <bdi>${nameOf(title, url)}</bdi></button>
      ${drives && html`<button type="button" class="icon-button" aria-label=${`Close ${nameOf(title, url)}`} title="Close" onClick=${() => tab('close', { tab: id })}><${Icon} name="close" /></button>`}
    </li>`)}
    ${drives && html`<li class="live-tab-new"><button type="button" class="icon-button" aria-label="Open a tab" title="Open a tab" onClick=${() => tab('open', { url: 'about:blank' })}><${Icon} name="plus" /></button></li>`}
  </ul>`;
}

// nameOf returns a tab's name. Chrome uses the address as the title of a page without one.
function nameOf(title, url = '') {
  if (!title || title === 'about:blank') return url === 'about:blank' || !url ? 'New tab' : url.replace(/^\w+:\/\//, '').slice(0, 60);
  return title;
}

// addressOf converts typed text to an address. Without a scheme it adds https, or http for this machine and for bare
// IP addresses. It returns "" for invalid text.
export function addressOf(typed) {
  const text = typed.trim();
  if (text === '' || /^about:blank$/i.test(text)) return 'about:blank';
  const named = /^[a-z][a-z0-9+.-]*:(?!\d+(?:[/?#]|$))/i.test(text);
  const bare = /^(?:localhost|[\d.]+|\[[\da-f:.]+\]|[^/?#:]+\.localhost)(?=[:/?#]|$)/i.test(text);
  try {
    const url = new URL(named ? text : `${bare ? 'http' : 'https'}:${'/'.repeat(2)}${text}`);
    return ['http:', 'https:'].includes(url.protocol) && !/\s/.test(text) ? url.href : '';
  } catch {
    return '';
  }
}

// Address shows the page's address, and navigates to another.
export function Address({ link, drives }) {
  const page = useStore(link.page);
  const [typed, setTyped] = useState(null); // null: nothing is being typed
  const [fault, setFault] = useState('');
  const field = useRef(null);
  const url = page?.url && page.url !== 'about:blank' ? page.url : '';
  const go = (what, more) => link.send({ type: 'go', do: what, ...more });
  const reset = () => {
    setTyped(null);
    setFault('');
  };
  useEffect(reset, [page?.tab]);
  const submit = (event) => {
    event.preventDefault();
    const to = addressOf(field.current.value);
    if (!to) {
      setFault('Only http, https and about:blank addresses can be opened.');
      return;
    }
    go('to', { url: to });
    reset();
    document.querySelector('.typing')?.focus({ preventScroll: true });
  };
  return html`<div class="live-address">
    <button type="button" class="icon-button" aria-label="Back" title="Back" disabled=${!drives || !page?.canGoBack} onClick=${() => go('back')}><${Icon} name="back" /></button>
    <button type="button" class="icon-button" aria-label="Forward" title="Forward" disabled=${!drives || !page?.canGoForward} onClick=${() => go('forward')}><${Icon} name="forward" /></button>
    ${page?.loading
      ? html`<button type="button" class="icon-button" aria-label="Stop loading" title="Stop loading" disabled=${!drives} onClick=${() => go('stop')}><${Icon} name="close" /></button>`
      : html`<button type="button" class="icon-button" aria-label="Reload" title="Reload" disabled=${!drives || !page} onClick=${() => go('reload')}><${Icon} name="reload" /></button>`}
    <form onSubmit=${submit}>
      <input ref=${field} class=${page?.loading ? 'is-loading' : ''} aria-label="Address" inputmode="url" autocomplete="off" autocapitalize="off" autocorrect="off" spellcheck=${false}
        readonly=${!drives} placeholder=${drives ? 'Type an address' : 'New tab'} value=${typed ?? url} aria-invalid=${fault ? 'true' : undefined} aria-describedby=${fault ? 'address-fault' : undefined}
        onInput=${(event) => { setTyped(event.currentTarget.value); setFault(''); }} onFocus=${(event) => event.currentTarget.select()}
        onBlur=${reset} onKeyDown=${(event) => event.key === 'Escape' && reset()} />
      <p class="fault" id="address-fault" role="alert">${fault}</p>
    </form>
  </div>`;
}
