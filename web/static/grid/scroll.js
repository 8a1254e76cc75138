// The place of a scrolled list: which of its rows are drawn, and where.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';

const TALLEST = 15_000_000; // pixels: browsers lay out no element much higher
const OVER = 4; // rows drawn beyond the view, at both ends
const STEP = 4; // rows that come and go together: the grid draws again once for so many
const FAST = 5; // rows a frame, twice in turn: who scrolls so fast sees names alone until it is over. A jump is not fast
const SETTLED = 120; // milliseconds without scrolling: the end of fast scrolling

// useScroll returns {from, to, page, fast, tall, shift, scrollTo}: the rows to draw, how many are a screen, whether the list flies by, and its height. Where the list would be too tall to lay out, a pixel of the scroll
// bar stands for more than one of the list, and shift moves the rows in view to where they are drawn.
export function useScroll(box, total, rowHeight, height) {
  const whole = total * rowHeight;
  const tall = Math.min(whole, TALLEST);
  const ratio = whole > TALLEST ? (whole - height) / (TALLEST - height) : 1;
  const [{ top, fast }, setPlace] = useState({ top: 0, fast: false });
  const stepOf = useRef(null); // a place within the same step draws nothing again
  stepOf.current = (at) => (ratio === 1 ? Math.floor(at / rowHeight / STEP) * STEP * rowHeight : at);
  const far = FAST * rowHeight;
  useEffect(() => {
    let [frame, timer, before, farFrames] = [0, 0, box.current.scrollTop, 0];
    const put = (now) => setPlace((last) => (last.top === now.top && last.fast === now.fast ? last : now));
    const read = () => {
      frame = 0;
      const at = box.current.scrollTop;
      farFrames = Math.abs(at - before) > far ? farFrames + 1 : 0;
      before = at;
      clearTimeout(timer);
      timer = setTimeout(() => {
        farFrames = 0;
        setPlace((last) => (last.fast ? { ...last, fast: false } : last));
      }, SETTLED);
      put({ top: stepOf.current(at), fast: farFrames > 1 });
    };
    const scrolled = () => { frame ||= requestAnimationFrame(read); };
    box.current.addEventListener('scroll', scrolled, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
      box.current?.removeEventListener('scroll', scrolled);
    };
  }, [far]);
  const screen = Math.ceil(height / rowHeight);
  const first = Math.max(0, Math.floor((top * ratio) / rowHeight));
  return useMemo(() => ({ from: Math.max(0, first - OVER), to: Math.min(total, first + screen + STEP + OVER), page: Math.max(1, screen - 1), fast, tall,
    shift: ratio === 1 ? 0 : top - top * ratio, scrollTo: (index) => scrollTo(box.current, index, rowHeight, ratio) }),
  [first, screen, total, fast, tall, ratio === 1 ? 0 : top, rowHeight, ratio]);
}

// scrollTo brings a row into view, below the head.
function scrollTo(box, index, rowHeight, ratio) {
  const head = box.querySelector('.grid-head').offsetHeight;
  const at = index * rowHeight;
  const top = box.scrollTop * ratio;
  const end = top + box.clientHeight - head;
  if (at < top) box.scrollTop = at / ratio;
  else if (at + rowHeight > end) box.scrollTop = (at + rowHeight - box.clientHeight + head) / ratio;
}
