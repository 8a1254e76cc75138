// The traffic of a proxy by day, and by profile.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { Bars } from '../../chart.js';
import { Name, ProblemBox, Waiting } from '../../components.js';
import { DAYS, daysOf, firstDay, PARTS } from '../../days.js';
import { bytes, number } from '../../format.js';
import { href } from '../../route.js';

const MOST = 8; // profiles that are listed

export function Traffic({ proxy }) {
  const app = useApp();
  const [state, setState] = useState({ days: null, profiles: null, problem: null });
  useEffect(() => {
    const from = firstDay();
    const path = `/proxies/${encodeURIComponent(proxy.id)}/traffic`;
    Promise.all([app.api.get(path, { from, by: 'day' }), app.api.get(path, { from, by: 'profile' })])
      .then(([days, profiles]) => setState({ days, profiles, problem: null }), (problem) => setState((before) => ({ ...before, problem })));
  }, [proxy.id]);
  const { days, profiles, problem } = state;
  if (problem) return html`<${ProblemBox} problem=${problem} />`;
  if (!days) return html`<${Waiting} />`;
  if (!days.connections) return html`<p class="muted">Nothing has gone through it in the last ${DAYS} days.</p>`;
  return html`<dl class="figures"><div><dt>Received</dt><dd>${bytes(days.bytesDown)}</dd></div><div><dt>Sent</dt><dd>${bytes(days.bytesUp)}</dd></div><div><dt>Connections</dt><dd>${number(days.connections)}</dd></div></dl>
    <${Bars} title=${`The last ${DAYS} days`} points=${daysOf(days.data)} parts=${PARTS} say=${(n) => bytes(Math.round(n))} />
    <p class="hint">Days are in UTC. What proxies and TLS add is not counted.</p>
    <section><h3>By profile</h3><ul class="event-list">${[...profiles.data].sort((a, b) => b.bytesDown + b.bytesUp - a.bytesDown - a.bytesUp).slice(0, MOST).map((row) => html`<li key=${row.profileId} class="event-line">
      <span class="event-what one-line"><${ProfileLink} id=${row.profileId} /></span><span class="number muted">↓ ${bytes(row.bytesDown)}</span><span class="number muted">↑ ${bytes(row.bytesUp)}</span></li>`)}</ul>
      ${profiles.data.length > MOST && html`<p class="hint">And ${number(profiles.data.length - MOST)} more.</p>`}</section>`;
}

function ProfileLink({ id }) {
  const { api } = useApp();
  const [name, setName] = useState('');
  useEffect(() => {
    api.get(`/profiles/${encodeURIComponent(id)}`).then((profile) => setName(profile.name), () => setName(null));
  }, [id]);
  return name === null ? html`<span class="muted">A deleted profile</span>` : html`<a href=${href('profiles', undefined, [id])}><${Name}>${name || id}<//></a>`;
}
