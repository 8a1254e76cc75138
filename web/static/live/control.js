// Shows who drives and who watches, and hands the controls over.
import { useId, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { count } from '../format.js';
import { Icon } from '../icons.js';
import { useStore } from '../store.js';
import { readName } from './link.js';

// drivingWords says who drives and how many watch.
export function drivingWords({ holder, you, viewers }, hello) {
  const watching = viewers.length - (viewers.some(({ id }) => id === holder) ? 1 : 0);
  if (you) return `You drive${watching > 0 ? ` · ${count(watching, 'watches', 'watch')}` : ''}`;
  const others = watching > 1 ? ` and ${watching - 1} more watch` : ' watch';
  const who = viewers.find(({ id }) => id === holder);
  const driver = who ? html`<bdi>${who.name || 'Someone'}</bdi> drives` : 'Nobody drives';
  return html`${driver} · you${others}${hello?.readonly ? '. This link only shows' : ''}`;
}

// otherDriver says who else drives.
export function otherDriver({ holder, you, viewers }, script) {
  if (you && script.active) return 'A script drives it now';
  return html`<bdi>${viewers.find(({ id }) => id === holder)?.name || 'Somebody else'}</bdi> drives it now`;
}

// Asking is what can be done about the controls now.
export function Asking({ link }) {
  const { holder, you, viewers, asking } = useStore(link.control);
  const hello = useStore(link.hello);
  const script = useStore(link.script);
  const phase = useStore(link.phase);
  if (phase.name !== 'live') return null;
  const say = (what, more) => link.send({ type: 'control', do: what, ...more });
  const asked = asking.includes(hello?.viewer);
  const wanting = you ? asking.find((id) => id !== hello?.viewer) : null;
  const name = viewers.find(({ id }) => id === wanting)?.name || 'Someone';
  const may = !you && !hello?.readonly;
  if (!script.active && !wanting && !may) return null;
  return html`<div class="live-control">
    ${script.active && html`<span class="chip script" role="status">A script drives this tab</span>`}
    ${wanting && html`<span class="chip wait" role="status"><bdi>${name}</bdi> asks for the controls</span>
      <button type="button" class="button small primary" onClick=${() => say('give', { to: wanting })}>Give</button>`}
    ${may && holder && html`<button type="button" class="button small" onClick=${() => say(asked ? 'unask' : 'ask')}>${asked ? 'Do not ask' : 'Ask'}</button>`}
    ${may && html`<button type="button" class="button small" onClick=${() => say('take')}>Take the controls</button>`}
  </div>`;
}

// Viewers is the list of viewers, with a field for one's own name.
export function Viewers({ link }) {
  const control = useStore(link.control);
  const hello = useStore(link.hello);
  const id = useId();
  const button = useRef(null);
  const list = useRef(null);
  const say = (what, more) => link.send({ type: 'control', do: what, ...more });
  const { holder, you, viewers, asking } = control;
  const place = (event) => {
    if (event.newState !== 'open') return;
    const at = button.current.getBoundingClientRect();
    list.current.style.top = `${at.bottom + 6}px`;
    list.current.style.right = `${Math.max(8, document.documentElement.clientWidth - at.right)}px`;
  };
  return html`<button type="button" class="button small people-button" ref=${button} popovertarget=${id} aria-label=${`Who is here: ${viewers.length}`} title="Who is here">
      <${Icon} name="people" /><span class="number">${viewers.length}</span></button>
    <div id=${id} ref=${list} class="menu people" popover="auto" role="dialog" aria-label="Who is here" onBeforeToggle=${place}>
      <ul aria-label="Who is here">${viewers.map((viewer) => html`<li key=${viewer.id}>
        <span><bdi>${viewer.name || 'No name'}</bdi>${viewer.id === hello?.viewer ? ' (you)' : ''}
          <span class="sub">${viewer.id === holder ? 'Drives' : viewer.readonly ? 'Can only watch' : asking.includes(viewer.id) ? 'Asks for the controls' : 'Watches'}</span></span>
        ${you && viewer.id !== hello?.viewer && !viewer.readonly && html`<button type="button" class="button small" aria-label=${`Give the controls to ${viewer.name || 'this viewer'}`} onClick=${() => say('give', { to: viewer.id })}>Give</button>`}
        ${you && viewer.id === hello?.viewer && viewers.length > 1 && html`<button type="button" class="button small" onClick=${() => say('leave')}>Let go</button>`}
      </li>`)}</ul>
      <${OwnName} link=${link} />
    </div>`;
}

function OwnName({ link }) {
  const [name, setName] = useState(readName);
  const submit = (event) => {
    event.preventDefault();
    link.name(name.trim());
  };
  return html`<form class="own-name" onSubmit=${submit}>
    <label>Your name, as others see it <input maxlength="60" autocomplete="nickname" value=${name} onInput=${(event) => setName(event.currentTarget.value)} /></label>
    <button class="button small">Save</button>
  </form>`;
}
