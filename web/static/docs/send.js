// Sends a request that a person has filled in, and reads any kind of answer.

const MOST = 200_000; // letters of an answer that are shown

// send sends a request as requestOf makes it. progress gets the answer as it grows, {status, ok, headers, ms, bytes, text, blob, done}.
// The error is fetch's: without an answer, or after signal's abort.
export async function send({ method, url, headers, body }, { key, file, signal, progress }) {
  const began = performance.now();
  const response = await fetch(url, {
    method,
    headers: key ? [...headers, ['Authorization', `Bearer ${key}`]] : headers,
    body: file ?? body ?? undefined,
    signal,
    cache: 'no-store',
    credentials: 'omit',
  });
  const kind = response.headers.get('Content-Type') || '';
  const answer = { status: response.status, ok: response.ok, title: response.statusText, headers: [...response.headers], kind, bytes: 0, text: '', blob: null, done: false };
  const tell = (more) => progress(Object.assign(answer, more, { ms: Math.round(performance.now() - began) }));
  tell({});
  if (kind && !/json|text\//.test(kind)) {
    const blob = await response.blob();
    tell({ blob, bytes: blob.size, done: true });
    return;
  }
  const decoder = new TextDecoder();
  for (const reader = response.body?.getReader(); reader;) {
    const { done, value } = await reader.read();
    if (done) break;
    const more = decoder.decode(value, { stream: true });
    tell({ bytes: answer.bytes + value.length, text: (answer.text + more).slice(0, MOST) });
  }
  tell({ text: pretty(answer), done: true });
}

function pretty({ text, kind, bytes }) {
  if (!/[/+]json/.test(kind) || bytes >= MOST) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// asksFirst reports whether a request deletes, stops or changes the way out of something that may be in use.
export function asksFirst({ method, url, body }) {
  if (method === 'DELETE' || /\/(stop|restart|failback|rotate)$/.test(new URL(url).pathname)) return true;
  return /\/batch$/.test(new URL(url).pathname) && /"(delete|stop|restart|setProxy)"/.test(body || '');
}
