// A record of the audit log: as a sentence, its result, and all that it holds.
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Copy, Name, Status } from '../components.js';
import { Dialog } from '../dialog.js';
import { Facts } from '../drawer.js';
import { moment, number } from '../format.js';
import { activityOf } from '../route.js';
import { problemTitle } from '../words.js';
import { wordsOf } from './audited.js';
import { memberWords } from './names.js';

// FAILED are the codes of answers 5xx: what was asked for was allowed, and did not work.
const FAILED = ['browser_failed', 'browser_not_found', 'database_busy', 'database_damaged', 'disk_full', 'internal', 'no_server', 'node_conflict', 'node_failed', 'page_not_answering', 'proxy_unreachable', 'rotate_failed', 'server_stopping', 'start_timeout'];

// WHY are refusals that read otherwise in a log than in front of a form.
const WHY = { __proto__: null, validation_failed: 'The request had faults', forbidden: 'The key may not do this', duplicate: 'There is one already', quota_exceeded: 'A quota is used up', etag_mismatch: 'It had changed meanwhile', malformed_json: 'The request could not be read', database_busy: 'The database was busy', server_stopping: 'Warren was stopping' };

function whyWords(code) {
  return WHY[code] || problemTitle({ code, title: code.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase()) });
}

// resultOf returns the state of a record: done, refused or failed.
function resultOf({ result }) {
  if (result === 'ok') return { text: 'Done', tone: 'quiet' };
  return { text: FAILED.includes(result) ? 'Failed' : 'Refused', tone: 'bad' };
}

export function Result({ entry }) {
  const why = entry.result === 'ok' ? '' : whyWords(entry.result);
  return html`<span class=${why ? 'two-lines' : 'not-in-card'}><${Status} of=${resultOf(entry)} />${why && html`<span class="sub" title=${why}>${why}</span>`}</span>`;
}

// Who names the key, or the server.
export function Who({ entry: { keyId, keyName, parentId } }) {
  if (keyId === 'environment') return 'The server’s key';
  if (keyId === 'server') return 'Warren';
  if (!keyName) return 'A key that is gone';
  return html`${parentId ? 'The login of' : 'Key'} <${Name}>${parentId ? keyName.replace(/^Page, /, '') : keyName}<//>`;
}

// Sentence says who did what, or could not.
export function Sentence({ entry }) {
  const words = wordsOf(entry.action);
  if (!words) return html`<${Who} entry=${entry} />: <code>${entry.action}</code>`;
  const about = words.about({ ...entry, detail: entry.detail || {} });
  return entry.result === 'ok' ? html`<${Who} entry=${entry} /> ${words.done} ${about}`
    : html`<${Who} entry=${entry} /> ${entry.result === 'forbidden' ? 'was not allowed to' : 'could not'} ${words.verb} ${about}`;
}

// Value shows what a detail holds.
function Value({ of }) {
  if (of === null || of === undefined || of === '') return html`<span class="muted">none</span>`;
  if (typeof of === 'number') return number(of);
  if (typeof of === 'boolean') return of ? 'yes' : 'no';
  if (Array.isArray(of) && of.every((one) => typeof one === 'string')) return of.length ? html`<bdi class="path">${of.join(', ')}</bdi>` : html`<span class="muted">none</span>`;
  return html`<bdi class="path">${typeof of === 'string' ? of : JSON.stringify(of)}</bdi>`;
}

// Changes lists what a change changed, as it was and as it is. Texts and secrets are named without their values.
function Changes({ changed, from = {}, to = {} }) {
  const told = (member) => member in from || member in to;
  return html`<div class="table-box" tabindex="0" role="region" aria-label="What changed"><table class="plain-table"><thead><tr><th scope="col">Changed</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
    <tbody>${changed.map((member) => html`<tr key=${member}><th scope="row">${memberWords(member).replace(/^./, (first) => first.toUpperCase())}</th>${told(member)
      ? html`<td><${Value} of=${from[member]} /></td><td><${Value} of=${to[member]} /></td>` : html`<td class="muted" colspan="2">The value is not recorded, or is the same</td>`}</tr>`)}</tbody></table></div>`;
}

// EntryDialog shows all of a record, and leads to others like it.
export function EntryDialog({ entry, close }) {
  const app = useApp();
  const { changed, from, to, ...detail } = entry.detail || {};
  const members = changed || (from && typeof from === 'object' && to ? Object.keys(to).sort() : null);
  const only = (name, value) => {
    close();
    app.router.go(activityOf(value, name));
  };
  return html`<${Dialog} title=${html`<${Sentence} entry=${entry} />`} about=${entry.id} close=${close}>
    <div class="dialog-content">
      ${members && html`<${Changes} changed=${members} ...${{ from, to }} />`}
      <${Facts} pairs=${[
        ['Result', html`<${Result} entry=${entry} />`],
        ['Time', html`<span class="number">${moment(entry.at)}</span>`],
        ['From', entry.remote && html`<span class="number">${entry.remote}</span>`],
        ['Workspace', entry.workspaceId && html`<bdi>${entry.workspaceId}</bdi>`],
        ['Action', html`<code>${entry.action}</code>`],
        ['Object', entry.objectId && html`<span class="mono path">${entry.objectId}</span>`],
        ['Key', html`<span class="mono path">${entry.keyId}</span>`],
        ['Login of the key', entry.parentId && html`<span class="mono path">${entry.parentId}</span>`],
        ...(members ? [] : [['Before', from != null && html`<${Value} of=${from} />`]]),
        ...Object.entries(detail).map(([name, value]) => [memberWords(name).replace(/^./, (first) => first.toUpperCase()), html`<${Value} of=${value} />`]),
        ['Request', entry.requestId && html`<span class="with-copy"><span class="mono path">${entry.requestId}</span><${Copy} text=${entry.requestId} label="Copy the request’s ID" /></span>`],
        ['Number', html`<span class="number">${number(entry.seq)}</span>`],
      ]} /></div>
    <footer class="dialog-foot">${entry.objectId && html`<button type="button" class="button" onClick=${() => only('objectId', entry.objectId)}>All of this object</button>`}
      <button type="button" class="button" onClick=${() => only('keyId', entry.keyId)}>All of this key</button>
      <button type="button" class="button primary" autofocus onClick=${close}>Close</button></footer>
  <//>`;
}
