// The filters of the audit log: what was done, what became of it, by which key, to what, and when.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { moment } from '../format.js';
import { FreeFilter } from '../grid/toolbar.js';
import { readKeys } from './allkeys.js';
import { OPTIONS } from './audited.js';
import { AnyName } from './names.js';

const HOUR_MS = 3600 * 1000;
const DAY_MS = 24 * HOUR_MS;
const AGO = [['Last hour', HOUR_MS], ['Last 24 hours', DAY_MS], ['Last 7 days', 7 * DAY_MS], ['Last 30 days', 30 * DAY_MS]];

// BY_ITSELF are the ids of keys that are in no list.
const BY_ITSELF = [['environment', 'The server’s key'], ['server', 'Warren itself']];

// LOG_FILTERS are as Chips takes them. Their names are the list's parameters.
export const LOG_FILTERS = [
  { name: 'action', label: 'What', panel: ActionFilter, text: actionWords },
  { name: 'result', label: 'Result', options: [['ok', 'Done'], ['refused', 'Refused or failed'], ['forbidden', 'Not allowed']] },
  { name: 'keyId', label: 'Key', panel: KeyFilter, text: (id) => html`<${KeyName} id=${id} />` },
  { name: 'objectId', label: 'Object', panel: FreeFilter({ placeholder: 'ID' }), text: (id) => html`<${AnyName} id=${id} />` },
  { name: 'from', label: 'From', panel: SinceFilter, text: (time) => moment(time) || time },
  { name: 'to', label: 'Before', panel: TimeFilter, text: (time) => moment(time) || time },
];

// actionWords names an action, or all of a kind, with the group that it stands in.
function actionWords(action) {
  for (const [group, options] of OPTIONS) {
    const words = options.find(([value]) => value === action)?.[1];
    if (words) return action.endsWith('.*') ? words : `${group}: ${words}`;
  }
  return action;
}

function ActionFilter({ value, choose, label }) {
  return html`<select aria-label=${label} value=${value} onChange=${(event) => choose(event.currentTarget.value)}><option value="">Everything</option>
    ${OPTIONS.map(([group, options]) => html`<optgroup key=${group} label=${group}>${options.map(([action, words]) => html`<option key=${action} value=${action} selected=${action === value}>${words}</option>`)}</optgroup>`)}</select>`;
}

function useAllKeys() {
  const { api } = useApp();
  const [keys, setKeys] = useState([]);
  useEffect(() => {
    readKeys(api).then(setKeys, () => {}); // the id is shown then
  }, []);
  return [...BY_ITSELF, ...keys.map(({ id, name, revokedAt }) => [id, revokedAt ? `${name} (revoked)` : name])];
}

function KeyFilter({ value, choose, label }) {
  const keys = useAllKeys();
  return html`<select aria-label=${label} value=${value} onChange=${(event) => choose(event.currentTarget.value)}><option value="">Every key</option>
    ${keys.map(([id, name]) => html`<option key=${id} value=${id} selected=${id === value}>${name}</option>`)}</select>`;
}

function KeyName({ id }) {
  return useAllKeys().find(([one]) => one === id)?.[1] ?? id;
}

// TimeFilter is a moment of the person's clock.
function TimeFilter({ choose, label }) {
  const apply = (event) => {
    event.preventDefault();
    const at = new Date(new FormData(event.currentTarget).get('value'));
    if (!Number.isNaN(at.getTime())) choose(at.toISOString());
  };
  return html`<form class="filter-free" onSubmit=${apply}><input name="value" type="datetime-local" aria-label=${label} required /><button class="button small" aria-label=${`Apply ${label}`}>Apply</button></form>`;
}

function SinceFilter({ choose, label }) {
  return html`<span class="filter-find"><span class="filter-options" role="group" aria-label=${label}>${AGO.map(([words, ms]) => html`<button type="button" key=${words} class="chip-option" onClick=${() => choose(new Date(Date.now() - ms).toISOString())}>${words}</button>`)}</span>
    <${TimeFilter} ...${{ choose, label }} /></span>`;
}
