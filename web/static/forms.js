// Form fields with labels, hints and errors, and the hook that holds a form's values.
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { Problem } from './api.js';
import { useApp } from './app-context.js';
import { ProblemBox } from './components.js';
import { sentence } from './format.js';
import { Icon } from './icons.js';

// useForm holds the values of a form, submits one request at a time, and assigns the server's errors to fields.
export function useForm(initial) {
  const [values, setValues] = useState(initial);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const root = useRef(null);
  const names = useRef(new Set());
  useEffect(() => {
    if (!problem) return;
    const first = root.current?.querySelector('[aria-invalid="true"]') || root.current?.querySelector('[role="alert"]');
    first?.focus();
  }, [problem]);
  const faults = (name) => (problem?.errors || []).filter((error) => name && (Problem.field(error) === name || Problem.path(error) === name));
  return {
    values,
    problem,
    busy,
    root,
    names: names.current,
    set: (name, value) => setValues((before) => ({ ...before, [name]: value })),
    setAll: (all) => setValues(all),
    setProblem,
    faults,
    // shown are the errors that a field shows.
    shown: () => [...names.current].flatMap(faults),
    async send(work) {
      if (busy) return;
      setBusy(true);
      setProblem(null);
      try {
        await work(values);
      } catch (error) {
        setProblem(error);
      }
      setBusy(false);
    },
  };
}

// Form combines the fields, the general error and the buttons. The page asks before it leaves a changed form. A plain form is part of a page, not a dialog.
// `saved` is the JSON of the saved values, if they may change while the form is open.
export function Form({ form, work, children, foot, explain, plain, saved }) {
  const app = useApp();
  const first = useRef(JSON.stringify(form.values));
  const typed = JSON.stringify(form.values) !== (saved ?? first.current);
  const changed = !form.busy && typed;
  useEffect(() => form.root.current.querySelector('[autofocus]')?.focus(), []); // also when the form appears after its dialog
  useLayoutEffect(() => app.holdForm(form.root, { changed, typed }), [changed, typed, form.busy, form.problem]); // before the next key, which may be Escape
  useLayoutEffect(() => () => app.holdForm(form.root, {}), []);
  const submit = (event) => {
    event.preventDefault();
    app.holdForm(form.root, { typed }); // work may close the form before it is drawn again. A failure holds it again
    form.send(work);
  };
  return html`<form class="form" ref=${form.root} onSubmit=${submit} novalidate autocomplete="off">
    <div class=${plain ? 'form-content' : 'dialog-content'}>
      ${children}
      <${ProblemBox} problem=${form.problem} shown=${form.shown()}>${form.problem && explain?.(form.problem)}<//>
    </div>
    ${foot && html`<footer class=${plain ? 'form-foot' : 'dialog-foot'}>${foot}</footer>`}
  </form>`;
}

// Field is a label with its control. `control` gets the attributes that connect both. `member` is the request's
// member whose errors the field shows, if its name differs. `say` words these errors.
export function Field({ form, name, member = name, say, label, hint, optional, control, wide }) {
  const id = useId();
  useEffect(() => {
    form.names.add(member);
    return () => form.names.delete(member);
  }, [member]);
  const faults = form.faults(member);
  const described = [hint && `${id}-hint`, faults.length && `${id}-fault`].filter(Boolean).join(' ');
  const tied = { id, name, 'aria-describedby': described || undefined, 'aria-invalid': faults.length ? 'true' : undefined };
  return html`<div class=${wide ? 'field wide' : 'field'}>
    <label for=${id}>${label}${optional && html`<span class="optional"> optional</span>`}</label>
    ${control(tied)}
    ${faults.length > 0 && html`<p class="fault" id=${`${id}-fault`}>${say || faults.map((fault) => sentence(fault.message)).join(' ')}</p>`}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`;
}

export function Text({ form, name, member, say, label, hint, optional, wide, ...rest }) {
  const control = (tied) => html`<input type="text" ...${tied} ...${rest} value=${form.values[name]}
    onInput=${(event) => form.set(name, event.currentTarget.value)} spellcheck=${false} />`;
  return html`<${Field} ...${{ form, name, member, say, label, hint, optional, wide, control }} />`;
}

