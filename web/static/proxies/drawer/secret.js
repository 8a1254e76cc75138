// The password of a proxy: shown when asked for, and hidden again.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { Copy } from '../../components.js';
import { Icon } from '../../icons.js';
import { problemTitle, problemWords } from '../../words.js';

const SHOWN_MS = 30_000; // then it is hidden again

export function Secret({ proxy }) {
  const { api } = useApp();
  const [password, setPassword] = useState(null);
  const [refusal, setRefusal] = useState('');
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    if (password === null) return undefined;
    const timer = setTimeout(() => setPassword(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [password]);
  useEffect(() => setPassword(null), [proxy.updatedAt]);
  if (!proxy.hasPassword) return html`None`;
  const show = async () => {
    setBusy(true);
    setRefusal('');
    try {
      const { password: text, base64 } = await api.get(`/proxies/${encodeURIComponent(proxy.id)}/secret`);
      setPassword(text ?? `base64: ${base64}`);
    } catch (problem) {
      setRefusal(problem.status === 403 ? 'Your key may not read passwords. That needs the scope secrets.' : `${problemTitle(problem)}. ${problemWords(problem)}`);
    }
    setBusy(false);
  };
  return html`<span class="secret">${password === null ? html`<span aria-hidden="true">••••••••</span><span class="visually-hidden">Saved</span>` : html`<code class="path" tabindex="0" role="group" aria-label="The password">${password}</code>`}
    ${password === null
      ? html`<button type="button" class="button small" disabled=${busy} aria-label="Show the password" title="Each time is recorded in the activity log" onClick=${show}><${Icon} name="eye" />Show</button>`
      : html`<${Copy} text=${password} label="Copy the password" /><button type="button" class="button small" aria-label="Hide the password" onClick=${() => setPassword(null)}>Hide</button>`}</span>
    <span role="status" class="secret-note">${password !== null && html`<span class="hint">Recorded in the activity log. Hidden again in half a minute.</span>`}${refusal && html`<span class="bad-text">${refusal}</span>`}</span>`;
}
