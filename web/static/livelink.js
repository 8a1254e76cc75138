// The live view's socket: how it is opened, kept and opened again, and what came over it last. docs/live.md describes the messages.
import { Store } from './store.js';
import { Meter } from './livemeter.js';

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15_000;
const PING_MS = 5000;
const UNANSWERED = 2; // so many pings without a word, and the connection is dead, as after sleep
const CHUNK = 1 << 20; // bytes of a file in one message
const KEPT_DOWNLOADS = 100; // are offered, as by the server
const IN_FLIGHT = 4 << 20; // bytes that wait in the browser before more of a file is read

// ENDED are the closes after which there is no use in trying again: the viewer's own, and the server's no.
const ENDED = [1000, 1008];

// CapabilityWay gets in with what the address carried, and nothing else.
export class CapabilityWay {
  constructor(capability, readonly) {
    this.path = `live/${encodeURIComponent(capability)}`;
    this.query = readonly ? '?readonly=1' : '';
  }

  async protocols() {
    return [];
  }

  // probe asks over HTTP why there is no socket: a WebSocket does not tell a page the server's status.
  async probe() {
    const response = await fetch(this.path, { cache: 'no-store', credentials: 'omit', redirect: 'error' });
    const body = await response.json().catch(() => null);
    return { status: response.status, words: body?.detail || '' };
  }

  download(id) {
    return { href: `${this.path}/downloads/${encodeURIComponent(id)}` };
  }
}

// KeyWay gets in with the page's key: a ticket carries it, since a socket cannot.
export class KeyWay {
  #api;

  constructor(api, profileId, readonly) {
    this.#api = api;
    this.path = `api/v1/profiles/${encodeURIComponent(profileId)}/live`;
    this.query = readonly ? '?readonly=1' : '';
  }

  async protocols() {
    const { ticket } = await this.#api.post('/tickets', { path: `/${this.path}` });
    return [`warren.ticket.${ticket}`];
  }

  async probe() {
    try {
      await this.#api.open('GET', this.path);
      return { status: 200, words: '' };
    } catch (problem) {
      return { status: problem.status, words: problem.message };
    }
  }

