// The dialog that changes the tags of many proxies.
import { html } from '../html.js';
import { Dialog } from '../dialog.js';
import { count } from '../format.js';
import { Choice, Form, TagField, useForm } from '../forms.js';

export function TagDialog({ size, tag, close }) {
  const form = useForm({ tags: [], action: 'tag' });
  const send = async ({ tags, action }) => {
    tag(action, tags);
    close();
  };
  return html`<${Dialog} title="Change tags" lead=${count(size, 'proxy', 'proxies')} close=${close}><${Form} form=${form} work=${send} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${!form.values.tags.length}>Apply</button>`}>
    <div class="fields"><${Choice} form=${form} name="action" label="Change" wide options=${[['tag', 'Add these tags'], ['untag', 'Remove these tags']]} />
      <${TagField} form=${form} name="tags" label="Tags" hint="Press Enter or comma to add a tag." /></div><//><//>`;
}
