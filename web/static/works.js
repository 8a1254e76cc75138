// Work on many objects: what is under way, how far it is, and what failed.
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Name } from './components.js';
import { Dialog } from './dialog.js';
import { count, number, proxyName, span } from './format.js';
import { useProxy } from './proxycache.js';
import { Icon } from './icons.js';
import { Store, useStore } from './store.js';
import { problemTitle, problemWords } from './words.js';

const SHOWN = 200; // failures that the dialog lists
const DONE_MS = 8000;
const DRAW_MS = 100;
const GUESS_MS = 2000; // of work, before the time left is told

// Works are the works of the page. Each is a Store of {id, title, total, done, failed, state: running|done|cancelled, cancel, retry}. failed lists
// {id, name, error}. A work that the server streams also has words, show, began and key.
export class Works {
  list = new Store([]);
  #last = 0;

  // each calls `call` with parts of the items, one part after another, until all are done or the work is cancelled. It
  // resolves to [{id, error}], where error is a problem. `size` is the length of a part.
  async each({ title, items, size = 20, call }) {
    const ending = new AbortController();
    const work = this.#begin(title, items.length, () => ending.abort(), (failed) => this.each({ title, items: failed, size, call }));
    for (let i = 0; i < items.length && !ending.signal.aborted; i += size) {
      const part = items.slice(i, i + size);
      let results;
      try {
        results = await call(part, ending.signal);
      } catch (error) {
        if (error.name === 'AbortError') break;
        results = part.map(({ id }) => ({ id, error }));
      }
      const names = new Map(part.map(({ id, name }) => [id, name]));
      const failed = results.filter(({ error }) => error).map(({ id, error }) => ({ id, name: names.get(id) || id, error }));
      work.set({ ...work.value, done: work.value.done + part.length, failed: [...work.value.failed, ...failed] });
    }
    this.#end(work, ending.signal.aborted);
    return work.value;
  }

  // follow shows a job of the server. `events` is a Store of the last event.
  async follow({ title, api, events, start, retry }) {
    const job = await start();
    const work = this.#begin(title, job.total, () => api.delete(`/jobs/${encodeURIComponent(job.id)}`).catch(() => {}), () => retry(job));
    // An answer may be older than an event that came before it: what is done never becomes less.
    const read = async () => {
      const now = await api.get(`/jobs/${encodeURIComponent(job.id)}`).catch((problem) => (problem.status === 404 ? { ...job, status: 'cancelled' } : null));
      if (!now) return false;
      work.set({ ...work.value, total: now.total, done: Math.max(work.value.done, now.done), failedCount: now.failed, failed: (now.failures || []).map(({ id, name, error }) => ({ id, name: name || id, error })) });
      if (now.status === 'running') return false;
      this.#end(work, now.status === 'cancelled');
      return true;
    };
    const unwatch = events.watch(async ({ type, data }) => {
      if (type === 'everything') return void (await read()) ;
      if (!type.startsWith('job.') || data?.id !== job.id) return;
      if (type === 'job.progress') work.set({ ...work.value, done: data.done, failedCount: data.failed });
      else if (await read()) unwatch();
    });
    if (await read()) unwatch(); // it may have ended before the events were watched
    return work.value;
  }

  // stream shows an answer that comes in lines: call(signal, total, one) calls total with their number and one with each {id, error}. words name the
  // good and the bad ones, title is a function of the number and of whether it is over, show goes to what failed (true) or to all. One work with a key runs at a time.
  async stream({ key = '', title, total, words, call, show, retry }) {
    if (key && this.list.value.some(({ value }) => value.key === key && value.state === 'running')) return null;
    const ending = new AbortController();
    const work = this.#begin(title(total), total, () => ending.abort(), retry);
    work.set({ ...work.value, key, words, show, began: performance.now() });
    const failed = [];
    let done = 0;
    let planned = 0;
    const draw = () => {
      planned = 0;
      work.set({ ...work.value, done, failed: [...failed] });
    };
    let problem = null;
    try {
      await call(ending.signal, (n) => work.set({ ...work.value, total: n, title: title(n) }), (one) => {
        done += 1;
        if (one.error) failed.push({ ...one, name: one.name || '' });
        planned ||= setTimeout(draw, DRAW_MS);
      });
    } catch (error) {
      if (error.name !== 'AbortError') problem = error;
    }
    clearTimeout(planned);
    draw();
    work.set({ ...work.value, problem, title: title(work.value.total, true) });
    this.#end(work, ending.signal.aborted || problem !== null);
    return work.value;
  }

  close(work) {
    this.list.set(this.list.value.filter((other) => other !== work));
  }

