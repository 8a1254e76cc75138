// The live view for a logged-in person: it uses the key, and links back to the profiles.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { href } from '../route.js';
import { useStore } from '../store.js';
import { problemTitle, problemWords } from '../words.js';
import { KeyAccess, LiveLink } from './link.js';
import { LiveView } from './view.js';

export function LivePage({ params }) {
  const app = useApp();
  const id = params.get('profile') || '';
  const readonly = params.has('readonly');
  const link = useMemo(() => new LiveLink(new KeyAccess(app.api, id, readonly)), [app, id, readonly]);
  const [name, setName] = useState('');
  useEffect(() => link.begin(), [link]);
  useEffect(() => {
    app.api.get(`/profiles/${encodeURIComponent(id)}`).then((profile) => setName(profile.name), () => {}); // the connection shows the reason
  }, [app, id]);
  const starting = useStore(app.busy).has(id);
  const start = () => app.during(id, async () => {
    try {
      await app.api.post(`/profiles/${encodeURIComponent(id)}/start`);
      link.connect();
    } catch (problem) {
      app.toasts.say({ text: `${name || 'The profile'} did not start`, more: `${problemTitle(problem)}. ${problemWords(problem)}`, tone: 'bad' });
    }
  });
  return html`<${LiveView} link=${link} name=${name} home=${href('profiles')} start=${start} starting=${starting} />`;
}
