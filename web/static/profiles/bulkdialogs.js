// The dialogs that ask what to do with many profiles.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Dialog } from '../dialog.js';
import { count } from '../format.js';
import { Choice, Field, Form, TagField, useForm } from '../forms.js';
import { ProxyField } from '../proxychoice.js';

export function TagBulkDialog({ size, todo, close }) {
  const form = useForm({ tags: [], action: 'tag' });
  const send = async ({ tags, action }) => {
    todo(action, { tags });
    close();
  };
  return html`<${Dialog} title="Change tags" lead=${count(size, 'profile')} close=${close}><${Form} form=${form} work=${send} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${!form.values.tags.length}>Apply</button>`}>
    <div class="fields"><${Choice} form=${form} name="action" label="Change" wide options=${[['tag', 'Add these tags'], ['untag', 'Remove these tags']]} />
      <${TagField} form=${form} name="tags" label="Tags" hint="Press Enter or comma to add a tag." /></div><//><//>`;
}

// ProxyBulk gives the profiles one proxy, one each of those with a tag, or none.
export function ProxyBulkDialog({ size, todo, close }) {
  const { api, model } = useApp();
  const form = useForm({ how: 'one', proxyId: '', tag: '' });
  const { how, proxyId, tag } = form.values;
  const [free, setFree] = useState(null);
  useEffect(() => {
    setFree(null);
    if (how !== 'each') return;
    api.get('/proxies', { tag: tag || undefined, limit: 1, page: 1, workspaceId: model.workspace.value }).then(({ total }) => setFree(total), () => {});
  }, [how, tag]);
  const send = async () => {
    if (how === 'one') todo('setProxy', { proxyId });
    else if (how === 'none') todo('setProxy', { proxyId: null });
    else todo('setProxy', { proxies: tag ? { tag, each: true } : 'each' });
    close();
  };
  const tagInput = (tied) => html`<input type="text" ...${tied} value=${tag} placeholder="Any tag" onInput=${(event) => form.set('tag', event.currentTarget.value.trim())} spellcheck=${false} />`;
  return html`<${Dialog} title="Set the proxy" lead=${count(size, 'profile')} close=${close}><${Form} form=${form} work=${send} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${how === 'one' && !proxyId}>Apply</button>`}>
    <div class="fields"><${Choice} form=${form} name="how" label="Proxy" wide options=${[['one', 'One proxy for all'], ['each', 'A different proxy for each'], ['none', 'No proxy (direct connection)']]} />
      ${how === 'one' && html`<${ProxyField} form=${form} workspaceId=${model.workspace.value} label="Which one" none=${null} empty="Choose a proxy" />`}
      ${how === 'each' && html`<${Field} wide form=${form} name="tag" label="From the proxies with this tag" optional control=${tagInput}
        hint=${free === null ? 'Proxies with the fewest profiles are taken first.' : `${count(free, 'proxy', 'proxies')} ${free === 1 ? 'matches' : 'match'}. Those with the fewest profiles are taken first.`} />`}
      ${how === 'none' && html`<p class="wide hint">The profiles will connect directly, with this computer’s own address.</p>`}</div><//><//>`;
}
