// What the page reads when it is first needed: drawers, forms, dialogs, the live view and the settings. It is one part, so that a page needs few requests:
// each further part would have code in common with others, in further files.
export { CheckDialog } from './checkresult.js';
export { ConnectDialog } from './connect.js';
export { FirstRun } from './first/first.js';
export { LivePage } from './live/page.js';
export { Tile } from './live/tile.js';
export { Palette } from './palette.js';
export { ProfileDialog } from './profileform.js';
export { ExportDialog } from './profiles/archive/export.js';
export { ImportDialog } from './profiles/archive/import.js';
export { CloneDialog } from './profiles/clone.js';
export { ProxyBulkDialog, TagBulkDialog } from './profiles/bulkdialogs.js';
export { ProfileDrawer } from './profiles/drawer/drawer.js';
export { AddProxies } from './proxies/box/dialog.js';
export { TemplateDialog } from './templateform.js';
export { TagDialog } from './proxies/bulkdialogs.js';
export { ProxyDrawer } from './proxies/drawer/drawer.js';
export { ProxyDialog } from './proxychoice.js';
export { ProxyForm } from './proxyform.js';
export { SaveView } from './saveview.js';
export { Install } from './settings/install.js';
export { SettingsPage } from './settings/page.js';
