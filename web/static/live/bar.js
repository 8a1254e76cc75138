// The bar of the live view: whose browser it is, who drives it, and what can be done with it. What needs a login is offered only with one.
import { useEffect, useId, useState } from 'preact/hooks';
import { html } from '../html.js';
import { Country, Menu } from '../components.js';
import { Icon, Logo } from '../icons.js';
import { useStore } from '../store.js';
import { problemWords } from '../words.js';
import { paste as pasteFromDevice } from './clipboard.js';
import { Asking, drivingWords, otherDriver, Viewers } from './control.js';
import { DownloadList, save } from './downloads.js';

const NARROW = '(max-width: 760px)';
const TOUCH = '(pointer: coarse)';

export function Bar({ link, zoom, owner, drives, toasts, view, paste }) {
  const phase = useStore(link.phase);
  const control = useStore(link.control);
  const hello = useStore(link.hello);
  const script = useStore(link.script);
  const live = phase.name === 'live';
  const narrow = useMedia(NARROW);
  const panel = useId();
  const [shooting, shoot] = useScreenshot(link, owner, toasts);
  const sizes = useSizes(link, zoom, drives);
  const [full, toggleFull] = useFullScreen(view);
  const words = live ? drivingWords(control, hello) : 'Not connected';
  const stop = () => owner.stop((!control.you && control.holder) || script.active ? otherDriver(control, script) : null);
  return html`<div class="live-bar">
    ${owner ? html`<a class="live-home" href=${owner.home} title="Back to the profiles" aria-label="Back to the profiles"><${Logo} /></a>` : html`<span class="live-home"><${Logo} /></span>`}
    <div class="live-who">
      <h1 class="live-name" tabindex="-1"><span class=${owner?.profile ? 'visually-hidden' : ''}>Live view${owner?.profile ? ' of ' : ''}</span>${owner?.profile && html`<bdi title=${owner.profile.name}>${owner.profile.name}</bdi>`}</h1>
      <p class="live-sub"><${Exit} run=${owner?.profile?.run} /><span class="live-driver" role="status">${words}</span></p>
    </div>
    <${Asking} link=${link} />
    <div class="live-tools">
      ${live && html`<${Viewers} link=${link} />`}
      ${!narrow && html`<${SizeChoice} sizes=${sizes} />`}
      ${!narrow && owner && html`<button type="button" class="icon-button" aria-label="Screenshot" title="Save a screenshot" disabled=${!live || shooting} onClick=${() => shoot(false)}><${Icon} name="camera" /></button>
        <button type="button" class="icon-button" aria-label="Downloads" title="Downloads of this run" popovertarget=${panel}><${Icon} name="download" /></button>`}
      ${!narrow && toggleFull && html`<button type="button" class="icon-button" aria-label="Full screen" title="Full screen" onClick=${toggleFull}><${Icon} name="expand" /></button>`}
      <${More} ...${{ link, zoom, owner, drives, paste, live, narrow, shoot, sizes, stop, toggleFull, panel }} />
      ${!narrow && owner && html`<button type="button" class="button small danger-quiet" disabled=${!live} onClick=${stop}><${Icon} name="stop" />Stop</button>`}
    </div>
    ${owner && html`<${DownloadList} id=${panel} link=${link} owner=${owner} toasts=${toasts} />`}
    ${full && html`<button type="button" class="button small live-unfull" onClick=${toggleFull}><${Icon} name="shrink" />Leave full screen</button>`}
  </div>`;
}

