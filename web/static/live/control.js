// Shows who has control and who watches, and hands control over.
import { useId, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { Icon } from '../icons.js';
import { useStore } from '../store.js';
import { readName } from './link.js';

// Control shows who controls the browser, and the actions on that.
export function Control({ link }) {
  const control = useStore(link.control);
  const hello = useStore(link.hello);
  const script = useStore(link.script);
  const phase = useStore(link.phase);
  if (phase.name !== 'live') return null;
  const { holder, you, viewers, asking } = control;
  const say = (what, more) => link.send({ type: 'control', do: what, ...more });
  const nameOf = (id) => viewers.find((viewer) => viewer.id === id)?.name || 'Someone';
  const asked = asking.includes(hello?.viewer);
  const wanting = you ? asking.find((id) => id !== hello?.viewer) : null;
  return html`<div class="live-control" role="status">
    ${script.active && html`<span class="chip script">A script drives this tab</span>`}
    ${hello?.readonly
      ? html`<span class="chip">You watch. This link shows, and does nothing else.</span>`
      : you
        ? wanting
          ? html`<span class="chip"><bdi>${nameOf(wanting)}</bdi> asks for the controls</span>
            <button type="button" class="button small primary" onClick=${() => say('give', { to: wanting })}>Give</button>`
          : viewers.length > 1 && html`<span class="chip good">You have the controls</span>`
        : html`<span class="chip wait">You watch. ${holder ? html`<bdi>${nameOf(holder)}</bdi> has the controls` : 'Nobody has the controls'}</span>
            ${holder && html`<button type="button" class="button small" onClick=${() => say(asked ? 'unask' : 'ask')}>${asked ? 'Do not ask' : 'Ask'}</button>`}
            <button type="button" class="button small" onClick=${() => say('take')}>Take them</button>`}
    <${Viewers} ...${{ link, control, hello, say }} />
  </div>`;
}

// Viewers is the list of viewers, with a field for one's own name.
function Viewers({ link, control, hello, say }) {
  const id = useId();
  const button = useRef(null);
  const list = useRef(null);
  const { holder, you, viewers, asking } = control;
  const place = (event) => {
    if (event.newState !== 'open') return;
    const at = button.current.getBoundingClientRect();
    list.current.style.top = `${at.bottom + 6}px`;
    list.current.style.right = `${Math.max(8, document.documentElement.clientWidth - at.right)}px`;
  };
  return html`<button type="button" class="button small people-button" ref=${button} popovertarget=${id} aria-label=${`Who is here: ${viewers.length}`} title="Who is here">
      <${Icon} name="people" /><span class="number">${viewers.length}</span></button>
    <div id=${id} ref=${list} class="menu people" popover="auto" onBeforeToggle=${place}>
      <ul aria-label="Who is here">${viewers.map((viewer) => html`<li key=${viewer.id}>
        <span><bdi>${viewer.name || 'No name'}</bdi>${viewer.id === hello?.viewer ? ' (you)' : ''}
          <span class="sub">${viewer.id === holder ? 'Has the controls' : viewer.readonly ? 'Can only watch' : asking.includes(viewer.id) ? 'Asks for the controls' : 'Watches'}</span></span>
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
