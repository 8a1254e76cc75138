// The profiles that use a proxy, and their move to another one.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { Name, ProblemBox, Status, Waiting } from '../../components.js';
import { Dialog } from '../../dialog.js';
import { count, number, proxyName } from '../../format.js';
import { Form, useForm } from '../../forms.js';
import { Icon } from '../../icons.js';
import { ProxyField } from '../../proxychoice.js';
import { href } from '../../route.js';
import { PROFILE_STATUS } from '../../words.js';

const LISTED = 50;
const PAGE = 200; // profiles a request

export function Profiles({ proxy }) {
  const app = useApp();
  const [state, setState] = useState({ list: null, problem: null });
  useEffect(() => {
    const read = () => app.api.get('/profiles', { proxyId: proxy.id, sort: 'name', order: 'asc', limit: LISTED, page: 1 }).then((list) => setState({ list, problem: null }), (problem) => setState((before) => ({ ...before, problem })));
    read();
    let planned = 0;
    const unwatch = app.model.event.watch(({ type }) => {
      if (type !== 'everything' && type !== 'events.lost' && !type.startsWith('profile.')) return;
      clearTimeout(planned);
      planned = setTimeout(read, 300);
    });
    return () => {
      clearTimeout(planned);
      unwatch();
    };
  }, [proxy.id, proxy.profileCount]);
  const { list, problem } = state;
  if (problem && !list) return html`<${ProblemBox} problem=${problem} />`;
  if (!list) return html`<${Waiting} />`;
  if (!list.data.length) return html`<p class="muted">No profile uses it.</p>`;
  return html`<div class="drawer-tools"><button type="button" class="button small" onClick=${() => app.open(MoveDialog, { proxy, total: list.total })}><${Icon} name="proxies" />Move to another proxy…</button>
      <a class="button small" href=${href('profiles', new URLSearchParams({ proxyId: proxy.id }))}><${Icon} name="profiles" />Show in the list</a></div>
    <section><h3>${count(list.total, 'profile uses', 'profiles use')} it</h3>
    <ul class="event-list">${list.data.map(({ id, name, status }) => html`<li key=${id}><a class="event-line" href=${href('profiles', undefined, [id])}><span class="event-what one-line"><${Name}>${name}<//></span>
      ${status !== 'stopped' && html`<${Status} of=${PROFILE_STATUS[status] || { text: status, tone: 'quiet' }} />`}</a></li>`)}</ul>
    ${list.hasMore && html`<p class="hint">And ${number(list.total - list.data.length)} more.</p>`}</section>`;
}

// MoveDialog gives all profiles of a proxy another one, or none.
function MoveDialog({ proxy, total, close }) {
  const app = useApp();
  const form = useForm({ proxyId: proxy.id });
  const { proxyId } = form.values;
  const move = async () => {
    const items = await usersOf(app.api, proxy.id);
    app.works.each({
      title: `Moving ${count(items.length, 'profile')}`, items, size: PAGE,
      call: async (part, signal) => (await app.api.post('/profiles/batch', { action: 'setProxy', proxyId: proxyId || null, ids: part.map(({ id }) => id) }, { signal })).results,
    });
    close();
  };
  return html`<${Dialog} title="Move to another proxy" lead=${html`${count(total, 'profile')} of <${Name}>${proxyName(proxy)}<//>`} close=${close}><${Form} form=${form} work=${move} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy || proxyId === proxy.id}>${form.busy ? 'One moment…' : 'Move'}</button>`}>
    <div class="fields"><${ProxyField} form=${form} workspaceId=${proxy.workspaceId} hint=${proxyId ? 'New connections of running browsers use it at once.' : 'The profiles will connect directly, with this computer’s own address.'} /></div><//><//>`;
}

// usersOf reads all profiles of a proxy, as {id, name}.
async function usersOf(api, proxyId) {
  const out = [];
  for (let page = 1; ; page++) {
    const { data, hasMore } = await api.get('/profiles', { proxyId, sort: 'createdAt', order: 'asc', limit: PAGE, page });
    out.push(...data.map(({ id, name }) => ({ id, name })));
    if (!hasMore) return out;
  }
}
