// The stage: the page's picture in the available room, and the input handlers on it.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { Store, useStore } from '../store.js';
import { Keyboard } from './keyboard.js';
import { Mouse, Touch } from './pointer.js';

const RESIZED_MS = 150;
const SCRIPT_MS = 1500; // how long a script's pointer is shown after a move

// CURSORS are the CSS cursor keywords, without images. Other values are not used as a style.
const CURSORS = new Set(['default', 'none', 'context-menu', 'help', 'pointer', 'progress', 'wait', 'cell', 'crosshair', 'text', 'vertical-text', 'alias', 'copy', 'move',
  'no-drop', 'not-allowed', 'grab', 'grabbing', 'all-scroll', 'col-resize', 'row-resize', 'n-resize', 'e-resize', 's-resize', 'w-resize', 'ne-resize', 'nw-resize',
  'se-resize', 'sw-resize', 'ew-resize', 'ns-resize', 'nesw-resize', 'nwse-resize', 'zoom-in', 'zoom-out']);

// Picture draws frames, and maps points on the screen to points on the page.
export class Picture {
  place = new Store(null); // the canvas in the room: {left, top, width, height, scale}, in CSS pixels of this page
  #room;
  #canvas;
  #link;
  #frame = null; // the header of the last frame
  #timer = 0;
  #asked = '';

  constructor(room, canvas, link) {
    this.#room = room;
    this.#canvas = canvas;
    this.#link = link;
  }

  begin() {
    this.#link.draw = (header, blob) => this.draw(header, blob);
    const observer = new ResizeObserver(() => this.#resized());
    try {
      observer.observe(this.#room, { box: 'device-pixel-content-box' }); // also reports a change of the pixel ratio
    } catch {
      observer.observe(this.#room);
    }
    const unwatch = this.#link.hello.watch(() => this.#ask(true));
    return () => {
      observer.disconnect();
      unwatch();
      clearTimeout(this.#timer);
      this.#link.draw = async () => {};
    };
  }

  async draw(header, blob) {
    const bitmap = await createImageBitmap(blob);
    const canvas = this.#canvas;
    if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
      canvas.width = bitmap.width;
      canvas.height = bitmap.height;
    }
    canvas.getContext('2d', { alpha: false }).drawImage(bitmap, 0, 0);
    bitmap.close();
    const before = this.#frame;
    this.#frame = header;
    if (before?.width !== header.width || before?.height !== header.height) this.#layout();
  }

  // point returns an event's position in the page's pixels, limited to the page.
  point({ clientX, clientY }) {
    if (!this.#frame) return { x: 0, y: 0 };
    const { left, top, width, height } = this.#canvas.getBoundingClientRect();
    const { width: pageWidth, height: pageHeight, offsetTop = 0 } = this.#frame;
    const within = (at, size) => Math.round(Math.min(Math.max(at, 0), size) * 100) / 100;
    return {
      x: within(((clientX - left) / width) * pageWidth, pageWidth),
      y: within(((clientY - top) / height) * pageHeight - offsetTop, pageHeight),
    };
  }

  #resized() {
    this.#layout();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(false), RESIZED_MS);
  }

  // ask tells the server which picture size is useful, in device pixels, for a sharp picture.
  #ask(anew) {
    const { clientWidth, clientHeight } = this.#room;
    const size = { width: Math.round(clientWidth * devicePixelRatio), height: Math.round(clientHeight * devicePixelRatio) };
    const asked = `${size.width}×${size.height}`;
    if (!size.width || !size.height || (!anew && asked === this.#asked)) return;
    this.#asked = asked;
    this.#link.send({ type: 'size', ...size });
  }

  // layout centres the picture in the room, as large as possible, with its edges on device pixels.
  #layout() {
    if (!this.#frame) return;
    const { clientWidth, clientHeight } = this.#room;
    const scale = Math.min(clientWidth / this.#frame.width, clientHeight / this.#frame.height);
    const whole = (size) => Math.round(size * devicePixelRatio) / devicePixelRatio;
    const [width, height] = [whole(this.#frame.width * scale), whole(this.#frame.height * scale)];
    const place = { left: whole((clientWidth - width) / 2), top: whole((clientHeight - height) / 2), width, height, scale };
    for (const side of ['left', 'top', 'width', 'height']) this.#canvas.style[side] = `${place[side]}px`;
    this.#canvas.hidden = false;
    this.place.set(place);
  }
}

// Stage draws the link's frames. `over` draws what covers the picture, given the picture's place.
export function Stage({ link, away, label, leave, over }) {
  const [room, canvas, field] = [useRef(null), useRef(null), useRef(null)];
  const [place, setPlace] = useState(null);
  const phase = useStore(link.phase);
  const control = useStore(link.control);
  const hello = useStore(link.hello);
  const cursor = useStore(link.cursor);
  const drives = phase.name === 'live' && control.you && !hello?.readonly;
  useLayoutEffect(() => {
    const picture = new Picture(room.current, canvas.current, link);
    const keys = new Keyboard(field.current, link, leave);
    const focus = (event) => {
      const { left, top } = room.current.getBoundingClientRect();
      field.current.style.left = `${event.clientX - left}px`; // where an input method shows its candidates
      field.current.style.top = `${event.clientY - top}px`;
      field.current.focus({ preventScroll: true });
      keys.resetEscapes();
    };
    const parts = [picture, keys, new Mouse(canvas.current, picture, link, focus), new Touch(canvas.current, picture, link)];
    const ends = [...parts.map((part) => part.begin()), picture.place.watch(setPlace)];
    return () => ends.forEach((end) => end());
  }, [link]);
  useEffect(() => {
    canvas.current.style.cursor = drives && CURSORS.has(cursor) ? cursor : 'default';
  }, [cursor, drives]);
  return html`<div class=${`stage${away ? ' is-away' : ''}${drives ? ' drives' : ''}`} ref=${room}>
    <canvas ref=${canvas} hidden role="img" aria-label=${label}></canvas>
    <textarea ref=${field} class="typing" disabled=${!drives} aria-label="The page. What you type goes to it. Press Escape three times to leave it."
      autocomplete="off" autocapitalize="off" autocorrect="off" spellcheck=${false} rows="1"></textarea>
    <${ScriptPointer} link=${link} place=${place} />
    ${over(place)}
  </div>`;
}

// ScriptPointer shows the position of a script's mouse for a while after a move.
function ScriptPointer({ link, place }) {
  const script = useStore(link.script);
  const pointer = useRef(null);
  const [shown, setShown] = useState(false);
  const placed = place && typeof script.x === 'number' && typeof script.y === 'number';
  useEffect(() => {
    if (!placed) return undefined;
    setShown(true);
    const timer = setTimeout(() => setShown(false), SCRIPT_MS);
    return () => clearTimeout(timer);
  }, [script]);
  useLayoutEffect(() => {
    if (!placed || !pointer.current) return;
    pointer.current.style.left = `${place.left + script.x * place.scale}px`;
    pointer.current.style.top = `${place.top + script.y * place.scale}px`;
  });
  if (!placed) return null;
  return html`<div ref=${pointer} class=${`script-pointer${shown ? '' : ' is-gone'}`} aria-hidden="true">
    <svg viewBox="0 0 16 16"><path d="M2 1l11 6.5-5 1.2L5.6 14z" /></svg><span>script</span></div>`;
}
