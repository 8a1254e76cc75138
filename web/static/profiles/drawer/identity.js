// The identity of a profile: what is set, and what pages see.
import { html } from '../../html.js';
import { Notice, ProblemBox } from '../../components.js';
import { IdentityFields } from '../form/fields.js';
import { Effective, Findings, useExplain } from './explain.js';
import { pendingWords, ProfileForm } from './form.js';

export function Identity({ profile, path, object, rows }) {
  const { data, problem } = useExplain(profile, path);
  return html`
    ${data?.findings.length > 0 && html`<${Notice}><${Findings} ...${{ profile }} findings=${data.findings} /><//>`}
    <${ProfileForm} ...${{ object, path, rows }} pending=${pendingWords(data?.pending)}>${(form) => html`<${IdentityFields} form=${form} saved />`}<//>
    <${ProblemBox} problem=${problem} />
    ${data && html`<section><h3>${profile.status === 'running' ? 'What pages see now' : 'What pages would see'}</h3><${Effective} effective=${data.effective} /></section>`}`;
}