  // download gives what fetches a file: a plain link would come without the key.
  download(id) {
    return { fetch: async () => (await this.#api.open('GET', `${this.path}/downloads/${encodeURIComponent(id)}`)).blob() };
  }
}

export class LiveLink {
  // connecting, live, lost (another try comes by itself), over (none comes; `status` says why where there was an answer)
  phase = new Store({ name: 'connecting' });
  hello = new Store(null);
  tabs = new Store({ active: '', tabs: [] });
  page = new Store(null);
  control = new Store({ holder: null, you: false, viewers: [], asking: [] });
  script = new Store({ active: false });
  cursor = new Store('default');
  dialog = new Store(null);
  chooser = new Store(null);
  uploads = new Store(new Map()); // bytes that the server has, by file name
  options = new Store(null);
  downloads = new Store(new Map());
  copied = new Store(null);
  error = new Store(null);
  roundTrip = new Store(null); // milliseconds
  meter = new Meter();
  draw = async () => {}; // what shows a frame, set by the stage
  #socket = null;
  #timer = 0;
  #ping = 0;
  #unanswered = 0;
  #wait = FIRST_WAIT_MS;
  #n = 0;
  #owed = null; // the ack of a picture that nobody looks at
  #bye = '';
  #ended = false;

  constructor(way) {
    this.way = way;
  }

  begin() {
    const soon = () => document.visibilityState === 'visible' && this.#soon();
    addEventListener('online', soon);
    document.addEventListener('visibilitychange', soon);
    this.#ping = setInterval(() => this.#sendPing(), PING_MS);
    this.meter.begin();
    this.connect();
    return () => {
      this.#ended = true;
      removeEventListener('online', soon);
      document.removeEventListener('visibilitychange', soon);
      clearInterval(this.#ping);
      clearTimeout(this.#timer);
      this.meter.end();
      this.#drop();
    };
  }

  // connect tries now. It is also what a person's “Try again” does.
  async connect() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#drop();
    const { name, ...rest } = this.phase.value;
    this.phase.set(name === 'over' ? { name: 'connecting' } : { ...rest, name, at: 0 });
    const turn = {};
    this.#socket = turn; // two tries at once: the later one counts
    let protocols;
    try {
      protocols = await this.way.protocols();
    } catch (problem) {
      if (this.#socket === turn) this.#failed(problem.status, problem.message);
      return;
    }
    if (this.#ended || this.#socket !== turn) return;
    const address = new URL(this.way.path + this.way.query, document.baseURI);
    address.protocol = address.protocol.replace('http', 'ws');
    this.#listen(new WebSocket(address, ['warren.live', ...protocols]));
  }

  #listen(socket) {
    let opened = false;
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => { opened = true; };
    socket.onmessage = ({ data }) => {
      if (this.#socket !== socket) return;
      this.#unanswered = 0;
      if (typeof data === 'string') this.#heard(data);
      else this.#frame(socket, data);
    };
    socket.onclose = async ({ code, reason }) => {
      if (this.#socket !== socket) return;
      if (ENDED.includes(code)) return this.#over(code, this.#bye || reason);
      if (opened) return this.#lost(this.#bye || reason);
      const { status, words } = await this.way.probe().catch(() => ({ status: 0, words: '' }));
      if (this.#socket === socket) this.#failed(status, words);
    };
  }

  // failed takes the answer to a try that came to nothing. What the server refuses for good is not asked again.
  #failed(status, words) {
    if ([401, 403, 404, 409, 410].includes(status)) this.#over(status, words);
    else this.#lost(words);
  }

  #over(status, words) {
    this.#drop();
    this.phase.set({ name: 'over', status, words });
  }

  #lost(words) {
    this.#drop();
    if (this.#ended) return;
    this.phase.set({ name: 'lost', words, at: Date.now() + this.#wait });
    this.#timer = setTimeout(() => this.connect(), this.#wait);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }

  #soon() {
    if (this.#owed?.socket === this.#socket) this.#ack(this.#owed.socket, this.#owed.seq);
    this.#owed = null;
    if (this.#timer) this.connect();
  }

  #drop() {
    const socket = this.#socket;
    this.#socket = null;
    if (socket instanceof WebSocket) socket.close();
    for (const asked of [this.dialog, this.chooser, this.options]) asked.set(null);
    this.script.set({ active: false });
    this.control.set({ holder: null, you: false, viewers: [], asking: [] });
    this.roundTrip.set(null);
  }

  #heard(text) {
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      return; // not one of ours
    }
    const { type, ...body } = message || {};
    if (Object.hasOwn(HEARD, type)) HEARD[type](this, body);
  }

  // greeted begins anew: to the server this is another viewer.
  greeted(hello) {
    this.#n = 0;
    this.#wait = FIRST_WAIT_MS;
    this.#bye = '';
    this.meter.forget();
    this.hello.set(hello);
    this.phase.set({ name: 'live' });
    const name = readName();
    if (name) this.send({ type: 'name', name });
  }

  said(reason) {
    this.#bye = reason;
  }

  async #frame(socket, data) {
    let header;
    try {
      const length = new DataView(data).getUint16(0);
      header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 2, length)));
      await this.draw(header, new Blob([new Uint8Array(data, 2 + length)]));
      this.meter.drawn(header.input || 0);
    } catch {
      if (!header) return; // not one of ours
      // A picture that cannot be read is acknowledged all the same: the next one may be better.
    }
    if (document.hidden) this.#owed = { socket, seq: header.seq }; // nobody looks: the next one can wait
    else this.#ack(socket, header.seq);
  }

  #ack(socket, seq) {
    if (this.#socket === socket) this.send({ type: 'ack', seq });
  }

  #sendPing() {
    if (this.phase.value.name !== 'live') return;
    if (this.#unanswered >= UNANSWERED) return this.#lost('');
    this.#unanswered++;
    this.send({ type: 'ping', t: performance.now() });
  }

  // drives says whether what this viewer does reaches the browser.
  get drives() {
    return this.phase.value.name === 'live' && this.control.value.you && !this.hello.value?.readonly;
  }

  send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  // input sends what a hand did, with its number.
  input(message) {
    if (!this.drives) return;
    const n = ++this.#n;
    this.meter.sent(n);
    this.send({ ...message, n });
  }

  name(name) {
    saveName(name);
    this.send({ type: 'name', name });
  }

  // upload sends files to a page that wants them, piece by piece, no faster than they go out.
  async upload(chooser, files) {
    const socket = this.#socket;
    const wanted = () => this.#socket === socket && this.chooser.value?.id === chooser && this.drives; // the server takes no other piece of it
    for (const [file, content] of files.entries()) {
      let at = 0;
      do {
        while (wanted() && socket.bufferedAmount > IN_FLIGHT) await new Promise((go) => { setTimeout(go, 20); });
        const bytes = await content.slice(at, at + CHUNK).arrayBuffer();
        if (!wanted()) return;
        at += bytes.byteLength;
        const header = { chooser, file, files: files.length, name: content.name, size: content.size, last: at >= content.size };
        socket.send(packed(header, bytes));
      } while (at < content.size);
    }
  }
}

// HEARD has for each message what it changes. The table has no prototype: what the server sends is looked up in it as it is.
const HEARD = {
  __proto__: null,
  hello: (link, body) => link.greeted(body),
  tabs: (link, body) => link.tabs.set(body),
  page: (link, body) => link.page.set(body),
  control: (link, body) => link.control.set({ asking: [], viewers: [], ...body }),
  script: (link, body) => link.script.set({ ...body, at: performance.now() }),
  cursor: (link, { cursor }) => link.cursor.set(cursor),
  dialog: (link, body) => link.dialog.set(body),
  dialogClosed: (link, { id }) => clear(link.dialog, id),
  chooser: (link, body) => { link.uploads.set(new Map()); link.chooser.set(body); },
  chooserClosed: (link, { id }) => clear(link.chooser, id),
  options: (link, body) => link.options.set(body),
  optionsClosed: (link, { id }) => clear(link.options, id),
  download: (link, body) => link.downloads.set(kept(link.downloads.value, body)),
  copied: (link, { text }) => link.copied.set({ text }),
  uploaded: (link, { name, received }) => link.uploads.set(new Map(link.uploads.value).set(name, received)),
  pong: (link, { t }) => typeof t === 'number' && link.roundTrip.set(performance.now() - t),
  error: (link, body) => link.error.set(body),
  bye: (link, { reason }) => link.said(reason),
};

function clear(store, id) {
  if (store.value?.id === id) store.set(null);
}

// kept is the downloads with one that is new or goes on. As on the server the oldest that is over goes where there are many.
function kept(downloads, one) {
  const all = new Map(downloads);
  const over = all.has(one.id) || all.size < KEPT_DOWNLOADS ? null : [...all.values()].find(({ state }) => state !== 'running');
  if (over) all.delete(over.id);
  return all.set(one.id, one);
}

function packed(header, bytes) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const whole = new Uint8Array(2 + text.length + bytes.byteLength);
  new DataView(whole.buffer).setUint16(0, text.length);
  whole.set(text, 2);
  whole.set(new Uint8Array(bytes), 2 + text.length);
  return whole;
}

const NAME = 'warren.live.name';

export function readName() {
  try {
    return localStorage.getItem(NAME) || '';
  } catch {
    return '';
  }
}

function saveName(name) {
  try {
    localStorage.setItem(NAME, name);
  } catch {
    // Until the page is left.
  }
}
