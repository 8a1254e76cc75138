// Sends mouse and touch on the picture to the live view.
import { modifiers } from './keyboard.js';

const BUTTONS = ['left', 'middle', 'right', 'back', 'forward'];
const BITS = [1, 4, 2, 8, 16]; // of each button in `buttons`, as the DOM defines them
const CLICKS = 3; // counts above three are not used
const LINE = 40; // pixels per line, for mice that scroll by lines

// FrameThrottle calls work at most once per animation frame, with the last value.
class FrameThrottle {
  #work;
  #given = null;
  #frame = 0;

  constructor(work) {
    this.#work = work;
  }

  schedule(what) {
    this.#given = what;
    this.#frame ||= requestAnimationFrame(() => this.flush());
  }

  flush() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const given = this.#given;
    this.#given = null;
    if (given) this.#work(given);
  }
}

function clicks({ detail }) {
  return Math.min(Math.max(detail, 1), CLICKS);
}

function listen(target, handlers) {
  for (const [name, handler] of Object.entries(handlers)) target.addEventListener(name, handler, { passive: false });
  return () => {
    for (const [name, handler] of Object.entries(handlers)) target.removeEventListener(name, handler);
  };
}

export class Mouse {
  #canvas;
  #picture;
  #link;
  #focus;
  #held = 0; // buttons that were pressed on the picture
  #move = new FrameThrottle((message) => this.#link.input(message));

  // focus gives the keyboard to the page, at the position of an event.
  constructor(canvas, picture, link, focus) {
    this.#canvas = canvas;
    this.#picture = picture;
    this.#link = link;
    this.#focus = focus;
  }

  begin() {
    const ends = [
      listen(this.#canvas, {
        mousedown: (event) => this.#down(event),
        wheel: (event) => this.#wheel(event),
        contextmenu: (event) => event.preventDefault(),
      }),
      // A button pressed on the picture belongs to it until it is released anywhere.
      listen(window, { mousemove: (event) => this.#moved(event), mouseup: (event) => this.#up(event) }),
      this.#link.control.watch(() => { if (!this.#link.drives) this.#held = 0; }),
    ];
    return () => ends.forEach((end) => end());
  }

  #message(event, kind, more) {
    return {
      type: 'mouse', kind, ...this.#picture.point(event), button: 'none', buttons: this.#held, clicks: 0, modifiers: modifiers(event, this.#link), dx: 0, dy: 0, ...more,
    };
  }

  #moved(event) {
    if (event.target !== this.#canvas && !this.#held) return;
    const lost = this.#held & ~event.buttons; // released without an event on this page
    if (lost) BITS.forEach((bit, i) => lost & bit && this.#release(event, i));
    this.#move.schedule(this.#message(event, 'move'));
  }

  #down(event) {
    event.preventDefault();
    if (!this.#link.drives || !BUTTONS[event.button]) return;
    this.#focus(event);
    this.#move.flush();
    this.#held |= BITS[event.button];
    this.#link.input(this.#message(event, 'down', { button: BUTTONS[event.button], clicks: clicks(event) }));
  }

  #up(event) {
    if (!(this.#held & BITS[event.button])) return;
    event.preventDefault(); // the back and forward buttons belong to the page
    this.#release(event, event.button);
  }

  #release(event, button) {
    this.#move.flush();
    this.#held &= ~BITS[button];
    this.#link.input(this.#message(event, 'up', { button: BUTTONS[button], clicks: clicks(event) }));
  }

  #wheel(event) {
    event.preventDefault();
    const unit = [1, LINE, this.#canvas.clientHeight][event.deltaMode];
    this.#move.flush();
    this.#link.input(this.#message(event, 'wheel', { dx: event.deltaX * unit, dy: event.deltaY * unit }));
  }
}

// Touch sends fingers to the page, or moves the picture with them. One finger is the page's. Two move the picture, unless the viewer
// has chosen otherwise. For who only watches, one finger moves a picture that is larger than its room.
export class Touch {
  #room;
  #picture;
  #link;
  #zoom;
  #moving = null; // whether the fingers on the room move the picture; null: there are none
  #move = new FrameThrottle((message) => this.#link.input(message));
  #drag = new FrameThrottle((touches) => this.#picture.drag(touches));

  constructor(room, picture, link, zoom) {
    this.#room = room;
    this.#picture = picture;
    this.#link = link;
    this.#zoom = zoom;
  }

  begin() {
    return listen(this.#room, {
      touchstart: (event) => this.#start(event),
      touchmove: (event) => {
        event.preventDefault(); // prevents scrolling and zooming of this page
        if (this.#moving) this.#drag.schedule(this.#here(event));
        else this.#move.schedule(this.#message(event, 'move'));
      },
      // While other fingers stay, a lifted finger is one that is missing.
      touchend: (event) => this.#end(event, event.targetTouches.length ? 'move' : 'end'),
      touchcancel: (event) => this.#end(event, 'cancel'),
    });
  }

  #start(event) {
    const more = this.#moving === false && this.#here(event).length > 1 && this.#zoom.fingers.value === 'view';
    if (more) this.#sendNow(event, 'cancel'); // the first finger was no touch of the page
    if (this.#moving === null) this.#moving = event.target === this.#room || (!this.#link.drives && this.#picture.zoomed); // beside the picture is no page
    if (more || (!this.#link.drives && this.#here(event).length > 1)) this.#moving = true;
    if (this.#moving) this.#hold(event);
    else this.#sendNow(event, 'start');
  }

  #end(event, kind) {
    if (!this.#moving) this.#sendNow(event, kind);
    else if (this.#here(event).length) this.#hold(event);
    else event.preventDefault();
    if (!this.#here(event).length) this.#moving = null;
  }

  #hold(event) {
    event.preventDefault();
    this.#drag.flush();
    this.#picture.hold(this.#here(event));
  }

  #sendNow(event, kind) {
    event.preventDefault(); // prevents emulated mouse events
    this.#move.flush();
    this.#link.input(this.#message(event, kind));
  }

  #message(event, kind) {
    const touches = kind === 'cancel' ? [] : this.#here(event);
    const points = touches.map((touch) => ({ id: touch.identifier, ...this.#picture.point(touch), force: touch.force }));
    return { type: 'touch', kind, points, modifiers: modifiers(event, this.#link) };
  }

  #here({ touches }) {
    return [...touches].filter(({ target }) => this.#room.contains(target));
  }
}
