// The data of a profile: what its browser downloaded, and how much room it takes.
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { Ago, Name, ProblemBox, Waiting } from '../../components.js';
import { ConfirmDialog } from '../../dialog.js';
import { Facts } from '../../drawer.js';
import { bytes } from '../../format.js';
import { Icon } from '../../icons.js';
import { useStore } from '../../store.js';
import { isOf, saveBlob, useList } from './use.js';

const STATES = { __proto__: null, in_progress: 'Downloading', cancelled: 'Cancelled', interrupted: 'Interrupted' };
const WHY = { __proto__: null, files_quota: 'the profile’s quota for files is used up' };

export function Data({ profile, path }) {
  const list = useList(`${path}/downloads`, { limit: 50 }, (event) => isOf(profile.id, event));
  return html`
    <${Facts} pairs=${[['On disk', profile.diskBytes > 0 ? html`${bytes(profile.diskBytes)}${profile.status === 'running' && html` <span class="muted">before this run</span>`}` : 'Nothing yet']]} />
    <section><div class="section-head"><h3>Downloads</h3><button type="button" class="button small" disabled=${list.busy} onClick=${list.reload}><${Icon} name="reload" />Refresh</button></div>
      <p class="hint">Files of ${profile.status === 'running' ? 'this run' : 'the last run'}. The next start removes them.</p>
      <${ProblemBox} problem=${list.problem} />
      ${!list.rows ? !list.problem && html`<${Waiting} />` : list.rows.length === 0 ? html`<p class="muted">No downloads.</p>`
        : html`<ul class="lines-list">${list.rows.map((file) => html`<${Download} key=${file.id} ...${{ file, path, list }} />`)}</ul>`}
      ${list.next && html`<button type="button" class="button small" disabled=${list.busy} onClick=${list.more}>Show more</button>`}</section>`;
}

function Download({ file, path, list }) {
  const app = useApp();
  const busy = useStore(app.busy).has(file.id);
  const { name, size, totalBytes, state, reason, endedAt, startedAt } = file;
  const at = `${path}/downloads/${encodeURIComponent(name)}`;
  const going = state === 'in_progress';
  const save = () => app.during(file.id, async () => {
    try {
      saveBlob(await (await app.api.open('GET', `api/v1${at}`)).blob(), name);
    } catch (problem) {
      app.fail(`${name} was not saved`, problem);
    }
  });
  const drop = () => app.open(ConfirmDialog, {
    title: going ? 'Cancel this download?' : 'Delete this file?', verb: going ? 'Cancel download' : 'Delete', cancel: 'Keep',
    work: async () => { await app.api.delete(at); await list.reload(); },
    children: html`<p><bdi>${name}</bdi> ${going ? 'is still being downloaded.' : 'is removed now. This cannot be undone.'}</p>`,
  });
  const words = [STATES[state] && `${STATES[state]}${reason ? `: ${WHY[reason] || reason}` : ''}`, going && totalBytes ? `${bytes(size)} of ${bytes(totalBytes)}` : bytes(size)].filter(Boolean).join(' · ');
  return html`<li class="line-item"><span class="two-lines"><span class="title" title=${name}><${Name}>${name}<//></span><span class="sub">${words} · <${Ago} time=${endedAt || startedAt} /></span></span>
    ${state === 'complete' && html`<button type="button" class="button small" disabled=${busy} aria-label=${`Save ${name}`} onClick=${save}><${Icon} name="download" />${busy ? 'Saving…' : 'Save'}</button>`}
    <button type="button" class="icon-button" aria-label=${`${going ? 'Cancel' : 'Delete'} ${name}`} title=${going ? 'Cancel' : 'Delete'} onClick=${drop}><${Icon} name=${going ? 'close' : 'trash'} /></button></li>`;
}
