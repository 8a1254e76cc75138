// The snapshots of a profile: what is kept of its data, and the ways back to it.
import { useState } from 'preact/hooks';
import { html } from '../../html.js';
import { Problem } from '../../api.js';
import { useApp } from '../../app-context.js';
import { Ago, Name, ProblemBox, Waiting } from '../../components.js';
import { ConfirmDialog, Dialog, useTold } from '../../dialog.js';
import { bytes, count, moment } from '../../format.js';
import { Choice, Form, Text, Tick, useForm } from '../../forms.js';
import { Icon } from '../../icons.js';
import { Menu } from '../../menu.js';
import { useStore } from '../../store.js';
import { CloneDialog } from '../clone.js';
import { StartButton } from '../startbutton.js';
import { useList } from './use.js';

const REASONS = {
  __proto__: null,
  stop: 'After a stop',
  asked: 'Kept by hand',
  live: 'Kept while it ran',
  before_rollback: 'Before a roll-back',
  before_downgrade: 'Before an older browser',
  clone: 'Start of this clone',
  import: 'From an archive',
};

// whatOf names a snapshot for a control; What does it within a sentence.
function whatOf({ name, createdAt }) {
  return name || `the snapshot of ${moment(createdAt)}`;
}

function What({ of: one }) {
  return one.name ? html`“<${Name}>${one.name}<//>”` : whatOf(one);
}

function isAtRest({ status }) {
  return status === 'stopped' || status === 'failed';
}

// Snapshots lists them, newest first. Its state `going` says what is being done with the profile's data.
export function Snapshots({ profile, path, rows }) {
  const app = useApp();
  const offline = useStore(app.offline);
  const busy = useStore(app.busy).has(profile.id);
  const [going, setGoing] = useState('');
  const list = useList(`${path}/snapshots`, {}, ({ type, data }) => (type.startsWith('snapshot.') ? data?.profileId : type === 'profile.rolled_back' && data?.id) === profile.id);
  const during = async (words, work) => {
    if (app.busy.value.has(profile.id)) throw new Problem(409, { code: 'profile_busy', detail: 'Something else is being done with it. Try again when that is over.' }, '');
    setGoing(words);
    await app.during(profile.id, work).finally(() => setGoing(''));
  };
  const none = list.rows?.length === 0;
  const empty = none && isAtRest(profile) && !profile.lastRun;
  const ask = (component, props) => !busy && app.open(component, { profile, path, during, ...props });
  return html`
    <section><div class="section-head"><h3>Snapshots</h3><button type="button" class="button small" disabled=${offline || empty} aria-disabled=${busy} title=${empty ? 'It has never run, so it has no data yet.' : undefined} onClick=${() => ask(KeepDialog)}><${Icon} name="camera" />Keep a snapshot</button></div>
      <p class="hint">${profile.snapshots === 'off' ? 'This profile keeps none by itself.' : 'One is kept by itself each time the browser is closed.'} The last 7 stay, one a day for 14 days, and those that are pinned.</p></section>
    ${going && html`<p class="going status wait" role="status"><span class="dot"></span>${going}</p>`}
    <${ProblemBox} problem=${list.problem}><button type="button" class="button small" disabled=${list.busy} onClick=${list.reload}>Try again</button><//>
    ${!list.rows ? !list.problem && html`<${Waiting} />` : empty ? html`<div class="quiet-box"><p>It has never run, so it has no data yet.</p><div><${StartButton} ...${{ profile, rows }} told /></div></div>`
      : none ? html`<p class="muted">No snapshots yet.</p>`
      : html`<ul class="lines-list" aria-label="Snapshots">${list.rows.map((one) => html`<${Snapshot} key=${one.id} ...${{ one, profile, path, list, ask, busy, offline }} />`)}</ul>`}`;
}

