// The live view for a link: the address's fragment is a capability, which opens only one run's view.
import { render } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { html } from '../html.js';
import { Burrows, Logo } from '../icons.js';
import { CapabilityAccess, LiveLink } from './link.js';
import { LiveView } from './view.js';

const KEPT = 'warren.live';

// takeCapability removes the capability from the address and the tab's history, and keeps it for reloads of this tab.
function takeCapability() {
  const [, given] = /^#([\x21-\x7e]{16,300})$/.exec(location.hash) || [];
  try {
    if (!given) return sessionStorage.getItem(KEPT) || '';
    sessionStorage.setItem(KEPT, given);
  } catch {
    // Without storage it is kept until the page is left.
  }
  if (given) history.replaceState(null, '', location.pathname + location.search);
  return given || '';
}

function Root() {
  const [capability, setCapability] = useState(takeCapability);
  useEffect(() => {
    const given = () => setCapability((before) => takeCapability() || before);
    addEventListener('hashchange', given);
    return () => removeEventListener('hashchange', given);
  }, []);
  return capability ? html`<${View} key=${capability} capability=${capability} />` : html`<${NoLink} />`;
}

function View({ capability }) {
  const readonly = new URLSearchParams(location.search).has('readonly');
  const link = useMemo(() => new LiveLink(new CapabilityAccess(capability, readonly)), []);
  useEffect(() => link.begin(), []);
  return html`<${LiveView} link=${link} />`;
}

function NoLink() {
  return html`<main class="login">
    <div class="login-card">
      <p class="brand"><${Logo} />Warren</p>
      <h1 tabindex="-1">This link is not whole</h1>
      <p class="lead">A link to a live view ends with a mark and a long word, which opens it. Ask for the whole link again, or log in and choose View beside a running profile.</p>
      <a class="button primary large" href="./">Go to the profiles</a>
    </div>
    <div class="landscape">${[1, 2, 3, 4].map((part) => html`<${Burrows} key=${part} />`)}</div>
  </main>`;
}

render(html`<${Root} />`, document.body);
