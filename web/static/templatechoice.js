// Choosing a template: a field that finds one by its name, and the words of its choice of proxies.
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Combobox } from './combobox.js';
import { Field } from './forms.js';

// PICKS are the ways to choose one of several proxies, as [value, words].
export const PICKS = [['leastUsed', 'The one with the fewest profiles'], ['roundRobin', 'In turn'], ['random', 'Any'], ['each', 'A different one for each']];

// dealtWords says where a template's profiles get their proxies from.
export function dealtWords(proxies) {
  return proxies === 'each' ? 'A proxy that no profile uses yet' : `A proxy with the tag ${proxies.tag}`;
}

// TemplateField finds one of the workspace's templates by typing. It is not shown where there is none.
export function TemplateField({ form, workspaceId, template, choose }) {
  const { api } = useApp();
  const [any, setAny] = useState(Boolean(template));
  useEffect(() => {
    let ended = false;
    api.get('/templates', { workspaceId, limit: 1 }).then(({ total }) => ended || setAny(total > 0), () => {});
    return () => { ended = true; };
  }, [workspaceId]);
  const control = (tied) => html`<${Finder} ...${{ workspaceId, template, choose, tied }} />`;
  return any && html`<${Field} wide ...${{ form, control }} name="templateId" label="Template" hint=${template ? 'Its settings are filled in below. The profile keeps them when the template changes.' : 'Fills in the settings of a new profile.'} />`;
}

function Finder({ workspaceId, template, choose, tied }) {
  const optionsOf = (data) => [{ key: 'none', words: 'No template', run: () => choose(null) }, ...data.map((one) => ({ key: one.id, words: html`<bdi>${one.name}</bdi>`, run: () => choose(one) }))];
  return html`<${Combobox} ...${{ tied, workspaceId, optionsOf }} path="/templates" label="Templates" words=${template ? template.name : 'No template'} chosen=${Boolean(template)} />`;
}
