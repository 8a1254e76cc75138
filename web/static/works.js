// Work on many objects: what is under way, how far it is, and what failed.
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { useApp } from './app-context.js';
import { Name } from './components.js';
import { Dialog } from './dialog.js';
import { count, number } from './format.js';
import { Icon } from './icons.js';
import { Store, useStore } from './store.js';
import { problemTitle, problemWords } from './words.js';

const SHOWN = 200; // failures that the dialog lists
const DONE_MS = 8000;

// Works are the works of the page. Each is a Store of {id, title, total, done, failed, state: running|done|cancelled, cancel, retry}. failed lists
// {id, name, error}.
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
    const read = async () => {
      const now = await api.get(`/jobs/${encodeURIComponent(job.id)}`).catch((problem) => (problem.status === 404 ? { ...job, status: 'cancelled' } : null));
      if (!now) return false;
      work.set({ ...work.value, total: now.total, done: now.done, failedCount: now.failed, failed: (now.failures || []).map(({ id, name, error }) => ({ id, name: name || id, error })) });
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

  close(work) {
    this.list.set(this.list.value.filter((other) => other !== work));
  }

  #begin(title, total, cancel, retry) {
    const work = new Store({ id: ++this.#last, title, total, done: 0, failed: [], state: 'running', cancel, retry });
    this.list.set([...this.list.value.filter((other) => other.value.state === 'running' || failures(other.value)), work]);
    return work;
  }

  #end(work, cancelled) {
    work.set({ ...work.value, state: cancelled ? 'cancelled' : 'done' });
    if (!failures(work.value)) setTimeout(() => this.close(work), DONE_MS);
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
  const { title, total, done, state, cancel } = now;
  const failed = failures(now);
  const running = state === 'running';
  const words = running ? `${number(done)} of ${number(total)}` : state === 'cancelled' ? `Stopped after ${number(done)} of ${number(total)}` : `${number(done - failed)} done`;
  return html`<section class=${`work ${failed ? 'has-failed' : running ? '' : 'is-done'}`} aria-label=${title}>
    <div class="work-head"><p class="work-title">${title}</p>
      ${running
        ? html`<button type="button" class="button small" onClick=${cancel}>Cancel</button>`
        : html`<button type="button" class="icon-button" aria-label="Close" onClick=${() => app.works.close(work)}><${Icon} name="close" /></button>`}</div>
    ${running && html`<progress max=${total || 1} value=${done} aria-label=${title}></progress>`}
    <p class="work-words number" role="status"><span>${words}</span>
      ${failed > 0 && html`<button type="button" class="link bad-text" onClick=${() => app.open(FailedDialog, { work })}>${count(failed, 'failed', 'failed')}: show</button>`}</p>
  </section>`;
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
      <ul class="names">${ones.map(({ id, name }) => html`<li key=${id}><${Name}>${name}<//></li>`)}</ul></section>`)}
      ${failed > SHOWN && html`<p class="hint">And ${number(failed - SHOWN)} more.</p>`}</div>
    <footer class="dialog-foot"><button type="button" class="button" onClick=${close}>Close</button>
      <button type="button" class="button primary" autofocus disabled=${busy || now.state === 'running'} onClick=${again}>Try these again</button></footer>
  <//>`;
}