  #begin(title, total, cancel, retry) {
    const work = new Store({ id: ++this.#last, title, total, done: 0, failed: [], state: 'running', cancel, retry });
    this.list.set([...this.list.value.filter((other) => other.value.state === 'running' || failures(other.value) || other.value.problem), work]);
    return work;
  }

  #end(work, cancelled) {
    work.set({ ...work.value, state: cancelled ? 'cancelled' : 'done' });
    if (!failures(work.value) && !work.value.problem) setTimeout(() => this.close(work), DONE_MS);
  }
}

function failures({ failed, failedCount }) {
  return Math.max(failed.length, failedCount ?? 0);
}

export function WorkArea() {
  const { works } = useApp();
  const list = useStore(works.list);
  return html`<div class="works">${list.map((work) => html`<${WorkPanel} key=${work.value.id} work=${work} />`)}</div>`;
}

function WorkPanel({ work }) {
  const app = useApp();
  const now = useStore(work);
  const { title, total, done, state, cancel, problem, show } = now;
  const failed = failures(now);
  const running = state === 'running';
  return html`<section class=${`work ${failed || problem ? 'has-failed' : running ? '' : 'is-done'}`} aria-label=${title}>
    <div class="work-head"><p class="work-title">${title}</p>
      ${running
        ? html`<button type="button" class="button small" onClick=${cancel}>Cancel</button>`
        : html`<button type="button" class="icon-button" aria-label="Close" onClick=${() => app.works.close(work)}><${Icon} name="close" /></button>`}</div>
    ${running && html`<progress max=${total || 1} value=${done} aria-label=${title}></progress>`}
    <p class="work-words number" role="status"><span>${progressWords(now, failed)}</span></p>
    ${problem && html`<p class="work-words bad-text">${problemTitle(problem)}. ${problemWords(problem)}</p>`}
    ${(failed > 0 || (show && !running)) && html`<p class="work-actions">${failed > 0 && html`<button type="button" class="button small" onClick=${() => app.open(FailedDialog, { work })}>${failed === 1 ? 'Why it failed' : `Why ${number(failed)} failed`}</button>`}
      ${show && !running && html`<button type="button" class="button small" onClick=${() => show(failed > 0)}>Show them</button>`}</p>`}
  </section>`;
}

// progressWords says how far a work is, and how long it may still take.
function progressWords({ total, done, state, words, began }, failed) {
  const counts = words && done > 0 ? ` · ${number(done - failed)} ${words.good}${failed ? `, ${number(failed)} ${words.bad}` : ''}` : '';
  if (state === 'cancelled') return `Stopped after ${number(done)} of ${number(total)}${counts}`;
  if (state !== 'running') return words ? counts.slice(3) || 'Nothing to check' : `${number(done - failed)} done`;
  const took = began ? performance.now() - began : 0;
  const left = took > GUESS_MS && done >= Math.min(20, total / 10) && done < total ? ` · about ${span(Math.ceil(((took / done) * (total - done)) / 1000) * 1000).replace('.0', '')} left` : '';
  return `${number(done)} of ${number(total)}${counts}${left}`;
}

// FailedDialog lists what failed and why, and tries those again.
function FailedDialog({ work, close }) {
  const app = useApp();
  const now = useStore(work);
  const [busy, setBusy] = useState(false);
  const failed = failures(now);
  const reasons = Map.groupBy ? Map.groupBy(now.failed.slice(0, SHOWN), ({ error }) => problemTitle(error)) : new Map([['Failed', now.failed.slice(0, SHOWN)]]);
  const again = () => {
    setBusy(true);
    close();
    app.works.close(work);
    now.retry(now.failed);
  };
  return html`<${Dialog} title=${count(failed, 'failed', 'failed')} lead=${now.title} close=${close}>
    <div class="dialog-content">${[...reasons].map(([reason, ones]) => html`<section key=${reason} class="reason"><h3>${reason} <span class="total">${number(ones.length)}</span></h3>
      <p class="muted">${problemWords({ ...ones[0].error, message: ones[0].error.detail || ones[0].error.message })}</p>
      <ul class="names">${ones.map(({ id, name }) => html`<li key=${id}>${name ? html`<${Name}>${name}<//>` : html`<${ProxyLabel} id=${id} />`}</li>`)}</ul></section>`)}
      ${failed > SHOWN && html`<p class="hint">And ${number(failed - SHOWN)} more.</p>`}</div>
    <footer class="dialog-foot"><button type="button" class="button" onClick=${close}>Close</button>
      <button type="button" class="button primary" autofocus disabled=${busy || now.state === 'running'} onClick=${again}>Try these again</button></footer>
  <//>`;
}

// ProxyLabel names a proxy that a stream of checks knows by its id only.
function ProxyLabel({ id }) {
  const proxy = useProxy(id);
  return html`<${Name}>${proxy ? proxyName(proxy) : proxy === null ? 'A deleted proxy' : '…'}<//>`;
}
