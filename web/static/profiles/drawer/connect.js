// How programs connect to a profile's browser: addresses and code, each copied with one click.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { restart } from '../../actions.js';
import { useApp } from '../../app-context.js';
import { ProblemBox, Waiting } from '../../components.js';
import { Address, Recipes } from '../../connect.js';
import { Icon } from '../../icons.js';
import { useStore } from '../../store.js';
import { StartButton } from '../startbutton.js';

export function Connect({ profile, path, rows }) {
  const app = useApp();
  const busy = useStore(app.busy).has(profile.id);
  const offline = useStore(app.offline);
  const running = profile.status === 'running';
  const [{ run, problem }, setState] = useState({ run: null, problem: null });
  const runId = profile.run?.runId;
  useEffect(() => {
    let gone = false;
    setState({ run: null, problem: null });
    if (running) addresses(app, path).then((found) => !gone && setState({ run: found, problem: null }), (fault) => !gone && setState({ run: null, problem: fault }));
    return () => { gone = true; };
  }, [path, running, runId]);
  if (!running) {
    return html`<div class="quiet-box"><p>The addresses and the code are here while the browser runs.</p>
      <div><${StartButton} ...${{ profile, rows }} told /></div></div>
      <p class="hint">A program can start it too: <code>POST /api/v1${path}/start</code> answers the same addresses. <a href="docs" target="_blank">API</a></p>`;
  }
  return html`<${ProblemBox} problem=${problem} />${!run && !problem && html`<${Waiting} />`}
    ${run && html`<p class="hint">Anyone with these URLs can control this browser. They expire when it stops.</p>
      <${Recipes} run=${run} noPort=${html`<div class="quiet-box"><p>Selenium needs a port of the server’s machine. It is opened when the browser starts. Any program of that machine can use it meanwhile.</p>
        <div><button type="button" class="button small" disabled=${offline || busy} onClick=${() => restart(app, profile, { debugPort: true })}><${Icon} name="reload" />Restart with a port</button></div></div>`} />
      <section class="addresses"><h3>URLs</h3>
        <${Address} label="CDP over WebSocket" text=${run.wsEndpoint} />
        <${Address} label="CDP over HTTP" text=${run.cdpUrl} />
        <${Address} label="Live view" text=${run.liveUrl} />
        ${run.debuggerAddress && html`<${Address} label="Debugger address" text=${run.debuggerAddress} />`}</section>`}`;
}

// addresses returns the addresses of a run. Start answers those of a running browser; that it runs is read first, so that nothing is started here.
async function addresses(app, path) {
  const { status } = await app.api.get(path);
  return status === 'running' ? app.api.post(`${path}/start`) : null;
}
