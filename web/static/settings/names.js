// Names of what records and events are about. A record has an id; the name is read once.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Name } from '../components.js';
import { proxyName } from '../format.js';
import { FIELDS } from '../profiles/form/values.js';
import { useProxy } from '../proxycache.js';

// ProxyName names a proxy, at the beginning of a sentence with a capital. `was` is its name when it is gone.
export function ProxyName({ id, begin, was }) {
  const proxy = useProxy(id);
  const kind = begin ? 'Proxy' : 'proxy';
  if (proxy) return html`${kind} <a href=${`#/proxies/${encodeURIComponent(id)}`}><${Name}>${proxyName(proxy)}<//></a>`;
  if (was) return html`${kind} <${Name}>${was}<//>`;
  const words = proxy === null ? 'a proxy that is deleted' : 'a proxy';
  return begin ? words.replace('a', 'A') : words;
}

// PLACES are where objects are read by their ids: {path, words, member, link}.
const PLACES = {
  __proto__: null,
  profile: { path: '/profiles', words: 'profile', link: (id) => `#/profiles/${encodeURIComponent(id)}` },
  template: { path: '/templates', words: 'template' },
  schedule: { path: '/schedules', words: 'schedule' },
  webhook: { path: '/webhooks', words: 'webhook', member: 'url', link: (id) => `#/settings/webhooks/${encodeURIComponent(id)}` },
};

const names = new WeakMap(); // of the API → Map of {name, read} by path; name is null for what is gone

// useNameOf reads the name of an object once: undefined until it is known, null when there is none.
function useNameOf(path, member = 'name') {
  const { api } = useApp();
  if (!names.has(api)) names.set(api, new Map());
  const known = names.get(api);
  const [, draw] = useState(0);
  useEffect(() => {
    if (!path) return undefined;
    if (!known.has(path)) {
      const one = { name: undefined };
      one.read = api.get(path).then((object) => object[member], () => null).then((name) => { one.name = name ?? null; });
      known.set(path, one);
    }
    let shown = known.get(path).name === undefined;
    if (shown) known.get(path).read.then(() => shown && draw((n) => n + 1));
    return () => { shown = false; };
  }, [path]);
  return path ? known.get(path)?.name : null;
}

// ObjectName names an object of a kind of PLACES, with an article and the kind in front if there is an article. `was` is its name when it is gone.
export function ObjectName({ kind, id, begin, was, article }) {
  const { path, words, member, link } = PLACES[kind];
  const name = useNameOf(id && `${path}/${encodeURIComponent(id)}`, member);
  const before = article && `${article} ${words} `;
  if (name) return link ? html`${before}<a href=${link(id)}><${Name}>${name}<//></a>` : html`${before}<${Name}>${name}<//>`;
  if (was) return html`${before}<${Name}>${was}<//>`;
  const unnamed = name === null && id ? `a ${words} (deleted)` : `a ${words}`;
  return begin ? unnamed.replace('a', 'A') : unnamed;
}

export function ProfileName(props) {
  return html`<${ObjectName} kind="profile" ...${props} />`;
}

// AnyName names a proxy or a profile by its id, or shows the id of anything else.
export function AnyName({ id }) {
  const proxy = useProxy(id);
  const name = useNameOf(proxy === null && `/profiles/${encodeURIComponent(id)}`);
  return proxy ? proxyName(proxy) : name || id;
}

// CHANGES are members that are no field of the profile's form, or have a shorter name here.
const CHANGES = { __proto__: null, proxyId: 'proxy', os: 'system', fallbackProxyIds: 'fallbacks', browserVersion: 'browser version', enabled: 'on or off', events: 'events', url: 'address', cron: 'time', timeZone: 'time zone', everyMs: 'interval', action: 'what it does', catchUp: 'missed runs', profileIds: 'profiles', proxyIds: 'proxies', username: 'user name', password: 'password', rotateUrl: 'rotation address', limits: 'limits', keepOldMs: 'how long the old secret signs' };

// memberWords names a member of an object.
export function memberWords(member) {
  const label = CHANGES[member] || FIELDS.find(({ names: [first] }) => first === member)?.label || member;
  return /^(?:WebRTC|Chrome|[A-Z]{2})/.test(label) ? label : label.replace(/^./, (first) => first.toLowerCase());
}

export function changedWords(changed) {
  const words = (changed || []).map(memberWords);
  return words.length ? `: ${words.join(', ')}` : '';
}
