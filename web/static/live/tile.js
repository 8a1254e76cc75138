// A small live picture of a run, for a wall of them. It costs a socket, and nothing more while its page does not change: nothing is
// polled. It gets at most one picture a second. Out of view or in a hidden tab it has no socket, and keeps its last picture.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { viewOf } from '../preview.js';
import { KeyAccess } from './link.js';

const PERIOD_MS = 1000; // between two pictures
const AWAY_MS = 1000; // out of view for less, as while scrolling, a tile keeps its socket
const FIRST_WAIT_MS = 2000;
const LONGEST_WAIT_MS = 60_000;

// TileSocket receives a run's pictures, and reconnects until it is ended.
class TileSocket {
  #access;
  #size;
  #draw;
  #socket = null;
  #timer = 0; // until the next acknowledgement, or the next attempt
  #wait = FIRST_WAIT_MS;
  #ended = false;

  // size is the largest useful picture, in device pixels. draw shows a picture, given as a blob.
  constructor(access, size, draw) {
    this.#access = access;
    this.#size = size;
    this.#draw = draw;
  }

  begin() {
    this.#connect();
    return () => {
      this.#ended = true;
      clearTimeout(this.#timer);
      this.#socket?.close();
    };
  }

  async #connect() {
    const protocols = await this.#access.protocols().catch(() => null);
    if (this.#ended) return;
    if (!protocols) {
      this.#again();
      return;
    }
    const address = new URL(`${this.#access.path}?tile=1`, document.baseURI);
    address.protocol = address.protocol.replace('http', 'ws');
    const socket = new WebSocket(address, ['warren.live', ...protocols]);
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      this.#wait = FIRST_WAIT_MS;
      socket.send(JSON.stringify({ type: 'size', ...this.#size }));
    };
    socket.onmessage = ({ data }) => typeof data !== 'string' && this.#frame(socket, data);
    socket.onclose = () => this.#again();
  }

  #again() {
    if (this.#ended) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), this.#wait);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }

  // frame draws a picture, and asks for the next one a while later.
  async #frame(socket, data) {
    let seq;
    try {
      const length = new DataView(data).getUint16(0);
      ({ seq } = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 2, length))));
      await this.#draw(new Blob([new Uint8Array(data, 2 + length)]));
    } catch {
      if (!seq) return; // ignores invalid messages
    }
    if (this.#ended || socket.readyState !== WebSocket.OPEN) return;
    this.#timer = setTimeout(() => socket.send(JSON.stringify({ type: 'ack', seq })), PERIOD_MS);
  }
}

// watchTile draws a profile's run on a canvas while that is in view, until the returned function is called. drawn is called after each
// picture.
export function watchTile(api, profileId, canvas, drawn = () => {}) {
  let end = null;
  let timer = 0;
  let seen = false;
  const draw = async (blob) => {
    const bitmap = await createImageBitmap(blob);
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
    canvas.getContext('2d', { alpha: false }).drawImage(bitmap, 0, 0);
    bitmap.close();
    drawn();
  };
  const changed = () => {
    clearTimeout(timer);
    if (seen && !document.hidden) end ||= new TileSocket(new KeyAccess(api, profileId, false), sizeOf(canvas), draw).begin();
    else timer = setTimeout(leave, AWAY_MS);
  };
  const leave = () => {
    end?.();
    end = null;
  };
  const observer = new IntersectionObserver((entries) => {
    seen = entries.at(-1).isIntersecting;
    changed();
  });
  observer.observe(canvas.parentElement);
  document.addEventListener('visibilitychange', changed);
  return () => {
    observer.disconnect();
    document.removeEventListener('visibilitychange', changed);
    clearTimeout(timer);
    leave();
  };
}

function sizeOf(canvas) {
  const { clientWidth, clientHeight } = canvas.parentElement;
  return { width: Math.max(1, Math.round(clientWidth * devicePixelRatio)), height: Math.max(1, Math.round(clientHeight * devicePixelRatio)) };
}

// Tile is a running profile's picture, linked to its live view.
export function Tile({ profile }) {
  const { api } = useApp();
  const canvas = useRef(null);
  const [drawn, setDrawn] = useState(false);
  const { id, name, run } = profile;
  useEffect(() => {
    setDrawn(false);
    return watchTile(api, id, canvas.current, () => setDrawn(true));
  }, [api, id, run?.runId]);
  return html`<a class=${drawn ? 'tile' : 'tile is-empty'} href=${viewOf(id)} aria-label=${`View ${name}`} title="View"><canvas ref=${canvas}></canvas></a>`;
}
