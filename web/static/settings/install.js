// Installs a browser: the form for its version, how far it is, and how it ended. Only keys that may do so get more than null.
import { useEffect, useRef } from 'preact/hooks';
import { html } from '../html.js';
import { Problem } from '../api.js';
import { useApp } from '../app-context.js';
import { useInstallation } from '../browsers.js';
import { ProblemBox } from '../components.js';
import { bytes } from '../format.js';
import { Text, useForm } from '../forms.js';
import { Icon } from '../icons.js';

const STEPS = { __proto__: null, looking: 'Looking for the build…', downloading: 'Downloading…', unpacking: 'Unpacking…', checking: 'Checking that it runs…' };

// Install is brief where it is part of a notice.
export function Install({ brief }) {
  const { api, browsers } = useApp();
  const state = useInstallation();
  const form = useForm({ version: ownMajor() });
  const now = state?.now;
  const running = Boolean(now && !now.endedAt);
  const root = useRef(null);
  const before = useRef(null);
  useEffect(() => { // the button that was pressed is gone
    if (before.current !== null && before.current !== running && document.activeElement === document.body) root.current?.querySelector('button, input')?.focus();
    if (state) before.current = running;
  }, [running, Boolean(state)]);
  useEffect(() => { if (now?.status === 'done') form.set('version', ''); }, [now?.endedAt]);
  if (!state || state.refused) return null;
  const install = async ({ version }) => browsers.sawInstallation(await api.post('/browsers', { version: version.trim() }));
  const submit = (event) => {
    event.preventDefault();
    form.send(install);
  };
  const again = () => form.send(() => install(now));
  return html`<div class="install" ref=${root} aria-live=${brief ? 'off' : undefined}>
    ${running ? html`<${Progress} now=${now} />` : html`<form class="install-form" ref=${form.root} onSubmit=${submit} novalidate autocomplete="off">
      <${Text} form=${form} name="version" label="Version" inputmode="decimal" maxlength="23" placeholder="131" />
      <button class="button primary" disabled=${form.busy || !form.values.version.trim()}><${Icon} name="download" />${form.busy ? 'Asking…' : 'Install'}</button></form>
      ${!brief && html`<p class="hint">A major version such as 131: its newest build. Or a build such as 131.0.6778.204.</p>`}
      <${ProblemBox} problem=${form.problem} shown=${form.shown()} />`}
    <div role="status" class="install-end">${now?.status === 'done' && html`<p class="good-text"><${Icon} name="check" />${now.browser.product} ${now.browser.version} is installed.</p>`}
      ${now?.error?.code === 'installation_cancelled' && html`<p class="muted">The installation of version ${now.version} was cancelled. Nothing was installed.</p>`}</div>
    ${now?.status === 'failed' && now.error.code !== 'installation_cancelled' && !form.problem && html`<${ProblemBox} problem=${new Problem(now.error.status, now.error, '')}>
      <p><button type="button" class="button small" disabled=${form.busy} onClick=${again}><${Icon} name="reload" />Try ${now.version} again</button></p><//>`}
  </div>`;
}

function Progress({ now }) {
  const app = useApp();
  const cancel = () => app.during('installation', () => app.api.delete('/browsers/installation').catch((problem) => app.fail('The installation was not cancelled', problem)));
  const { step, doneBytes, totalBytes, version } = now;
  const known = step !== 'looking' && totalBytes > 0;
  const title = `Installing version ${version}`;
  return html`<section class="install-progress" aria-label=${title}>
    <div class="work-head"><p class="work-title">${title}</p><button type="button" class="button small" onClick=${cancel}>Cancel</button></div>
    <progress max="1" value=${known ? doneBytes / totalBytes : undefined} aria-label=${title}></progress>
    <p class="work-words number"><span role="status">${STEPS[step] || step}</span>${known && html`<span>${bytes(doneBytes)} of ${bytes(totalBytes)}</span>`}</p></section>`;
}

// ownMajor is the major of the browser that shows this page, if it is a Chrome: such a version is current.
function ownMajor() {
  return /Chrom(?:e|ium)\/(\d+)/.exec(navigator.userAgent)?.[1] || '';
}
