// Components of more.js, which is read when the first of them is shown.
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';

let loaded = null; // the module, once it is there

// more reads the module once. A read that failed is tried again by the next call.
export async function more() {
  loaded ||= await import('./more.js');
  return loaded;
}

// lazy returns a component that shows one of the module's. If it cannot be read, a message says so and a dialog closes.
function lazy(name) {
  return function Lazy(props) {
    const app = useApp();
    const [ready, setReady] = useState(Boolean(loaded));
    useEffect(() => {
      if (ready) return;
      more().then(() => setReady(true), () => {
        app.toasts.say({ text: 'This part of the page could not be read.', more: 'Is Warren running? Try again.', tone: 'bad' });
        props.close?.();
      });
    }, []);
    return ready && html`<${loaded[name]} ...${props} />`;
  };
}

export const AddProxies = lazy('AddProxies');
export const CheckDialog = lazy('CheckDialog');
export const CloneDialog = lazy('CloneDialog');
export const ConnectDialog = lazy('ConnectDialog');
export const ExportDialog = lazy('ExportDialog');
export const FirstRun = lazy('FirstRun');
export const ImportDialog = lazy('ImportDialog');
export const Install = lazy('Install');
export const LivePage = lazy('LivePage');
export const Palette = lazy('Palette');
export const ProfileDialog = lazy('ProfileDialog');
export const ProfileDrawer = lazy('ProfileDrawer');
export const ProxyBulkDialog = lazy('ProxyBulkDialog');
export const ProxyDialog = lazy('ProxyDialog');
export const ProxyDrawer = lazy('ProxyDrawer');
export const ProxyForm = lazy('ProxyForm');
export const SaveView = lazy('SaveView');
export const SettingsPage = lazy('SettingsPage');
export const TagBulkDialog = lazy('TagBulkDialog');
export const TagDialog = lazy('TagDialog');
export const TemplateDialog = lazy('TemplateDialog');
export const Tile = lazy('Tile');
