// What to do when somebody else has changed an object while its form was open: both versions, field by field, and a choice.
import { useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { Name } from './components.js';
import { proxyName } from './format.js';
import { Icon } from './icons.js';
import { useProxy } from './proxycache.js';

// useVersion keeps the version that a form is based on: {data, etag, conflict, changed, save, compare, rebase}. `read` reads the object as {data, etag}; toValues makes
// a form's values of the data; `fields` are {label, names, words}: names are the values that belong together, words says them.
export function useVersion({ form, data, etag, read, toValues, fields }) {
  const [base, setBase] = useState({ data, etag });
  const [conflict, setConflict] = useState(null);
  const first = JSON.stringify(toValues(base.data));
  // compare shows what differs between the form's version and a newer one. It returns false if nothing that the form shows does.
  const compare = (newer) => {
    const [before, theirs, yours] = [toValues(base.data), toValues(newer.data), form.values];
    const list = fields.filter(({ names }) => differ(names, before, theirs) && differ(names, theirs, yours));
    const took = fields.filter(({ names }) => differ(names, before, theirs) && !differ(names, before, yours));
    if (!list.length) {
      setBase(newer);
      return false;
    }
    setConflict({ newer, before, theirs, yours, fields: list, choice: Object.fromEntries(list.map(({ label }) => [label, took.some((one) => one.label === label) ? 'theirs' : ''])) });
    return true;
  };
  return {
    ...base,
    first,
    conflict,
    compare,
    rebase: setBase,
    changed: JSON.stringify(form.values) !== first,
    choose: (label, which) => setConflict((now) => ({ ...now, choice: { ...now.choice, [label]: which } })),
    // settle takes the choices into the form, which is then based on their version.
    settle() {
      const values = { ...form.values };
      for (const { label, names } of conflict.fields) if (conflict.choice[label] === 'theirs') names.forEach((name) => { values[name] = conflict.theirs[name]; });
      form.setProblem(null);
      form.setAll(values);
      setBase(conflict.newer);
      setConflict(null);
    },
    // save calls work with the headers and the data that the changes are based on. It resolves to {data, etag}, or to null when there is something to
    // choose first. A change elsewhere that the form does not show is no reason to ask.
    async save(work) {
      let at = base;
      for (let tries = 0; ; tries++) {
        try {
          const saved = await work(at.etag ? { 'If-Match': at.etag } : {}, at.data);
          setBase(saved);
          return saved;
        } catch (problem) {
          if (problem.code !== 'etag_mismatch' || tries > 2) throw problem;
          at = await read();
          if (compare(at)) return null;
        }
      }
    },
  };
}

function differ(names, one, other) {
  return names.some((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]));
}

// Conflict shows a version's conflict. Nothing is saved before each field has a choice.
export function Conflict({ version }) {
  const { conflict, choose, settle } = version;
  const shown = useRef(null);
  if (!conflict) return null;
  const { fields, before, theirs, yours, choice } = conflict;
  const open = fields.filter(({ label }) => !choice[label]).length;
  const all = (which) => fields.forEach(({ label }) => choose(label, which));
  return html`<section class="conflict" role="alert" aria-label="Changed meanwhile" tabindex="-1" ref=${(box) => { if (box && shown.current !== conflict.newer) { shown.current = conflict.newer; box.focus(); } }}>
    <p class="problem-title"><${Icon} name="warning" />Somebody else changed this meanwhile</p>
    <p>Nothing of yours is saved yet. Choose what to keep.</p>
    ${fields.map(({ label, names, words }) => html`<fieldset class="conflict-field" key=${label}><legend>${label}</legend>
      <p class="hint">It was: <${Words} of=${words(before)} /></p>
      <label class="conflict-choice"><input type="radio" name=${`conflict-${label}`} checked=${choice[label] === 'theirs'} onChange=${() => choose(label, 'theirs')} /><span class="conflict-who">Theirs</span><span><${Words} of=${words(theirs)} /></span></label>
      <label class="conflict-choice"><input type="radio" name=${`conflict-${label}`} checked=${choice[label] === 'yours'} onChange=${() => choose(label, 'yours')} /><span class="conflict-who">Yours</span><span><${Words} of=${words(yours)} />${!differ(names, before, yours) && html` <span class="muted">(not changed by you)</span>`}</span></label>
    </fieldset>`)}
    <div class="conflict-foot">${fields.length > 1 && html`<button type="button" class="button small" onClick=${() => all('theirs')}>All theirs</button><button type="button" class="button small" onClick=${() => all('yours')}>All yours</button>`}
      <button type="button" class="button small primary" disabled=${open > 0} onClick=${settle}>Take into the form</button></div>
  </section>`;
}

// Words shows one version of a field: a text, or {proxies} by their ids.
function Words({ of }) {
  if (typeof of === 'string') return html`<bdi class="prose-lines">${of}</bdi>`;
  return of.proxies.map((id, i) => html`${i > 0 && ', '}<${ProxyWords} key=${id} id=${id} />`);
}

function ProxyWords({ id }) {
  const proxy = useProxy(id);
  return html`<${Name}>${proxy ? proxyName(proxy) : proxy === null ? 'a deleted proxy' : id}<//>`;
}
