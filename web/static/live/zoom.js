// How large the picture is shown, and what two fingers do to it.
import { Store } from '../store.js';

const MOST = 5; // times a page's own size
const NEARLY = 1.03; // this close to the fitting size, the picture fits

const FINGERS = 'warren.live.fingers';

// Zoom is this viewer's choice. It changes nothing for others.
export class Zoom {
  scale = new Store(null); // pixels of this page per pixel of the shown page; null: as large as fits
  fingers = new Store(readFingers()); // what two fingers move: "view", or the shown "page"
  room = { width: 0, height: 0 }; // what is free for the picture, in pixels of this page; set by the stage

  chooseFingers(what) {
    this.fingers.set(what);
    try {
      localStorage.setItem(FINGERS, what);
    } catch {
      // Without storage it is kept until the page is left.
    }
  }
}

function readFingers() {
  try {
    return localStorage.getItem(FINGERS) === 'page' ? 'page' : 'view';
  } catch {
    return 'view';
  }
}

export function fitScale(room, page) {
  return Math.min(room.width / page.width, room.height / page.height);
}

// placed returns where a picture of a scale lies in its room: in the middle, or at the edge from which it can be scrolled.
export function placed(room, page, scale) {
  const [width, height] = [page.width * scale, page.height * scale];
  return { left: Math.max(0, (room.width - width) / 2), top: Math.max(0, (room.height - height) / 2), width, height };
}

// fingersAt returns the middle of one or two points, and how far they are apart (0 for one).
export function fingersAt([a, b = a]) {
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.hypot(a.x - b.x, a.y - b.y) };
}

// pinched returns the scale and the scroll position after fingers have moved from one place to another. The point of the page that was
// between the fingers stays between them. `scroll` is {left, top}.
export function pinched({ room, page, scale, scroll, from, to }) {
  const fit = fitScale(room, page);
  const ratio = from.apart > 0 && to.apart > 0 ? to.apart / from.apart : 1;
  const wanted = Math.min(Math.max(scale * ratio, fit), Math.max(MOST, fit));
  const now = wanted < fit * NEARLY ? fit : wanted;
  const [before, after] = [placed(room, page, scale), placed(room, page, now)];
  const x = (scroll.left + from.x - before.left) / scale;
  const y = (scroll.top + from.y - before.top) / scale;
  const within = (at, whole, seen) => Math.min(Math.max(at, 0), Math.max(0, whole - seen));
  return {
    scale: now === fit ? null : now,
    scroll: {
      left: within(x * now + after.left - to.x, after.width, room.width),
      top: within(y * now + after.top - to.y, after.height, room.height),
    },
  };
}
