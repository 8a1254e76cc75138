// The dialog that clones a profile: its settings, and its data if the person wants them.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Ago, Name, Notice } from '../components.js';
import { Dialog, useTold } from '../dialog.js';
import { count, moment } from '../format.js';
import { Form, number, Text, Tick, useForm } from '../forms.js';
import { href } from '../route.js';

const MOST = 100; // clones of one request

// CloneDialog makes clones of a profile, with the data of a snapshot if one is given.
export function CloneDialog({ profile, snapshot, close }) {
  const app = useApp();
  const path = `/profiles/${encodeURIComponent(profile.id)}`;
  const data = useData(path, profile, snapshot);
  const form = useForm({ name: `${[...profile.name].slice(0, 190).join('')} (copy)`, count: '1', data: false, temporary: false });
  const told = useTold(`${profile.name} was not cloned`);
  const many = number(form.values.count) !== 1;
  const clone = (values) => told(async () => {
    const wanted = snapshot || values.data ? data.body : null;
    const body = { name: values.name, count: number(values.count), ...wanted, ...(values.temporary && { temporary: true }) };
    const answer = await app.api.post(`${path}/clone`, body);
    const made = answer.data || [answer];
    app.toasts.say({
      text: made.length === 1 ? `Created ${made[0].name}` : `Created ${count(made.length, 'profile')}`, tone: 'good',
      more: wanted ? 'With the same settings and data.' : 'With the same settings, and no cookies or data.',
      action: made.length === 1 && { label: 'Show', run: () => app.router.go(href('profiles', undefined, [made[0].id])) },
    });
    close();
  });
  const foot = html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy}>${form.busy ? 'Cloning…' : 'Clone'}</button>`;
  return html`<${Dialog} title=${html`Clone <${Name}>${profile.name}<//>`} lead=${snapshot && html`With the data of ${snapshot.name ? html`“<${Name}>${snapshot.name}<//>”` : `the snapshot of ${moment(snapshot.createdAt)}`}`} close=${close}><${Form} form=${form} work=${clone} foot=${foot}>
    ${profile.proxyMissing && html`<${Notice}><p>Its proxy was deleted. Its clones need another before they start.</p><//>`}
    <div class="fields"><${Text} form=${form} name="name" label="Name" wide autofocus hint=${many && 'Write {n} where the number of each goes. Without it the number follows the name.'} />
      <${Text} form=${form} name="count" label="How many" type="number" min="1" max=${MOST} inputmode="numeric" say=${`Write a number from 1 to ${MOST}.`} />
      ${!snapshot && html`<${Tick} form=${form} name="data" member="withData" label="With logins and data" disabled=${!data.body} hint=${data.hint} />`}
      <${Tick} form=${form} name="temporary" label="Temporary" hint="Each is deleted with its data when its run has ended." /></div><//><//>`;
}

// useData says which data a clone may have: {body, hint}. body are the members that ask for them; null: it has none, and hint says why.
function useData(path, profile, snapshot) {
  const { api } = useApp();
  const [newest, setNewest] = useState(snapshot); // null: there is none
  useEffect(() => {
    if (!snapshot) api.get(`${path}/snapshots`).then(({ data }) => setNewest(data[0] || null), () => setNewest(null));
  }, [path]);
  if (newest === undefined) return { body: null, hint: 'One moment…' };
  if (snapshot) return { body: { snapshotId: snapshot.id } };
  if (profile.status === 'stopped' || profile.status === 'failed') {
    return newest || profile.lastRun
      ? { body: { withData: true }, hint: 'Cookies, history, extensions and saved passwords. Sites see the same user in each clone.' }
      : { body: null, hint: 'It has never run, so it has no data yet.' };
  }
  return newest
    ? { body: { snapshotId: newest.id }, hint: html`Its browser is running, so they are those of its newest snapshot: <${Ago} time=${newest.createdAt} />.` }
    : { body: null, hint: 'Its browser is running, and it has no snapshot yet. Stop it first.' };
}
