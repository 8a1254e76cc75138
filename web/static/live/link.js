// The live view's socket: opens it, reopens it, and holds the last state received. docs/live.md describes the
// messages.
import { Store } from '../store.js';
import { Meter } from './meter.js';

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15_000;
const PING_MS = 5000;
const MAX_UNANSWERED = 2; // after so many pings without any message the connection is dead, as after sleep
const CHUNK = 1 << 20; // bytes of a file per message
const KEPT_DOWNLOADS = 100; // kept and offered, as by the server
const TEXT_CHUNK = 16_384; // characters of a long text per message
const MAX_BUFFERED = 4 << 20; // bytes buffered in the browser before more of a file is read

// ENDED are the close codes after which no retry helps: the viewer's own, and the server's refusal.
const ENDED = [1000, 1008];

// CapabilityAccess opens the socket with a capability from the address.
export class CapabilityAccess {
  constructor(capability, readonly) {
    this.path = `live/${encodeURIComponent(capability)}`;
    this.query = readonly ? '?readonly=1' : '';
  }

  async protocols() {
    return [];
  }

  // probe asks over HTTP why the socket failed, since a WebSocket hides the status from the page.
  async probe() {
    const response = await fetch(this.path, { cache: 'no-store', credentials: 'omit', redirect: 'error' });
    const body = await response.json().catch(() => null);
    return { status: response.status, words: body?.detail || '' };
  }

  download(id) {
    return { href: `${this.path}/downloads/${encodeURIComponent(id)}` };
  }
}

// KeyAccess opens the socket with the page's key, by a ticket, since a socket cannot send the key.
export class KeyAccess {
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

  // download returns a function that fetches a file with the key, which a plain link would not send.
  download(id) {
    return { fetch: async () => (await this.#api.open('GET', `${this.path}/downloads/${encodeURIComponent(id)}`)).blob() };
  }
}

export class LiveLink {
  // connecting, live, lost (a retry follows), over (no retry; `status` has the reason if there was an answer)
  phase = new Store({ name: 'connecting' });
  hello = new Store(null);
  tabs = new Store({ active: '', tabs: [] });
  page = new Store(null);
  control = new Store({ holder: null, you: false, viewers: [], asking: [] });
  script = new Store({ active: false });
  cursor = new Store('default');
  dialog = new Store(null);
  chooser = new Store(null);
  uploads = new Store(new Map()); // bytes that the server has received, by file name
  options = new Store(null);
  downloads = new Store(new Map());
  passkey = new Store(null); // the last permission: {tab, seconds}
  copied = new Store(null); // the last copied text; `asked`: by the button
  window = new Store({ resized: false }); // a viewer has resized the browser's window
  error = new Store(null);
  roundTrip = new Store(null); // milliseconds
  meter = new Meter();
  draw = async () => {}; // shows a frame; set by the stage
  #socket = null;
  #timer = 0;
  #ping = 0;
  #unanswered = 0;
  #wait = FIRST_WAIT_MS;
  #n = 0;
  #pendingAck = null; // the ack of a frame that was drawn while the page was hidden
  #bye = '';
  #ended = false;
  #askedToCopy = false;

  constructor(access) {
    this.access = access;
  }

  begin() {
    const soon = () => document.visibilityState === 'visible' && this.#reconnectSoon();
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
      this.#disconnect();
    };
  }

  // connect tries now. It is also the action of “Try now”.
  async connect() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#disconnect();
    const { name, ...rest } = this.phase.value;
    this.phase.set(name === 'over' ? { name: 'connecting' } : { ...rest, name, at: 0 });
    const turn = {};
    this.#socket = turn; // of two concurrent attempts the later one counts
    let protocols;
    try {
      protocols = await this.access.protocols();
    } catch (problem) {
      if (this.#socket === turn) this.#failed(problem.status, problem.message);
      return;
    }
    if (this.#ended || this.#socket !== turn) return;
    const address = new URL(this.access.path + this.access.query, document.baseURI);
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
      if (typeof data === 'string') this.#receive(data);
      else this.#frame(socket, data);
    };
    socket.onclose = async ({ code, reason }) => {
      if (this.#socket !== socket) return;
      if (ENDED.includes(code)) return this.#over(code, this.#bye || reason);
      if (opened) return this.#lost(this.#bye || reason);
      const { status, words } = await this.access.probe().catch(() => ({ status: 0, words: '' }));
      if (this.#socket === socket) this.#failed(status, words);
    };
  }

  // failed handles a failed attempt. It retries unless the server's refusal is permanent.
  #failed(status, words) {
    if ([401, 403, 404, 409, 410].includes(status)) this.#over(status, words);
    else this.#lost(words);
  }

  #over(status, words) {
    this.#disconnect();
    this.phase.set({ name: 'over', status, words });
  }

  #lost(words) {
    this.#disconnect();
    if (this.#ended) return;
    this.phase.set({ name: 'lost', words, at: Date.now() + this.#wait });
    this.#timer = setTimeout(() => this.connect(), this.#wait);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }

  #reconnectSoon() {
    if (this.#pendingAck?.socket === this.#socket) this.#ack(this.#pendingAck.socket, this.#pendingAck.seq);
    this.#pendingAck = null;
    if (this.#timer) this.connect();
  }

  #disconnect() {
    const socket = this.#socket;
    this.#socket = null;
    if (socket instanceof WebSocket) socket.close();
    for (const asked of [this.dialog, this.chooser, this.options]) asked.set(null);
    this.script.set({ active: false });
    this.control.set({ holder: null, you: false, viewers: [], asking: [] });
    this.window.set({ resized: false });
    this.roundTrip.set(null);
  }

  #receive(text) {
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      return; // ignores invalid messages
    }
    const { type, ...body } = message || {};
    if (Object.hasOwn(HANDLERS, type)) HANDLERS[type](this, body);
  }

  // onHello resets the state: for the server each connection is a new viewer.
  onHello(hello) {
    this.#n = 0;
    this.#wait = FIRST_WAIT_MS;
    this.#bye = '';
    this.meter.reset();
    this.hello.set(hello);
    this.phase.set({ name: 'live' });
    const name = readName();
    if (name) this.send({ type: 'name', name });
  }

  onBye(reason) {
    this.#bye = reason;
  }

  onCopied(text) {
    this.copied.set({ text, asked: this.#askedToCopy });
    this.#askedToCopy = false;
  }

  async #frame(socket, data) {
    let header;
    try {
      const length = new DataView(data).getUint16(0);
      header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 2, length)));
      await this.draw(header, new Blob([new Uint8Array(data, 2 + length)]));
      this.meter.drawn(header.input || 0);
    } catch {
      if (!header) return; // ignores invalid messages
      // An unreadable picture is acknowledged too, since the next one may be readable.
    }
    if (document.hidden) this.#pendingAck = { socket, seq: header.seq }; // nothing is visible: the next frame can wait
    else this.#ack(socket, header.seq);
  }

