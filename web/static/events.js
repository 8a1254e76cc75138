// Reads the server's events with fetch, since EventSource cannot send a key.

const ADDRESS = 'api/v1/events';
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
// The server sends something at least this often. A connection that is silent for longer is dead, as after sleep.
const SILENCE_MS = 60_000;

// Parser parses a text/event-stream as the HTML standard defines it.
export class Parser {
  #rest = '';
  #event = blank();
  #emit;
  lastId = '';

  constructor(emit) {
    this.#emit = emit;
  }

  push(text) {
    this.#rest += text;
    // A carriage return at the very end may be the first half of a line end.
    const lines = this.#rest.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    for (const line of lines) this.#line(line);
  }

  #line(line) {
    if (line === '') return this.#done();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined; // a comment keeps the connection alive
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.#event.data.push(value);
    if (name === 'event') this.#event.type = value;
    if (name === 'id' && !value.includes('\0')) this.lastId = value;
    return undefined;
  }

  #done() {
    const { type, data } = this.#event;
    this.#event = blank();
    if (data.length) this.#emit({ type, text: data.join('\n') });
  }
}

function blank() {
  return { type: 'message', data: [] };
}

// follow reads events until the signal aborts, and reconnects when the connection ends. It calls state with "live",
// with "lost" when the connection ends, and with "again" after a reconnect, when missed changes must be read. "off"
// means that this key gets no events.
export async function follow(api, { signal, event, state }) {
  const parser = { lastId: '' };
  let wait = FIRST_WAIT_MS;
  let before = false;
  while (!signal.aborted) {
    try {
      await read(api, parser, signal, event, () => {
        state(before ? 'again' : 'live');
        before = true;
        wait = FIRST_WAIT_MS;
      });
    } catch (error) {
      if (signal.aborted) return;
      if ([401, 403, 404].includes(error.status)) {
        state('off');
        return;
      }
      state('lost');
    }
    await pause(wait * (0.75 + Math.random() / 2), signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

async function read(api, previous, signal, event, opened) {
  const connection = new AbortController();
  const stop = () => connection.abort();
  signal.addEventListener('abort', stop);
  let watchdog = setTimeout(stop, SILENCE_MS);
  try {
    const headers = { Accept: 'text/event-stream' };
    if (previous.lastId) headers['Last-Event-ID'] = previous.lastId;
    const response = await api.open('GET', ADDRESS, { headers, signal: connection.signal });
    opened();
    const parser = new Parser(({ type, text }) => deliver(type, text, event));
    parser.lastId = previous.lastId;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(watchdog);
      watchdog = setTimeout(stop, SILENCE_MS);
      parser.push(value);
      previous.lastId = parser.lastId;
    }
  } finally {
    clearTimeout(watchdog);
    signal.removeEventListener('abort', stop);
  }
}

function deliver(type, text, event) {
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    return; // ignores other messages
  }
  event({ ...body, type: body.type || type });
}

// pause waits. It ends early when the network is back or the tab becomes visible.
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    const visible = () => document.visibilityState === 'visible' && done();
    function done() {
      clearTimeout(timer);
      removeEventListener('online', done);
      document.removeEventListener('visibilitychange', visible);
      signal.removeEventListener('abort', done);
      resolve();
    }
    addEventListener('online', done);
    document.addEventListener('visibilitychange', visible);
    signal.addEventListener('abort', done);
  });
}
