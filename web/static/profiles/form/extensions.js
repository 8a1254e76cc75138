// The extensions of a profile: those that it has, each on or off, and a list to add more.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { Name } from '../../components.js';
import { Field } from '../../forms.js';
import { Icon } from '../../icons.js';

const PAGE = 200;

// useExtensions reads the extensions of a workspace: null before they are there.
function useExtensions(workspaceId) {
  const { api } = useApp();
  const [all, setAll] = useState(null);
  useEffect(() => {
    let wanted = true;
    const read = async () => {
      const found = [];
      for (let after = ''; ;) {
        const { data, next, hasMore } = await api.get('/extensions', { workspaceId: workspaceId || 'default', limit: PAGE, after });
        found.push(...data);
        if (!hasMore) break;
        after = next;
      }
      if (wanted) setAll(found.sort((a, b) => a.name.localeCompare(b.name)));
    };
    read().catch(() => wanted && setAll([])); // the list stays empty; what the profile has is kept
    return () => { wanted = false; };
  }, [workspaceId]);
  return all;
}

const title = ({ name, version }) => `${name} ${version}`;

// ExtensionField shows what a profile has, and adds others of its workspace.
export function ExtensionField({ form, name, workspaceId }) {
  const all = useExtensions(workspaceId);
  const uses = form.values[name];
  const set = (list) => form.set(name, list);
  const known = (id) => all?.find((one) => one.id === id);
  const taken = new Set(uses.map(({ id }) => known(id)?.extensionId));
  const rest = (all || []).filter((one) => !taken.has(one.extensionId));
  const words = (id) => (known(id) ? title(known(id)) : all ? 'A deleted extension' : '…');
  const control = (tied) => html`<div class="ordered">${uses.length > 0 && html`<ul class="ordered-list">${uses.map(({ id, enabled }, i) => html`<li key=${id}>
      <label class="ordered-name"><input type="checkbox" checked=${enabled} onChange=${({ currentTarget }) => set(uses.map((use, at) => (at === i ? { ...use, enabled: currentTarget.checked } : use)))} /> <${Name}>${words(id)}<//>${!enabled && html` <span class="muted">off</span>`}</label>
      <button type="button" class="icon-button" aria-label=${`Remove ${words(id)}`} onClick=${() => set(uses.filter((use) => use.id !== id))}><${Icon} name="close" /></button></li>`)}</ul>`}
    <select ...${tied} disabled=${!rest.length} value="" onChange=${({ currentTarget }) => currentTarget.value && set([...uses, { id: currentTarget.value, enabled: true }])}>
      <option value="">${rest.length ? 'Add an extension' : !all ? '…' : uses.length ? 'No others to add' : 'None to add yet'}</option>${rest.map((one) => html`<option key=${one.id} value=${one.id}>${title(one)}</option>`)}</select></div>`;
  return html`<${Field} wide ...${{ form, name, control }} label="Extensions" optional hint="They apply from the next start. Add packages in the settings, under Extensions." />`;
}
