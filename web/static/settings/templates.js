// The templates: settings for new profiles, by name.
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Ago, Empty, Name, Tags } from '../components.js';
import { ConfirmDialog } from '../dialog.js';
import { count, number } from '../format.js';
import { Grid } from '../grid/grid.js';
import { ViewMenu } from '../grid/toolbar.js';
import { useColumns, useList } from '../grid/use.js';
import { Icon } from '../icons.js';
import { Menu } from '../menu.js';
import { SearchBox } from '../searchbox.js';
import { useStore } from '../store.js';
import { dealtWords } from '../templatechoice.js';
import { TemplateDialog } from '../templateform.js';
import { SYSTEMS } from '../words.js';
import { Missing } from './read.js';

const NOTHING = html`<span class="muted not-in-card">–</span>`;

// ITS_OWN are the members of a template that are no settings.
const ITS_OWN = ['id', 'workspaceId', 'name', 'createdAt', 'updatedAt'];

const COLUMNS = [
  { id: 'name', label: 'Template', min: 190, grow: 2.4, always: true, draw: ({ name }) => html`<span class="title" title=${name}><${Name}>${name}<//></span>` },
  { id: 'os', label: 'System', width: 112, rank: 3, card: true, draw: ({ os }) => (os ? SYSTEMS[os] : NOTHING) },
  { id: 'proxy', label: 'Proxy', min: 160, grow: 1.4, rank: 1, draw: ({ proxies, proxyId }) => (proxies ? html`<bdi class="one-line" title=${dealtWords(proxies)}>${dealtWords(proxies)}</bdi>` : proxyId ? 'All the same' : NOTHING) },
  { id: 'tags', label: 'Tags', min: 110, grow: 1, rank: 4, draw: ({ tags }) => (tags?.length ? html`<${Tags} tags=${tags} />` : NOTHING) },
  { id: 'settings', label: 'Settings', width: 96, numeric: true, rank: 2, card: true, draw: (template) => html`${number(settingsOf(template))}<span class="in-card"> ${settingsOf(template) === 1 ? 'setting' : 'settings'}</span>` },
  { id: 'workspace', label: 'Workspace', width: 130, rank: 6, draw: ({ workspaceId }) => html`<bdi class="one-line">${workspaceId}</bdi>` },
  { id: 'updated', label: 'Changed', width: 118, rank: 5, draw: ({ updatedAt }) => html`<span class="muted"><${Ago} time=${updatedAt} /></span>` },
  { id: 'id', label: 'ID', width: 292, rank: 9, hidden: true, draw: ({ id }) => html`<span class="mono">${id}</span>` },
];

function settingsOf(template) {
  return Object.keys(template).filter((name) => !ITS_OWN.includes(name)).length;
}

export function Templates({ params }) {
  const app = useApp();
  const workspaceId = useStore(app.model.workspace);
  const search = params.get('search') || '';
  const { rows, selection, view } = useList('/templates', { workspaceId, search }, ({ type }, list) => type.startsWith('template.') && list.changed(null, true));
  const columns = useColumns('templates', () => COLUMNS);
  const { total, problem } = view;
  const reload = () => rows.reload().catch(() => {});
  const make = () => app.open(TemplateDialog, { done: reload });
  const edit = (template) => app.open(TemplateDialog, { template, done: reload });
  return html`
    <div class="settings-head"><p class="lead">A template fills in the settings of new profiles. They keep them when the template changes or is deleted.</p>
      <div class="tools">${(total > 0 || search) && html`<${SearchBox} value=${search} label="Search templates" change=${(text) => app.router.refine({ search: text }, { replace: true })} /><${ViewMenu} columns=${columns} />`}
        <button type="button" class="button primary" onClick=${make}><${Icon} name="plus" /><span>New template</span></button></div></div>
    <${Missing} problem=${problem} what="the templates" scope="read" />
    ${total === 0 && !problem ? html`<${Empty} title=${search ? 'No matches' : 'No templates yet'} drawing=${false}>${!search && html`<p>Make one here, or from a profile: “Save as a template” in its menu.</p>`}<//>` : html`<div class="page-body"><${Grid} label="Templates" ...${{ rows, columns, selection }} ticks=${false} open=${edit} what=${({ name }) => name}
      actionsWidth=${132} actions=${(template) => html`<div class="actions"><button type="button" class="button small" aria-label=${`Edit ${template.name}`} onClick=${() => edit(template)}><${Icon} name="edit" />Edit</button>
        <${Menu} label=${`More for ${template.name}`} items=${[{ label: 'Delete', icon: 'trash', danger: true, run: () => askToDelete(app, template, reload) }]} /></div>`} /></div>`}
    <p class="visually-hidden" role="status">${total !== null && count(total, 'template')}</p>`;
}

function askToDelete(app, template, reload) {
  app.open(ConfirmDialog, {
    title: 'Delete this template?',
    verb: 'Delete',
    work: async () => {
      await app.api.delete(`/templates/${encodeURIComponent(template.id)}`).catch((problem) => { if (problem.status !== 404) throw problem; });
      app.toasts.say({ text: `Deleted the template ${template.name}.` });
      await reload();
    },
    children: html`<p>Profiles that were created with <${Name}>${template.name}<//> keep their settings. This cannot be undone.</p>`,
  });
}
