// Traffic by day, as the charts of a profile and of a proxy show it.

export const DAYS = 30;
export const PARTS = [{ label: 'Received', tone: 'tone-a' }, { label: 'Sent', tone: 'tone-b' }];
const DAY_MS = 24 * 3600 * 1000;

// firstDay returns the date of the first of the last days, in UTC as the API counts them.
export function firstDay() {
  return new Date(Date.now() - (DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
}

// daysOf returns a point for each of the last days, also for those without traffic.
export function daysOf(data) {
  const known = new Map(data.map((row) => [row.day, row]));
  const format = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  return Array.from({ length: DAYS }, (_, i) => {
    const at = Date.now() - (DAYS - 1 - i) * DAY_MS;
    const row = known.get(new Date(at).toISOString().slice(0, 10));
    return { label: format.format(at), full: format.format(at), values: [row?.bytesDown ?? 0, row?.bytesUp ?? 0] };
  });
}