  #ack(socket, seq) {
    if (this.#socket === socket) this.send({ type: 'ack', seq });
  }

  #sendPing() {
    if (this.phase.value.name !== 'live') return;
    if (this.#unanswered >= MAX_UNANSWERED) return this.#lost('');
    this.#unanswered++;
    this.send({ type: 'ping', t: performance.now() });
  }

  // drives reports whether this viewer's input reaches the browser.
  get drives() {
    return this.phase.value.name === 'live' && this.control.value.you && !this.hello.value?.readonly;
  }

  send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  // input sends numbered input.
  input(message) {
    if (!this.drives) return;
    const n = ++this.#n;
    this.meter.sent(n);
    this.send({ ...message, n });
  }

  // text types a text into the page, as a paste does.
  text(text) {
    const letters = [...text];
    for (let at = 0; at < letters.length; at += TEXT_CHUNK) this.input({ type: 'text', text: letters.slice(at, at + TEXT_CHUNK).join('') });
  }

  // copy asks for the page's selection. The answer is a new value of `copied`.
  copy() {
    this.#askedToCopy = true;
    this.input({ type: 'copy', cut: false });
  }

  // fitWindow gives the browser's window such a size that its page has the given one.
  fitWindow({ width, height }) {
    this.send({ type: 'window', do: 'fit', width: Math.round(width), height: Math.round(height) });
  }

  restoreWindow() {
    this.send({ type: 'window', do: 'restore' });
  }

  name(name) {
    saveName(name);
    this.send({ type: 'name', name });
  }

  // upload sends files to the page's file chooser, chunk by chunk, no faster than the connection takes them.
  async upload(chooser, files) {
    const socket = this.#socket;
    const wanted = () => this.#socket === socket && this.chooser.value?.id === chooser && this.drives; // the server accepts chunks only in this state
    for (const [file, content] of files.entries()) {
      let at = 0;
      do {
        while (wanted() && socket.bufferedAmount > MAX_BUFFERED) await new Promise((go) => { setTimeout(go, 20); });
        const bytes = await content.slice(at, at + CHUNK).arrayBuffer();
        if (!wanted()) return;
        at += bytes.byteLength;
        const header = { chooser, file, files: files.length, name: content.name, size: content.size, last: at >= content.size };
        socket.send(pack(header, bytes));
      } while (at < content.size);
    }
  }
}

// HANDLERS maps each message type to a handler. Without a prototype, unknown types find nothing.
const HANDLERS = {
  __proto__: null,
  hello: (link, body) => link.onHello(body),
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
  download: (link, body) => link.downloads.set(withDownload(link.downloads.value, body)),
  passkey: (link, body) => link.passkey.set(body),
  copied: (link, { text }) => link.onCopied(text),
  uploaded: (link, { name, received }) => link.uploads.set(new Map(link.uploads.value).set(name, received)),
  window: (link, body) => link.window.set(body),
  pong: (link, { t }) => typeof t === 'number' && link.roundTrip.set(performance.now() - t),
  error: (link, body) => link.error.set(body),
  bye: (link, { reason }) => link.onBye(reason),
};

function clear(store, id) {
  if (store.value?.id === id) store.set(null);
}

// withDownload adds or updates a download. Like the server it drops the oldest finished one above the limit.
function withDownload(downloads, one) {
  const all = new Map(downloads);
  const over = all.has(one.id) || all.size < KEPT_DOWNLOADS ? null : [...all.values()].find(({ state }) => state !== 'running');
  if (over) all.delete(over.id);
  return all.set(one.id, one);
}

function pack(header, bytes) {
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
    // Without storage it is kept until the page is left.
  }
}