export function Lines({ form, name, member, label, hint, optional, rows = 3, ...rest }) {
  const control = (tied) => html`<textarea rows=${rows} ...${tied} ...${rest} value=${form.values[name]}
    onInput=${(event) => form.set(name, event.currentTarget.value)}></textarea>`;
  return html`<${Field} wide ...${{ form, name, member, label, hint, optional, control }} />`;
}

// Choice is a select. Options are [value, words] pairs.
export function Choice({ form, name, member, label, hint, options, wide }) {
  const control = (tied) => html`<select ...${tied} value=${form.values[name]} onChange=${(event) => form.set(name, event.currentTarget.value)}>
    ${options.map(([value, words]) => html`<option key=${value} value=${value} selected=${value === form.values[name]}>${words}</option>`)}
  </select>`;
  return html`<${Field} ...${{ form, name, member, label, hint, wide, control }} />`;
}

// TagField edits tags: Enter or a comma ends a tag, Backspace in the empty field removes the last.
export function TagField({ form, name, label, hint }) {
  const [text, setText] = useState('');
  const tags = form.values[name];
  const take = (raw) => {
    const fresh = raw.split(',').map((tag) => tag.trim()).filter((tag) => tag && !tags.includes(tag));
    if (fresh.length) form.set(name, [...tags, ...fresh]);
    setText('');
  };
  const drop = (tag) => form.set(name, tags.filter((other) => other !== tag));
  const typed = (event) => {
    if (event.key === 'Enter' && text.trim()) {
      event.preventDefault();
      take(text);
    } else if (event.key === 'Backspace' && !text && tags.length) {
      drop(tags.at(-1));
    }
  };
  const input = (event) => (event.currentTarget.value.includes(',') ? take(event.currentTarget.value) : setText(event.currentTarget.value));
  const control = (tied) => html`<div class="tag-field">
    ${tags.map((tag) => html`<span class="tag" key=${tag}><bdi>${tag}</bdi>
      <button type="button" aria-label=${`Remove tag ${tag}`} onClick=${() => drop(tag)}><${Icon} name="close" /></button></span>`)}
    <input type="text" ...${tied} value=${text} onInput=${input} onKeyDown=${typed} onBlur=${() => take(text)} spellcheck=${false} />
  </div>`;
  return html`<${Field} wide ...${{ form, name, label, hint, optional: true, control }} />`;
}

// Tick is a checkbox with its words. `member` is as Field's.
export function Tick({ form, name, member = name, label, hint, disabled }) {
  const id = useId();
  const faults = form.faults(member);
  useEffect(() => {
    form.names.add(member);
    return () => form.names.delete(member);
  }, [member]);
  return html`<div class="field wide"><label class="tick"><input type="checkbox" name=${name} checked=${form.values[name]} disabled=${disabled} aria-describedby=${hint ? `${id}-hint` : undefined} onChange=${(event) => form.set(name, event.currentTarget.checked)} /><span>${label}</span></label>
    ${faults.length > 0 && html`<p class="fault">${faults.map((fault) => sentence(fault.message)).join(' ')}</p>`}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}</div>`;
}

// Section folds fields that are rarely changed. It opens when one of them has an error.
export function Section({ form, title, summary, names, children }) {
  const faulty = names.some((name) => form.faults(name).length > 0);
  const [open, setOpen] = useState(false);
  return html`<details class="section" open=${open || faulty} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary><span class="section-title">${title}</span><span class="section-summary">${summary}</span></summary>
    <div class="fields">${children}</div>
  </details>`;
}

// number converts a text to a number if possible. Other texts are sent unchanged, and the server explains the error.
export function number(text) {
  const trimmed = String(text).trim();
  return trimmed !== '' && Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
}

export function linesOf(text) {
  return text.split('\n').map((line) => line.trim()).filter(Boolean);
}
