// The settings: one section at a time, each with an address.
import { useEffect, useRef } from 'preact/hooks';
import { html } from '../html.js';
import { useSeveral } from '../nodes.js';
import { href } from '../route.js';
import { Activity } from './activity.js';
import { Appearance } from './appearance.js';
import { Browsers } from './browsers.js';
import { Extensions } from './extensions.js';
import { Keys } from './keys.js';
import { Nodes } from './nodes.js';
import { Schedules } from './schedules.js';
import { ServerSection } from './server.js';
import { Templates } from './templates.js';
import { Webhooks } from './webhooks.js';
import { Workspaces } from './workspaces.js';

// SECTIONS are in the order of the tabs. several: shown where there is more than one server.
const SECTIONS = [
  { id: 'keys', label: 'Keys', draw: Keys, list: true },
  { id: 'workspaces', label: 'Workspaces', draw: Workspaces, list: true },
  { id: 'templates', label: 'Templates', draw: Templates, list: true },
  { id: 'schedules', label: 'Schedules', draw: Schedules, list: true },
  { id: 'webhooks', label: 'Webhooks', draw: Webhooks, list: true },
  { id: 'browsers', label: 'Browsers', draw: Browsers },
  { id: 'extensions', label: 'Extensions', draw: Extensions, list: true },
  { id: 'server', label: 'Server', draw: ServerSection },
  { id: 'servers', label: 'Servers', draw: Nodes, list: true, several: true },
  { id: 'activity', label: 'Activity', draw: Activity, list: true },
  { id: 'appearance', label: 'Appearance', draw: Appearance },
];

export function SettingsPage({ params, path }) {
  const shown = SECTIONS.find(({ id }) => id === path[0]) || SECTIONS[0];
  const several = useSeveral();
  const sections = SECTIONS.filter((section) => several || !section.several || section === shown);
  const nav = useRef(null);
  useEffect(() => nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }), [shown.id]);
  return html`<div class="page settings">
    <header class="page-head"><h1 tabindex="-1">Settings</h1></header>
    <nav class="settings-nav" aria-label="Settings" ref=${nav}>${sections.map(({ id, label }) => html`<a key=${id} href=${href('settings', undefined, [id])} aria-current=${id === shown.id ? 'page' : undefined}>${label}</a>`)}</nav>
    <section class=${shown.list ? 'settings-list' : 'settings-body'} aria-label=${shown.label} key=${shown.id} tabindex=${shown.list ? undefined : 0}><${shown.draw} params=${params} path=${path} /></section>
  </div>`;
}
