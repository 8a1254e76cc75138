// Small recent pictures of running browsers for the lists. Only visible rows are fetched, one after another.
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { href } from './route.js';

const RENEW_MS = 15_000;
const MAX_MISSED = 3; // attempts while a browser has no picture yet

// Previews fetches the watched pictures, one at a time, and again when they are old. It skips a run that gave none.
export class Previews {
  #api;
  #watched = new Set();
  #failed = new Set(); // ids of runs
  #timer = 0;
  #working = false;

  constructor(api) {
    this.#api = api;
  }

  // watch draws a run's picture until the returned function is called.
  watch(profileId, runId, draw) {
    const one = { profileId, runId, draw, due: 0, missed: 0 };
    this.#watched.add(one);
    this.#plan();
    return () => this.#watched.delete(one);
  }

  begin() {
    const visible = () => this.#plan();
    document.addEventListener('visibilitychange', visible);
    return () => {
      document.removeEventListener('visibilitychange', visible);
      this.#watched.clear();
      clearTimeout(this.#timer);
    };
  }

  #plan() {
    clearTimeout(this.#timer);
    if (this.#working || document.hidden) return;
    const [next] = [...this.#watched].filter(({ runId }) => !this.#failed.has(runId)).sort((a, b) => a.due - b.due);
    if (next) this.#timer = setTimeout(() => this.#fetch(next), Math.max(0, next.due - performance.now()));
  }

  async #fetch(one) {
    this.#working = true;
    try {
      const response = await this.#api.open('GET', `api/v1/profiles/${encodeURIComponent(one.profileId)}/screenshot?size=small`);
      const bitmap = await createImageBitmap(await response.blob());
      if (this.#watched.has(one)) one.draw(bitmap);
      bitmap.close();
      one.missed = 0;
    } catch (problem) {
      one.missed++;
      if (![503, 504].includes(problem.status) || one.missed >= MAX_MISSED) this.#failed.add(one.runId);
    }
    one.due = performance.now() + RENEW_MS;
    this.#working = false;
    this.#plan();
  }
}

// Preview is the picture of a running profile, linked to the live view.
export function Preview({ profile, large }) {
  const { previews } = useApp();
  const canvas = useRef(null);
  const [drawn, setDrawn] = useState(false);
  const { id, run } = profile;
  useEffect(() => {
    let end = null;
    setDrawn(false);
    const draw = (bitmap) => {
      canvas.current.width = bitmap.width;
      canvas.current.height = bitmap.height;
      canvas.current.getContext('2d').drawImage(bitmap, 0, 0);
      setDrawn(true);
    };
    const observer = new IntersectionObserver((entries) => {
      const seen = entries.at(-1).isIntersecting;
      if (!seen) end?.();
      end = seen ? end || previews.watch(id, run.runId, draw) : null;
    });
    observer.observe(canvas.current.parentElement);
    return () => {
      observer.disconnect();
      end?.();
    };
  }, [id, run?.runId]);
  return html`<a class=${drawn ? 'preview' : 'preview is-empty'} href=${viewOf(id)} tabindex="-1" aria-hidden="true" title="View"><canvas ref=${canvas}></canvas></a>`;
}

// viewOf returns the address of a profile's live view.
export function viewOf(id) {
  return href('live', new URLSearchParams({ profile: id }));
}
