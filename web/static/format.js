// Formats times, durations and sizes.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function span(ms) {
  if (ms < 1) return '< 1 ms';
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return two(ms, HOUR, 'h', MINUTE, 'min');
  return two(ms, DAY, 'd', HOUR, 'h');
}

function two(ms, big, bigName, small, smallName) {
  const rest = Math.floor((ms % big) / small);
  return `${Math.floor(ms / big)} ${bigName}${rest ? ` ${rest} ${smallName}` : ''}`;
}

// ago formats how long ago a moment of the server's clock was. Clocks differ slightly, so the near future is now.
export function ago(time, now) {
  const past = now - Date.parse(time);
  if (Number.isNaN(past)) return '';
  if (past < MINUTE) return 'just now';
  if (past < HOUR) return `${Math.floor(past / MINUTE)} min ago`;
  if (past < DAY) return `${Math.floor(past / HOUR)} h ago`;
  if (past < 2 * DAY) return 'yesterday';
  if (past < 30 * DAY) return `${Math.floor(past / DAY)} days ago`;
  return new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' }).format(Date.parse(time));
}

export function moment(time) {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return '';
  return new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' }).format(at);
}

// soon formats a moment within the next year, short enough for a column.
export function soon(time) {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return '';
  return new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' }).format(at);
}

// lasting formats a duration up to now.
export function lasting(time, now) {
  const past = now - Date.parse(time);
  if (Number.isNaN(past)) return '';
  return past < MINUTE ? 'just started' : span(past);
}

// since formats the time of day, with the date unless it is today.
export function since(time, now) {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return '';
  const today = new Date(at).toDateString() === new Date(now).toDateString();
  return new Intl.DateTimeFormat(undefined, today ? { timeStyle: 'short' } : { dateStyle: 'medium' }).format(at);
}

// number formats a number; atLeast says that the list was counted no further.
export function number(n, atLeast = false) {
  return `${new Intl.NumberFormat('en').format(n)}${atLeast ? '+' : ''}`;
}

// keptFor says how long the server keeps deleted profiles; summary is what GET /summary answered, or null.
export function keptFor(summary) {
  return summary?.trashDays > 0 ? ` for ${count(summary.trashDays, 'day')}` : '';
}

export function count(n, one, many = `${one}s`) {
  return `${number(n)} ${n === 1 ? one : many}`;
}

// bytes formats a size in decimal units.
export function bytes(n) {
  if (n < 1000) return `${n} B`;
  const step = Math.min(4, Math.floor(Math.log10(n) / 3));
  const size = n / 1000 ** step;
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${['', 'kB', 'MB', 'GB', 'TB'][step]}`;
}

// sentence capitalises a text and adds a full stop.
export function sentence(text) {
  return text.replace(/^./, (first) => first.toUpperCase()).replace(/[^.!?]$/, '$&.');
}

// address joins host and port, with IPv6 in brackets.
export function address(host, port) {
  return host?.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export function proxyName(proxy) {
  return proxy.name || address(proxy.host, proxy.port);
}
