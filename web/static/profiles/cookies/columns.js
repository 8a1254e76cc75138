// The columns of cookies, and their cells.
import { html } from '../../html.js';
import { useNow } from '../../app-context.js';
import { span } from '../../format.js';
import { bare } from './jar.js';

// cookieColumns returns the columns; open is called with a row whose name was clicked.
export function cookieColumns(open) {
  return [
    { id: 'domain', label: 'Domain', min: 150, grow: 2, sort: 'domain', first: 'asc', rank: 1, card: true, draw: ({ cookie }) => html`<${Domain} cookie=${cookie} />` },
    { id: 'name', label: 'Name', min: 150, grow: 2, sort: 'name', first: 'asc', always: true, draw: (row) => html`<button type="button" class="link title" title=${row.name} onClick=${() => open(row)}><bdi class="name">${row.name || '(no name)'}</bdi></button>` },
    { id: 'value', label: 'Value', min: 130, grow: 3, rank: 3, card: true, draw: (row) => html`<${Value} row=${row} />` },
    { id: 'expires', label: 'Expires', width: 112, sort: 'expires', first: 'asc', rank: 2, card: true, draw: ({ cookie }) => html`<${Expires} cookie=${cookie} />` },
    { id: 'flags', label: 'Flags', width: 252, rank: 4, card: true, draw: ({ cookie }) => html`<${Flags} cookie=${cookie} />` },
  ];
}

function Domain({ cookie: { domain, path } }) {
  const host = html`<bdi class="one-line" title=${domain}>${bare(domain)}</bdi>`;
  return path === '/' ? host : html`<span class="two-lines">${host}<span class="sub not-in-card" title=${path}><bdi>${path}</bdi></span></span>`;
}

// Value shows a value that the person has asked for.
function Value({ row: { cookie: { value }, shown } }) {
  if (!shown) return html`<span class="muted not-in-card"><span aria-hidden="true">••••••••</span><span class="visually-hidden">hidden</span></span>`;
  return value ? html`<bdi class="mono one-line" title=${value}>${value}</bdi>` : html`<span class="muted">empty</span>`;
}

function Expires({ cookie: { session, expires } }) {
  const now = useNow();
  if (session) return html`<span class="muted" title="It ends with the session: when the browser closes, unless tabs are restored">Session</span>`;
  const left = expires * 1000 - now;
  return html`<time class="number" datetime=${new Date(expires * 1000).toISOString()} title=${new Date(expires * 1000).toLocaleString()}>${left > 0 ? `in ${rough(left)}` : 'just now'}</time>`;
}

const DAY = 86_400_000;

// rough formats a duration by its largest unit.
function rough(ms) {
  if (ms < DAY) return span(ms).replace(/ \d+ min$/, '');
  const days = Math.round(ms / DAY);
  return days === 1 ? '1 day' : `${days} days`;
}

// flagsOf returns [words, explanation] of what is special about a cookie.
export function flagsOf({ domain, secure, httpOnly, sameSite, partitionKey, partitionKeyOpaque, portable }) {
  return [
    portable === 'suspect' && ['Device-bound?', 'Probably bound to this device: it may not work elsewhere', 'is-wait'],
    secure && ['Secure', 'Sent over HTTPS alone'],
    httpOnly && ['HttpOnly', 'Scripts of pages do not see it'],
    sameSite && [sameSite === 'None' ? 'SameSite None' : sameSite, `SameSite=${sameSite}`],
    !domain.startsWith('.') && ['Host only', 'Not sent to subdomains'],
    partitionKey && ['Partitioned', `Only within pages of ${partitionKey.topLevelSite}`],
    partitionKeyOpaque && ['Opaque', 'In an opaque partition, which ends with its page. It cannot be changed'],
  ].filter(Boolean);
}

function Flags({ cookie }) {
  return html`<span class="flags">${flagsOf(cookie).map(([words, why, kind = 'is-quiet']) => html`<span key=${words} class=${`mark ${kind}`} title=${why}>${words}</span>`)}</span>`;
}
