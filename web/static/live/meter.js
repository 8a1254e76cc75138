// Measures the live view: latency from an input to the next picture, and pictures per second.
import { Store } from '../store.js';

const SAMPLES = 30;
const MAX_LATENCY_MS = 1000; // an input that changes nothing has no picture; later pictures do not belong to it
const SECOND_MS = 1000;

export class Meter {
  shown = new Store({ latency: null, rate: 0 }); // latency: median of the last samples, milliseconds; rate: pictures in the last second
  #sent = new Map(); // send time of each input, by its number
  #samples = [];
  #drawn = [];
  #timer = 0;

  begin() {
    this.#timer = setInterval(() => this.#show(), SECOND_MS);
  }

  end() {
    clearInterval(this.#timer);
  }

  reset() {
    this.#sent.clear();
  }

  sent(n) {
    this.#sent.set(n, performance.now());
    const [oldest] = this.#sent.keys();
    if (performance.now() - this.#sent.get(oldest) > MAX_LATENCY_MS) this.#sent.delete(oldest);
  }

  // drawn takes the number of the last input before the picture. Only that input gives a sample: earlier ones may
  // have changed nothing and waited for a picture that is not theirs.
  drawn(input) {
    const now = performance.now();
    this.#drawn.push(now);
    const took = now - this.#sent.get(input);
    for (const n of this.#sent.keys()) if (n <= input) this.#sent.delete(n);
    if (!(took <= MAX_LATENCY_MS)) return;
    this.#samples = [...this.#samples.slice(1 - SAMPLES), took];
    if (this.#samples.length === 1) this.#show();
  }

  #show() {
    const now = performance.now();
    this.#drawn = this.#drawn.filter((at) => now - at < SECOND_MS);
    const sorted = [...this.#samples].sort((a, b) => a - b);
    const latency = sorted.length ? sorted[sorted.length >> 1] : null;
    const { latency: before, rate } = this.shown.value;
    if (latency !== before || rate !== this.#drawn.length) this.shown.set({ latency, rate: this.#drawn.length });
  }
}
