// The live view: a profile's browser in this page, with its bars, and the messages when it is not available.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { span } from '../format.js';
import { Icon, Logo } from '../icons.js';
import { useStore } from '../store.js';
import { ToastArea, Toasts } from '../toast.js';
import { Bar } from './bar.js';
import { Copied, PasteBox } from './clipboard.js';
import { Transfers } from './downloads.js';
import { Chooser, Options, PageDialog } from './prompts.js';
import { Stage } from './stage.js';
import { Address, Tabs } from './toolbar.js';
import { Zoom } from './zoom.js';

const SAME_ERROR_MS = 4000;

// LiveView shows a link. `owner` is what only a login gives: `profile` (name, run), `home` (the list's address), `start`, `starting`,
// `stop`, `screenshot`, `downloads` and `download`.
export function LiveView({ link, owner = null }) {
  const [toasts] = useState(() => new Toasts());
  const [zoom] = useState(() => new Zoom());
  const [pasting, setPasting] = useState(false);
  const phase = useStore(link.phase);
  const hello = useStore(link.hello);
  const control = useStore(link.control);
  const page = useStore(link.page);
  const { tabs = [], active } = useStore(link.tabs);
  const crashed = Boolean(tabs.find((tab) => tab.id === active)?.crashed);
  const drives = phase.name === 'live' && control.you && !hello?.readonly;
  const view = useRef(null);
  const title = owner?.profile?.name || page?.title || 'Live view';
  useEffect(() => {
    document.title = `${title} — Warren`;
    return () => { document.title = 'Warren'; };
  }, [title]);
  useErrors(link, toasts);
  usePasskeys(link, toasts);
  const leave = () => view.current.querySelector('.live-address input').focus();
  const type = () => view.current.querySelector('.typing').focus();
  return html`<div class="live" ref=${view}>
    <header class="live-bars">
      <${Bar} ...${{ link, zoom, owner, drives, toasts, view, paste: () => setPasting(true) }} />
      <div class="live-top">
        ${hello?.readonly ? html`<${TabName} link=${link} />` : html`<nav class="live-tabs-room" aria-label="The browser’s tabs"><${Tabs} link=${link} drives=${drives} /></nav>`}
      </div>
      ${!hello?.readonly && html`<div class="live-row">
        <${Address} link=${link} drives=${drives} />
        ${drives && hello?.passkeys && html`<button type="button" class="button small passkey-button" title="Press it before the site’s button: this tab may then make or use one passkey, within a minute" onClick=${() => link.send({ type: 'passkey' })}><${Icon} name="key" />Allow passkey</button>`}
        ${drives && html`<button type="button" class="icon-button keyboard-button" aria-label="Show the keyboard" title="Show the keyboard" onClick=${type}><${Icon} name="keyboard" /></button>`}
      </div>`}
    </header>
    <main class="live-main" id="main">
      <${Stage} link=${link} zoom=${zoom} away=${phase.name !== 'live' || crashed} leave=${leave} label=${`Picture of the page ${page?.title || page?.url || ''}`}
        over=${(place) => html`<${Options} link=${link} drives=${drives} place=${place} /><${Overlay} ...${{ link, phase, drives, crashed, ...owner }} />`} />
      <${Transfers} link=${link} toasts=${toasts} />
    </main>
    <footer class="live-foot">
      <p class="live-hint">${drives ? 'Click to type. Press Esc three times to release the keyboard.' : ''}</p>
      <${Speed} link=${link} />
    </footer>
    <${PageDialog} link=${link} drives=${drives} />
    <${Chooser} link=${link} drives=${drives} />
    <${Copied} link=${link} toasts=${toasts} />
    ${pasting && drives && html`<${PasteBox} link=${link} close=${() => setPasting(false)} />`}
    <${ToastArea} toasts=${toasts} />
  </div>`;
}

// TabName replaces the tabs for viewers who can only watch.
function TabName({ link }) {
  const page = useStore(link.page);
  return html`<p class="live-tab-only"><bdi>${page?.title || page?.url || ''}</bdi></p>`;
}

