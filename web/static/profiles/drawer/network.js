// The network of a profile: its proxy, what it may reach, and how much it has sent and received.
import { html } from '../../html.js';
import { NetworkFields, ProfileProxy } from '../form/fields.js';
import { ProfileForm } from './form.js';
import { Traffic } from './traffic.js';

export function Network({ profile, path, object, rows }) {
  const running = ['running', 'starting'].includes(profile.status);
  return html`<${ProfileForm} ...${{ object, path, rows }}>${(form) => html`
      <${ProfileProxy} form=${form} workspaceId=${profile.workspaceId} hint=${running ? 'New connections of the running browser use it at once. “No proxy” takes effect when the browser starts next.' : undefined} />
      <${NetworkFields} form=${form} workspaceId=${profile.workspaceId} />`}<//>
    <${Traffic} path=${path} id=${profile.id} />`;
}
