// Links to a running browser for other people and programs.
import { useState } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp, useNow } from '../../app-context.js';
import { Ago, Name, Notice, ProblemBox, Waiting } from '../../components.js';
import { Address } from '../../connect.js';
import { ConfirmDialog } from '../../dialog.js';
import { since } from '../../format.js';
import { Choice, Form, Text, useForm } from '../../forms.js';
import { useStore } from '../../store.js';
import { StartButton } from '../startbutton.js';
import { isOf, useList } from './use.js';

const HOUR_MS = 3_600_000;
const EXPIRIES = [['1', 'In 1 hour'], ['8', 'In 8 hours'], ['24', 'In 1 day'], ['168', 'In 7 days'], ['', 'When the browser stops']];

export function Share({ profile, path, rows }) {
  if (profile.status !== 'running') {
    return html`<div class="quiet-box"><p>A link opens the running browser to somebody else, for a time. Start the browser to make one.</p>
      <div><${StartButton} ...${{ profile, rows }} told /></div></div>`;
  }
  return html`<${Links} key=${profile.run?.runId} ...${{ profile, path }} />`;
}

function Links({ profile, path }) {
  const list = useList(`${path}/capabilities`, { limit: 50 }, (event) => isOf(profile.id, event) && event.type.startsWith('capability.'));
  const [made, setMade] = useState(null);
  return html`
    <${Notice}><p>A link works for anyone who has it, without a key. Whoever controls this browser acts as whoever is signed in there: send the link to one person, and revoke it when they are done.</p><//>
    ${made ? html`<${Made} made=${made} again=${() => setMade(null)} />` : html`<${MakeForm} path=${path} done=${(fresh) => { setMade(fresh); list.reload(); }} />`}
    <section><h3>Links of this run</h3><${ProblemBox} problem=${list.problem} />
      ${!list.rows ? !list.problem && html`<${Waiting} />` : list.rows.length === 0 ? html`<p class="muted">No links.</p>`
        : html`<ul class="lines-list">${list.rows.map((one) => html`<${Link} key=${one.id} ...${{ one, path, list }} gone=${() => made?.id === one.id && setMade(null)} />`)}</ul>`}
      ${list.next && html`<button type="button" class="button small" disabled=${list.busy} onClick=${list.more}>Show more</button>`}</section>`;
}

function MakeForm({ path, done }) {
  const app = useApp();
  const offline = useStore(app.offline);
  const form = useForm({ name: '', rights: 'view', hours: '1' });
  const make = async ({ name, rights, hours }) => done(await app.api.post(`${path}/capabilities`, {
    ...(name.trim() ? { name: name.trim() } : {}), readonly: rights === 'view', ...(hours ? { expiresInMs: Number(hours) * HOUR_MS } : {}),
  }));
  const foot = html`<button class="button primary" disabled=${form.busy || offline}>${form.busy ? 'One moment…' : 'Create link'}</button>`;
  return html`<${Form} plain form=${form} work=${make} saved=${JSON.stringify(form.values)}><div class="fields">
      <${Text} form=${form} name="name" label="For" optional wide placeholder="Ana, support" />
      <${Choice} form=${form} name="rights" member="readonly" label="They can" options=${[['view', 'Watch only'], ['drive', 'Watch and control']]} />
      <${Choice} form=${form} name="hours" member="expiresInMs" label="It expires" options=${EXPIRIES} />
    </div><div>${foot}</div><//>`;
}

// Made shows a fresh link. Its secret is not shown again.
function Made({ made, again }) {
  return html`<section class="panel made" role="status"><h3>${made.readonly ? 'Link to watch' : 'Link to watch and control'}</h3>
    <p class="hint">Copy it now. It is not shown again.</p>
    <${Address} label="Live view" text=${made.liveUrl} />
    ${made.wsEndpoint && html`<${Address} label="CDP over WebSocket" text=${made.wsEndpoint} />`}
    ${made.cdpUrl && html`<${Address} label="CDP over HTTP" text=${made.cdpUrl} />`}
    <div><button type="button" class="button small" onClick=${again}>Create another</button></div></section>`;
}

function Link({ one, path, list, gone }) {
  const app = useApp();
  const now = useNow();
  const { id, name, readonly, files, createdAt, expiresAt } = one;
  const revoke = () => app.open(ConfirmDialog, {
    title: 'Revoke this link?', verb: 'Revoke',
    work: async () => { await app.api.delete(`${path}/capabilities/${encodeURIComponent(id)}`); gone(); await list.reload(); },
    children: html`<p>Whoever uses it is disconnected at once. The link cannot be made valid again.</p>`,
  });
  const rights = `${readonly ? 'Watch only' : 'Watch and control'}${files ? ', and files of the server' : ''}`;
  return html`<li class="line-item"><span class="two-lines"><span class="title">${name ? html`<${Name}>${name}<//>` : 'Without a name'}</span>
      <span class="sub">${rights} · <${Ago} time=${createdAt} prefix="made " /> · ${expiresAt ? `until ${since(expiresAt, now)}` : 'until the browser stops'}</span></span>
    <button type="button" class="button small" aria-label=${`Revoke ${name || 'the link without a name'}`} onClick=${revoke}>Revoke</button></li>`;
}