// useErrors shows the server's errors, each once in a while.
function useErrors(link, toasts) {
  useEffect(() => {
    let last = { text: '', at: 0 };
    return link.error.watch(({ message, code }) => {
      const text = message || `The server refused that (${code}).`;
      if (text === last.text && performance.now() - last.at < SAME_ERROR_MS) return;
      last = { text, at: performance.now() };
      toasts.say({ text });
    });
  }, [link]);
}

// usePasskeys says that a tab may use a passkey, and for how long.
function usePasskeys(link, toasts) {
  useEffect(() => {
    let last = 0;
    return link.passkey.watch(({ tab, seconds }) => {
      const one = link.tabs.value.tabs.find(({ id }) => id === tab);
      toasts.close(last);
      last = toasts.say({ text: `“${one?.title || one?.url || 'This tab'}” may make or use one passkey within ${span(seconds * 1000)}.`,
        more: 'Press the site’s button now. If the site waits already, reload its page first.', tone: 'good' });
    });
  }, [link]);
}

// Overlay covers the picture when it is old, when its page has crashed, or when no tab is open.
function Overlay({ link, phase, drives, crashed, home, start, starting }) {
  const { tabs = [] } = useStore(link.tabs);
  const hello = useStore(link.hello);
  if (phase.name !== 'live') return html`<${Away} ...${{ link, phase, home, start, starting }} />`;
  if (crashed) {
    return html`<${Card} title="This page has crashed"><p>The tab’s process has ended. Its cookies and the other tabs are untouched.</p>
      ${drives && html`<button type="button" class="button primary" onClick=${() => link.send({ type: 'go', do: 'reload' })}><${Icon} name="reload" />Reload</button>`}<//>`;
  }
  if (hello && tabs.length === 0 && drives) {
    return html`<${Card} title="No tab is open"><button type="button" class="button primary" onClick=${() => link.send({ type: 'tab', do: 'open', url: 'about:blank' })}><${Icon} name="plus" />Open a tab</button><//>`;
  }
  return null;
}

function Card({ title, children }) {
  return html`<div class="over" role="status"><div class="over-card"><h2>${title}</h2>${children}</div></div>`;
}

// Away says why there is no live picture, and what to do.
function Away({ link, phase, home, start, starting }) {
  const again = html`<button type="button" class="button" onClick=${() => link.connect()}>Try now</button>`;
  const back = home && html`<a class="button" href=${home}>Go to the profiles</a>`;
  const words = phase.words && html`<p>${phase.words}</p>`;
  if (phase.name === 'connecting') return html`<${Card} title="Connecting…"><p class="muted">The picture comes in a moment.</p><//>`;
  if (phase.name === 'lost') {
    return html`<${Card} title="The connection is lost">${words}<p>The browser may run on. The page tries again by itself.</p>${again}<//>`;
  }
  if (phase.status === 409) {
    return html`<${Card} title="The browser is not running">${start ? html`<p>Its picture shows here once it runs.</p>` : words}
      ${start && html`<button type="button" class="button primary" disabled=${starting} onClick=${start}><${Icon} name="play" />${starting ? 'Starting…' : 'Start it'}</button>`}${back}<//>`;
  }
  if (phase.status === 1000) return html`<${Card} title="The view has ended">${words}${again}${back}<//>`;
  if (phase.status === 401 || phase.status === 403) return html`<${Card} title="You may not see this">${words}${back}<//>`;
  return html`<${Card} title="This link is over">${words}<p>${home ? 'The profile or its run is gone.' : 'It was for one run of the browser. Ask for a new one from whoever gave it to you.'}</p>${back}<//>`;
}

// Speed shows latency and frame rate in a corner.
function Speed({ link }) {
  const { latency, rate } = useStore(link.meter.shown);
  const roundTrip = useStore(link.roundTrip);
  const about = `From your input to the changed picture: the middle of the last 30.${roundTrip == null ? '' : ` The link’s round trip: ${span(roundTrip)}.`}`;
  return html`<p class="live-speed number" title=${about}>${latency == null ? '' : html`<span><span class="visually-hidden">From input to picture: </span>${Math.round(latency)} ms</span>`}
    <span title=${rate ? 'Pictures in the last second' : 'The page does not change, so there are no new pictures.'}>${rate ? `${rate} fps` : 'idle'}</span></p>`;
}
