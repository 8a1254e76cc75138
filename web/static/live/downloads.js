// The browser's downloads: those under way beside the picture, and the run's list for a logged-in person.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { bytes } from '../format.js';
import { Icon } from '../icons.js';
import { useStore } from '../store.js';

const REVOKE_MS = 60_000;

// save gives a file to this device.
export function save(blob, name) {
  const a = document.createElement('a');
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), REVOKE_MS);
}

// Transfers offers the downloads that the socket tells of.
export function Transfers({ link, toasts }) {
  const downloads = useStore(link.downloads);
  const [closed, setClosed] = useState(() => new Set());
  const shown = [...downloads.values()].filter((download) => !closed.has(download.id));
  if (!shown.length) return null;
  return html`<ul class="transfers downloads" aria-label="Downloads">${shown.map((download) => html`<li key=${download.id}>
    <bdi class="transfer-name" title=${download.url}>${download.name}</bdi>
    <${TransferState} ...${{ link, download, toasts }} />
    ${download.state !== 'running' && html`<button type="button" class="icon-button" aria-label=${`Forget ${download.name}`} onClick=${() => setClosed(new Set(closed).add(download.id))}><${Icon} name="close" /></button>`}
  </li>`)}</ul>`;
}

function TransferState({ link, download, toasts }) {
  const { id, name, state, received = 0, total = 0 } = download;
  if (state === 'running') {
    return html`<span class="muted number">${bytes(received)}${total > 0 ? ` of ${bytes(total)}` : ''}</span>
      <progress max=${total > 0 ? total : undefined} value=${total > 0 ? received : undefined} aria-label=${name}></progress>`;
  }
  if (state !== 'done') return html`<span class="bad-text">Failed</span>`;
  const access = link.access.download(id);
  if (access.href) return html`<a class="button small" href=${access.href} download=${name} aria-label=${`Save ${name}`}><${Icon} name="download" />Save</a>`;
  return html`<${SaveButton} name=${name} fetchIt=${access.fetch} toasts=${toasts} />`;
}

// SaveButton fetches a file with the key, which a plain link would not send, and saves it.
function SaveButton({ name, fetchIt, toasts }) {
  const [busy, setBusy] = useState(false);
  const work = async () => {
    setBusy(true);
    try {
      save(await fetchIt(), name);
    } catch (problem) {
      toasts.say({ text: `${name} was not saved.`, more: problem.message, tone: 'bad' });
    }
    setBusy(false);
  };
  return html`<button type="button" class="button small" disabled=${busy} aria-label=${`Save ${name}`} onClick=${work}><${Icon} name="download" />${busy ? 'One moment…' : 'Save'}</button>`;
}

const STATES = { __proto__: null, in_progress: 'Under way', cancelled: 'Cancelled', interrupted: 'Broken off' };

// DownloadList is a panel with all downloads of the run, newest first. It reads them when it is opened, and when the socket tells of one.
export function DownloadList({ id, link, owner, toasts }) {
  const told = useStore(link.downloads);
  const [open, setOpen] = useState(false);
  const [list, setList] = useState(null);
  const [problem, setProblem] = useState(null);
  const panel = useRef(null);
  const ended = [...told.values()].filter(({ state }) => state !== 'running').length;
  useEffect(() => {
    let wanted = open;
    if (open) owner.downloads().then((all) => { if (wanted) { setList(all); setProblem(null); } }, (error) => wanted && setProblem(error));
    return () => { wanted = false; };
  }, [open, told.size, ended]);
  return html`<div id=${id} ref=${panel} class="menu live-panel" popover="auto" role="dialog" aria-label="Downloads of this run" tabindex="-1"
    onToggle=${(event) => { setOpen(event.newState === 'open'); if (event.newState === 'open') panel.current.focus(); }}>
    <h2>Downloads of this run</h2>
    ${problem && html`<p class="bad-text" role="alert">${problem.message}</p>`}
    ${list?.length === 0 && html`<p class="muted">Nothing was downloaded.</p>`}
    ${list?.length > 0 && html`<ul class="transfers">${list.map((one) => html`<li key=${one.id}>
      <bdi class="transfer-name" title=${one.url}>${one.name}</bdi>
      <span class="muted number">${sizeOf(one)}</span>
      ${one.state === 'complete'
        ? html`<${SaveButton} name=${one.name} fetchIt=${() => owner.download(one.name)} toasts=${toasts} />`
        : html`<span class=${one.state === 'in_progress' ? 'muted' : 'bad-text'}>${STATES[one.state] || one.state}</span>`}
    </li>`)}</ul>`}
  </div>`;
}

function sizeOf({ size, totalBytes, state }) {
  return state === 'in_progress' && totalBytes ? `${bytes(size)} of ${bytes(totalBytes)}` : bytes(size);
}
