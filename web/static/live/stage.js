// The stage: the page's picture in the available room, and the input handlers on it.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';
import { Store, useStore } from '../store.js';
import { Keyboard } from './keyboard.js';
import { Mouse, Touch } from './pointer.js';
import { fingersAt, fitScale, pinched, placed } from './zoom.js';

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
  #zoom;
  #frame = null; // the header of the last frame
  #timer = 0;
  #asked = '';
  #fitted = ''; // the size that the browser's window was asked to have
  #gesture = null; // how the picture lay when fingers were put on it

  // The room scrolls when the picture is larger.
  constructor(room, canvas, link, zoom) {
    this.#room = room;
    this.#canvas = canvas;
    this.#link = link;
    this.#zoom = zoom;
  }

  begin() {
    this.#link.draw = (header, blob) => this.draw(header, blob);
    const observer = new ResizeObserver(() => this.#resized());
    try {
      observer.observe(this.#room.parentElement, { box: 'device-pixel-content-box' }); // also reports a change of the pixel ratio
    } catch {
      observer.observe(this.#room.parentElement);
    }
    const unwatch = [
      this.#link.hello.watch(() => this.#ask(true)),
      this.#zoom.scale.watch(() => this.#resized()),
      ...[this.#link.window, this.#link.control, this.#link.tabs].map((store) => store.watch(() => this.#fitWindow())),
    ];
    return () => {
      observer.disconnect();
      unwatch.forEach((end) => end());
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
    if (before?.width !== header.width || before?.height !== header.height) this.#resized();
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

  // hold notes where fingers begin to move the picture; `drag` moves it with them. Both get one or two touches.
  hold(touches) {
    const { scrollLeft: left, scrollTop: top } = this.#room;
    this.#gesture = this.#frame && { scale: this.#place().scale, scroll: { left, top }, from: this.#fingers(touches) };
  }

  drag(touches) {
    if (!this.#gesture) return;
    const { scale, scroll } = pinched({ room: this.#zoom.room, page: this.#frame, ...this.#gesture, to: this.#fingers(touches) });
    this.#zoom.scale.set(scale);
    this.#room.scrollTo(scroll);
  }

  // zoomed reports whether the picture is larger than its room.
  get zoomed() {
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = this.#room;
    return this.#zoom.scale.value !== null && (scrollWidth > clientWidth || scrollHeight > clientHeight);
  }

  #fingers(touches) {
    const { left, top } = this.#room.getBoundingClientRect();
    return fingersAt(touches.slice(0, 2).map(({ clientX, clientY }) => ({ x: clientX - left, y: clientY - top })));
  }

  #resized() {
    this.#layout();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#ask(false);
      this.#fitWindow();
    }, RESIZED_MS);
  }

  // ask tells the server which picture size is useful, in device pixels, for a sharp picture.
  #ask(anew) {
    const { clientWidth, clientHeight } = this.#room;
    const { width = 0, height = 0 } = this.#zoom.scale.value === null ? {} : this.place.value || {};
    const size = { width: Math.round(Math.max(clientWidth, width) * devicePixelRatio), height: Math.round(Math.max(clientHeight, height) * devicePixelRatio) };
    const asked = `${size.width}×${size.height}`;
    if (!size.width || !size.height || (!anew && asked === this.#asked)) return;
    this.#asked = asked;
    this.#link.send({ type: 'size', ...size });
  }

  // fitWindow lets a window that has a viewer's size follow the room of who drives.
  #fitWindow() {
    const { resized } = this.#link.window.value;
    const size = { width: Math.round(this.#zoom.room.width), height: Math.round(this.#zoom.room.height) };
    const fitted = resized && this.#link.drives ? `${size.width}×${size.height} ${this.#link.tabs.value.active}` : '';
    if (fitted && fitted !== this.#fitted) this.#link.fitWindow(size);
    this.#fitted = fitted;
  }

  #place() {
    return { ...placed(this.#zoom.room, this.#frame, this.#scale()), scale: this.#scale() };
  }

  #scale() {
    return this.#zoom.scale.value ?? fitScale(this.#zoom.room, this.#frame);
  }

  // layout places the picture in the room, with its edges on device pixels.
  #layout() {
    this.#room.classList.toggle('is-zoomed', this.#zoom.scale.value !== null);
    this.#zoom.room = { width: this.#room.clientWidth, height: this.#room.clientHeight };
    if (!this.#frame) return;
    const whole = (size) => Math.round(size * devicePixelRatio) / devicePixelRatio;
    const place = this.#place();
    for (const side of ['left', 'top', 'width', 'height']) {
      place[side] = whole(place[side]);
      this.#canvas.style[side] = `${place[side]}px`;
    }
    this.#canvas.hidden = false;
    this.place.set(place);
  }
}

// Stage draws the link's frames. `over` draws what covers the picture, given the picture's place.
export function Stage({ link, zoom, away, label, leave, over }) {
  const [room, canvas, field] = [useRef(null), useRef(null), useRef(null)];
  const [place, setPlace] = useState(null);
  const phase = useStore(link.phase);
  const control = useStore(link.control);
  const hello = useStore(link.hello);
  const cursor = useStore(link.cursor);
  const zoomed = useStore(zoom.scale) !== null;
  const drives = phase.name === 'live' && control.you && !hello?.readonly;
  useLayoutEffect(() => {
    const picture = new Picture(room.current, canvas.current, link, zoom);
    const keys = new Keyboard(field.current, link, leave);
    const focus = (event) => {
      const { left, top } = room.current.getBoundingClientRect();
      field.current.style.left = `${event.clientX - left + room.current.scrollLeft}px`; // where an input method shows its candidates
      field.current.style.top = `${event.clientY - top + room.current.scrollTop}px`;
      field.current.focus({ preventScroll: true });
      keys.resetEscapes();
    };
    const parts = [picture, keys, new Mouse(canvas.current, picture, link, focus), new Touch(room.current, picture, link, zoom)];
    const ends = [...parts.map((part) => part.begin()), picture.place.watch(setPlace)];
    return () => ends.forEach((end) => end());
  }, [link, zoom]);
  useEffect(() => {
    canvas.current.style.cursor = drives && CURSORS.has(cursor) ? cursor : 'default';
  }, [cursor, drives]);
  return html`<div class=${`stage${away ? ' is-away' : ''}${drives ? ' drives' : ''}`}>
    <div class="stage-room" ref=${room} role=${zoomed ? 'group' : undefined} tabindex=${zoomed ? 0 : undefined} aria-label=${zoomed ? 'The enlarged picture. Arrow keys move it.' : undefined}>
      <canvas ref=${canvas} hidden role="img" aria-label=${label}></canvas>
      <textarea ref=${field} class="typing" disabled=${!drives} aria-label="The page. What you type goes to it. Press Esc three times to release the keyboard."
        autocomplete="off" autocapitalize="off" autocorrect="off" spellcheck=${false} rows="1"></textarea>
      <${ScriptPointer} link=${link} place=${place} />
    </div>
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