function Snapshot({ one, profile, path, list, ask, busy, offline }) {
  const app = useApp();
  const { id, name, pinned, reason, bytes: size, newBytes, current, createdAt, browserVersion } = one;
  const at = `${path}/snapshots/${encodeURIComponent(id)}`;
  const what = whatOf(one);
  const why = REASONS[reason] || reason;
  const pin = () => app.during(id, async () => {
    try {
      await app.api.call('PATCH', at, { body: { pinned: !pinned } });
    } catch (problem) {
      app.fail('The snapshot was not changed', problem);
    }
    await list.reload();
  });
  const drop = () => app.open(ConfirmDialog, {
    title: 'Delete this snapshot?', verb: 'Delete',
    work: async () => { await app.api.delete(at); await list.reload(); },
    children: html`<p>This deletes <${What} of=${one} />${pinned && ', although it is pinned'}. It cannot be undone. The profile’s data stay as they are.</p>`,
  });
  return html`<li class="line-item snapshot"><span class="two-lines">
      <span class="with-mark"><span class="title" title=${name || undefined}>${name ? html`<${Name}>${name}<//>` : why}</span>${current && html`<span class="mark" title="The profile’s data go on from this one.">Current</span>`}</span>
      <span class="sub">${name && `${why} · `}<${Ago} time=${createdAt} /></span>
      <span class="sub number" title=${browserVersion ? `Last opened by browser ${browserVersion}` : undefined}>${bytes(size)}, ${newBytes ? bytes(newBytes) : 'none'} of it new</span></span>
    <button type="button" class="icon-button" aria-pressed=${pinned} aria-label=${`Pin ${what}`} title=${pinned ? 'Pinned: kept until it is deleted' : 'Pin: keep it until it is deleted'} disabled=${offline} onClick=${pin}><${Icon} name="pin" /></button>
    <button type="button" class="button small" aria-label=${`Roll back to ${what}`} disabled=${offline} aria-disabled=${busy} onClick=${() => ask(RollBackDialog, { one })}>Roll back</button>
    <${Menu} label=${`More for ${what}`} disabled=${offline} items=${[
      { label: name ? 'Rename' : 'Give it a name', icon: 'edit', run: () => app.open(NameDialog, { one, at, list }) },
      { label: 'Clone from this one', icon: 'copy', run: () => app.open(CloneDialog, { profile, snapshot: one }) },
      'line',
      { label: 'Delete', icon: 'trash', danger: true, run: drop },
    ]} /></li>`;
}

// RollBackDialog asks before the data are replaced. A browser that runs is stopped first, if the person says so.
function RollBackDialog({ profile, path, one, during, close }) {
  const app = useApp();
  const told = useTold(`${profile.name} was not rolled back`);
  const [rest, setRest] = useState(isAtRest(profile));
  const work = () => told(() => during(rest ? 'Rolling back…' : 'Closing the browser and rolling back…', async () => {
    try {
      if (!rest) await app.api.post(`${path}/stop`);
      const { kept } = await app.api.post(`${path}/rollback`, { snapshotId: one.id });
      app.toasts.say({ text: `${profile.name} is rolled back.`, more: kept ? 'What was there before is kept as a snapshot.' : '', tone: 'good' });
    } catch (problem) {
      setRest(problem.code !== 'profile_running');
      throw problem;
    }
  }));
  return html`<${ConfirmDialog} title="Roll back to this snapshot?" tone="primary" verb=${rest ? 'Roll back' : 'Stop and roll back'} doing=${rest ? 'Rolling back…' : 'Stopping and rolling back…'} work=${work} close=${close}>
    <p><${Name}>${profile.name}<//> gets the cookies, history and other data of <${What} of=${one} />. What is there now is kept as a snapshot first. Settings and downloads stay as they are.</p>
    ${!rest && html`<p><strong>Its browser is running.</strong> It has to be stopped first.</p>`}<//>`;
}

const HOW = [['restart', 'Close it, and start it again with its tabs'], ['live', 'Copy while it goes on']];
const HOW_HINTS = {
  __proto__: null,
  restart: 'Everything is kept. Programs that are connected have to connect again.',
  live: 'What the browser has not written to its files yet is missing.',
};

// KeepDialog makes a snapshot. The person says whether a browser that runs is closed for it.
function KeepDialog({ profile, path, during, close }) {
  const app = useApp();
  const form = useForm({ name: '', pinned: false, how: 'restart' });
  const told = useTold('No snapshot was kept');
  const [rest, setRest] = useState(isAtRest(profile));
  const closes = !rest && form.values.how === 'restart';
  const keep = ({ name, pinned, how }) => told(() => during(closes ? 'Closing the browser, keeping a snapshot, and starting it again…' : 'Keeping a snapshot…', async () => {
    let torn;
    try {
      ({ torn } = await app.api.post(`${path}/snapshots`, { name, pinned, ...(!rest && { [how]: true }) }));
    } catch (problem) {
      setRest(problem.code !== 'profile_running');
      throw problem;
    }
    app.toasts.say({ text: `Kept a snapshot of ${profile.name}.`, more: torn?.length ? `The browser was writing meanwhile: ${count(torn.length, 'file')} may be damaged in it.` : '', tone: 'good' });
    close();
  }));
  const foot = html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy}>${form.busy ? 'Keeping…' : closes ? 'Close, keep and start again' : 'Keep'}</button>`;
  return html`<${Dialog} title="Keep a snapshot" lead=${html`<${Name}>${profile.name}<//>`} close=${close}><${Form} form=${form} work=${keep} foot=${foot}>
    <div class="fields"><${Text} form=${form} name="name" label="Name" optional wide autofocus placeholder="Signed in" />
      <${Tick} form=${form} name="pinned" label="Pin it" hint="It is kept until it is deleted." />
      ${!rest && html`<${Choice} form=${form} name="how" label="Its browser is running" wide options=${HOW} hint=${HOW_HINTS[form.values.how]} />`}</div><//><//>`;
}

function NameDialog({ one, at, list, close }) {
  const app = useApp();
  const form = useForm({ name: one.name });
  const save = async ({ name }) => {
    await app.api.call('PATCH', at, { body: { name: name.trim() || null } });
    close();
    await list.reload();
  };
  const foot = html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy}>${form.busy ? 'Saving…' : 'Save'}</button>`;
  return html`<${Dialog} title="Name this snapshot" lead=${`${REASONS[one.reason] || one.reason}, ${moment(one.createdAt)}`} close=${close}><${Form} form=${form} work=${save} foot=${foot}>
    <div class="fields"><${Text} form=${form} name="name" label="Name" optional wide autofocus placeholder="Signed in" /></div><//><//>`;
}