// More is the menu of what the bar has no room for.
function More({ link, zoom, owner, drives, paste, live, narrow, shoot, sizes, stop, toggleFull, panel }) {
  const touch = useMedia(TOUCH);
  const fingers = useStore(zoom.fingers);
  const items = [
    owner && live && narrow && { label: 'Screenshot', icon: 'camera', run: () => shoot(false) },
    owner && live && { label: 'Screenshot of the whole page', icon: 'page', run: () => shoot(true) },
    owner && narrow && { label: 'Downloads of this run', icon: 'download', run: () => document.getElementById(panel).showPopover() },
    drives && { label: 'Copy what is selected', icon: 'copy', run: () => link.copy() },
    drives && { label: 'Paste from this device', icon: 'paste', run: () => pasteFromDevice(link, paste) },
    ...(narrow ? sizes.list.filter(({ value }) => value !== sizes.value).map(({ value, label }) => ({ label: `Size: ${label.toLowerCase()}`, icon: 'expand', run: () => sizes.choose(value) })) : []),
    touch && drives && (fingers === 'view'
      ? { label: 'Give two fingers to the page', icon: 'fingers', run: () => zoom.chooseFingers('page') }
      : { label: 'Zoom with two fingers', icon: 'fingers', run: () => zoom.chooseFingers('view') }),
    narrow && toggleFull && { label: 'Full screen', icon: 'expand', run: toggleFull },
    owner && live && narrow && { label: 'Stop the browser', icon: 'stop', danger: true, run: stop },
  ].filter(Boolean);
  return items.length > 0 && html`<${Menu} label="More" items=${items} />`;
}

// Exit shows where the run comes out.
function Exit({ run }) {
  if (!run) return null;
  if (!run.proxy) return html`<span class="live-exit">No proxy</span>`;
  return html`<span class="live-exit"><${Country} code=${run.proxy.country} />${run.proxy.exitIp ? html`<span class="mono">${run.proxy.exitIp}</span>` : 'Exit IP not known yet'}</span>`;
}

// useSizes returns the sizes in which the picture can be seen, and the chosen one.
function useSizes(link, zoom, drives) {
  const scale = useStore(zoom.scale);
  const { resized } = useStore(link.window);
  const value = resized && drives ? 'window' : scale === null ? 'fit' : scale === 1 ? 'own' : 'other';
  const list = [
    { value: 'fit', label: 'Fit' },
    { value: 'own', label: '100 %' },
    value === 'other' && { value, label: `${Math.round(scale * 100)} %` },
    drives && { value: 'window', label: 'My window’s size' },
  ].filter(Boolean);
  const choose = (to) => {
    if (to === 'window') link.fitWindow(zoom.room);
    else if (value === 'window') link.restoreWindow();
    if (to !== 'other') zoom.scale.set(to === 'own' ? 1 : null);
  };
  return { value, list, choose };
}

function SizeChoice({ sizes }) {
  return html`<select class="live-size" aria-label="Size" title="How large the page is shown" value=${sizes.value} onChange=${(event) => sizes.choose(event.currentTarget.value)}>
    ${sizes.list.map(({ value, label }) => html`<option key=${value} value=${value}>${label}</option>`)}
  </select>`;
}

// useScreenshot returns whether a screenshot is being taken, and a function that takes and saves one.
function useScreenshot(link, owner, toasts) {
  const [busy, setBusy] = useState(false);
  const shoot = async (whole) => {
    setBusy(true);
    try {
      save(await owner.screenshot(link.tabs.value.active, whole), `${fileName(owner.profile?.name || 'screenshot')} ${stamp(new Date())}.png`);
    } catch (problem) {
      toasts.say({ text: 'There is no screenshot.', more: problemWords(problem), tone: 'bad' });
    }
    setBusy(false);
  };
  return [busy, shoot];
}

// fileName makes a file's name of any text.
function fileName(text) {
  return text.replace(/[\p{C}\\/:*?"<>|]+/gu, '_').slice(0, 80);
}

function stamp(now) {
  const two = (n) => String(n).padStart(2, '0');
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())} ${two(now.getHours())}.${two(now.getMinutes())}.${two(now.getSeconds())}`;
}

// useFullScreen returns whether the view fills the screen, and a function that changes it; null where the browser cannot.
function useFullScreen(view) {
  const [full, setFull] = useState(false);
  useEffect(() => {
    const changed = () => setFull(Boolean(document.fullscreenElement));
    document.addEventListener('fullscreenchange', changed);
    return () => document.removeEventListener('fullscreenchange', changed);
  }, []);
  const toggle = () => (document.fullscreenElement ? document.exitFullscreen() : view.current.requestFullscreen({ navigationUI: 'hide' })).catch(() => {}); // the browser has said why
  return [full, document.fullscreenEnabled ? toggle : null];
}

function useMedia(query) {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const changed = () => setMatches(list.matches);
    list.addEventListener('change', changed);
    return () => list.removeEventListener('change', changed);
  }, [query]);
  return matches;
}
