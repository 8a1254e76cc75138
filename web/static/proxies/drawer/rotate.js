// The rotation of a proxy: the address that changes its exit, and a button that calls it.
import { useState } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { ProblemBox } from '../../components.js';
import { Country } from '../../flag.js';
import { span } from '../../format.js';
import { Form, Text, useForm } from '../../forms.js';
import { Icon } from '../../icons.js';
import { useStore } from '../../store.js';

export function Rotate({ proxy, object }) {
  return html`${proxy.rotateUrl ? html`<${RotateNow} proxy=${proxy} object=${object} />` : html`<p class="muted">Providers of mobile and residential proxies give an address that changes the exit IP. Enter it here, and Warren calls it and waits for the new exit.</p>`}
    <${Address} key=${proxy.rotateUrl} proxy=${proxy} object=${object} />
    <section><h3>When it fails</h3><p class="muted">A profile can name other proxies that it goes on through while this one is dead. They are set in the profile’s form, as fallbacks. Without one its traffic stops: it never goes out directly.</p></section>`;
}

function RotateNow({ proxy, object }) {
  const app = useApp();
  const busy = useStore(app.busy).has(proxy.id);
  const offline = useStore(app.offline);
  const [result, setResult] = useState(null);
  const [problem, setProblem] = useState(null);
  const rotate = () => app.during(proxy.id, async () => {
    setProblem(null);
    setResult(null);
    try {
      const from = proxy.lastCheck;
      const answer = await app.api.post(`/proxies/${encodeURIComponent(proxy.id)}/rotate`);
      setResult({ ...answer, country: from?.exitIp === answer.before ? from?.country : '' });
      object.reload();
    } catch (error) {
      setProblem(error);
    }
  });
  return html`<section><p><button type="button" class="button" disabled=${offline || busy} onClick=${rotate}><${Icon} name="reload" />${busy ? 'Waiting for a new exit…' : 'Rotate now'}</button></p>
    <div role="status">${result && html`<div class="panel rotation"><p><strong>${result.changed ? 'It has a new exit.' : 'It kept its exit.'}</strong>${result.durationMs != null && html` <span class="muted">after ${span(result.durationMs)}</span>`}</p>
      <p class="rotation-line"><span class="rotation-end"><span class="muted">Before</span> <span class="with-flag"><${Country} code=${result.country} /><span class="number">${result.before || 'not known'}</span></span></span><${Icon} name="forward" />
        <span class="rotation-end"><span class="muted">Now</span> <span class="with-flag"><${Country} code=${result.check?.country} name=${result.check?.countryName} /><span class="number">${result.exitIp || 'not known'}</span></span></span></p></div>`}</div>
    <${ProblemBox} problem=${problem} /></section>`;
}

function Address({ proxy, object }) {
  const app = useApp();
  const form = useForm({ rotateUrl: proxy.rotateUrl || '' });
  const save = async ({ rotateUrl }) => {
    const headers = object.etag ? { 'If-Match': object.etag } : undefined;
    const { data, etag } = await app.api.full('PUT', `/proxies/${encodeURIComponent(proxy.id)}`, { body: { rotateUrl: rotateUrl.trim() || null }, headers });
    object.keep(data, etag);
    app.toasts.say({ text: rotateUrl.trim() ? 'Saved the address.' : 'Removed the address.', tone: 'good' });
  };
  const same = form.values.rotateUrl.trim() === (proxy.rotateUrl || '');
  return html`<${Form} plain form=${form} work=${save}>
    <${Text} form=${form} name="rotateUrl" label="Rotation address" class="mono" type="url" placeholder="https://example.com/rotate?key=…" hint="The server calls it directly, not through the proxy. It is kept sealed, as passwords are." />
    <p><button class="button" disabled=${form.busy || same}>${form.busy ? 'Saving…' : 'Save'}</button></p><//>`;
}
