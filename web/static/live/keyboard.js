// Sends the keyboard to the live view. An invisible field has the focus, so that layouts, dead keys, input methods,
// dictation and phone keyboards work. Text that arrives in the field is sent to the page, and the field is cleared.

const MAC = /^Mac|^iP/.test(navigator.platform);
const ESCAPES = 3; // pressed in a row, they return the keyboard to this page
// Firefox numbers these keys differently from Chrome.
const KEY_CODES = { __proto__: null, 59: 186, 61: 187, 173: 189 };
// A phone's keyboard reports a deletion only if there is text to delete.
const PLACEHOLDER = matchMedia('(pointer: coarse)').matches ? '\u00a0' : '';

const KEY_PRESSES = {
  __proto__: null,
  Backspace: { key: 'Backspace', code: 'Backspace', keyCode: 8, text: '' },
  Delete: { key: 'Delete', code: 'Delete', keyCode: 46, text: '' },
  Enter: { key: 'Enter', code: 'Enter', keyCode: 13, text: '\r' },
};

// cmdIsCtrl reports whether Cmd stands for Ctrl: the viewer uses a Mac, and the browser does not.
function cmdIsCtrl(link) {
  return MAC && link.hello.value?.os !== 'mac';
}

// modifiers returns an event's modifiers as the protocol's bits.
export function modifiers(event, link) {
  const control = event.ctrlKey || (event.metaKey && cmdIsCtrl(link));
  const meta = event.metaKey && !cmdIsCtrl(link);
  return (event.altKey ? 1 : 0) | (control ? 2 : 0) | (meta ? 4 : 0) | (event.shiftKey ? 8 : 0);
}

export class Keyboard {
  #field;
  #link;
  #leave;
  #held = new Map(); // pressed keys, by code
  #dead = false; // a dead key waits for its letter
  #escapes = 0;

  // leave moves the focus to this page's own controls.
  constructor(field, link, leave) {
    this.#field = field;
    this.#link = link;
    this.#leave = leave;
  }

  begin() {
    const handlers = {
      keydown: (event) => this.#down(event),
      keyup: (event) => this.#up(event),
      compositionstart: () => { this.#dead = false; },
      compositionupdate: ({ data }) => this.#link.input({ type: 'compose', text: data, start: data.length, end: data.length }),
      compositionend: ({ data }) => this.#composed(data),
      input: (event) => this.#input(event),
      paste: (event) => this.#paste(event),
      copy: (event) => this.#copy(event, false),
      cut: (event) => this.#copy(event, true),
      focus: () => this.#empty(),
      blur: () => this.#releaseAll(),
    };
    for (const [name, handler] of Object.entries(handlers)) this.#field.addEventListener(name, handler);
    return () => {
      for (const [name, handler] of Object.entries(handlers)) this.#field.removeEventListener(name, handler);
    };
  }

  // resetEscapes is called for other input, which interrupts a row of Escapes.
  resetEscapes() {
    this.#escapes = 0;
  }

  #down(event) {
    if (event.isComposing || event.keyCode === 229 || ['Process', 'Unidentified'].includes(event.key)) return; // the input method handles it
    if (this.#countEscape(event)) return;
    if (event.key === 'Dead') {
      this.#dead = true;
      return;
    }
    if (this.#dead && [...event.key].length === 1) return; // arrives as input, combined with the dead key
    if (!isModifier(event.key)) this.#dead = false;
    if (event.key === 'AltGraph') {
      this.#releaseKey('ControlLeft'); // Windows presses it together with AltGr
      event.preventDefault();
      return;
    }
    const shortcut = (MAC ? event.metaKey : event.ctrlKey) && !event.altKey ? letter(event) : '';
    if (shortcut === 'v' || (event.key === 'Insert' && event.shiftKey)) return; // arrives as a paste event
    event.preventDefault();
    if (!event.shiftKey && (shortcut === 'c' || shortcut === 'x')) this.#link.input({ type: 'copy', cut: shortcut === 'x' });
    else if (event.key === 'Insert' && event.ctrlKey) this.#link.input({ type: 'copy', cut: false });
    else this.#press(event);
  }

  // countEscape counts Escapes, the way out for keyboard users. It returns true for the last one.
  #countEscape(event) {
    if (event.key !== 'Escape') this.#escapes = 0;
    else if (!event.repeat) this.#escapes++;
    if (this.#escapes < ESCAPES) return false;
    this.#escapes = 0;
    event.preventDefault();
    this.#leave();
    return true;
  }

  #press(event) {
    const pressed = { ...keyNames(event, this.#link), text: typed(event), location: event.location, modifiers: typedModifiers(event, this.#link) };
    this.#link.input({ type: 'key', kind: 'down', ...pressed, repeat: event.repeat });
    this.#held.set(event.code || event.key, pressed);
    if (MAC && event.metaKey && event.key !== 'Meta') this.#releaseKey(event.code || event.key); // macOS sends no keyup for it
  }

  #up(event) {
    if (!this.#held.has(event.code || event.key)) return;
    event.preventDefault();
    this.#releaseKey(event.code || event.key, typedModifiers(event, this.#link));
  }

  #releaseKey(place, withModifiers = 0) {
    const pressed = this.#held.get(place);
    if (!this.#held.delete(place)) return;
    this.#link.input({ type: 'key', kind: 'up', ...pressed, text: '', repeat: false, modifiers: withModifiers });
  }

  // releaseAll releases all keys when the field loses the focus.
  #releaseAll() {
    for (const place of [...this.#held.keys()]) this.#releaseKey(place);
    this.#dead = false;
    this.#escapes = 0;
  }

  #composed(text) {
    this.#link.input(text ? { type: 'text', text } : { type: 'compose', text: '', start: 0, end: 0 });
    this.#empty();
  }

  // input handles text that came from no key and no input method: a dead key's letter, a phone keyboard, dictation, a
  // picker.
  #input(event) {
    if (event.isComposing || /Composition/.test(event.inputType)) return;
    const text = event.data ?? this.#field.value.replace(PLACEHOLDER, '');
    this.#empty();
    this.#dead = false;
    if (/^delete.*Forward$/.test(event.inputType)) this.#pressKey('Delete');
    else if (event.inputType.startsWith('delete')) this.#pressKey('Backspace');
    else if (/^insert(LineBreak|Paragraph)$/.test(event.inputType)) this.#pressKey('Enter');
    else if (text) this.#link.input({ type: 'text', text });
  }

  #pressKey(name) {
    const pressed = { type: 'key', ...KEY_PRESSES[name], location: 0, repeat: false, modifiers: 0 };
    this.#link.input({ ...pressed, kind: 'down' });
    this.#link.input({ ...pressed, kind: 'up', text: '' });
  }

  #paste(event) {
    event.preventDefault();
    this.#link.text(event.clipboardData?.getData('text/plain') || '');
  }

  // copy handles the viewer's menus; shortcuts are handled in keydown.
  #copy(event, cut) {
    event.preventDefault();
    this.#link.input({ type: 'copy', cut });
  }

  #empty() {
    this.#field.value = PLACEHOLDER;
  }
}

function isModifier(key) {
  return ['Shift', 'Control', 'Alt', 'AltGraph', 'Meta', 'CapsLock'].includes(key);
}

// letter returns a shortcut's letter, also for layouts without Latin letters.
function letter({ key, code }) {
  if (/^[a-z]$/i.test(key)) return key.toLowerCase();
  const [, latin = ''] = (key.codePointAt(0) > 127 && /^Key([A-Z])$/.exec(code)) || [];
  return latin.toLowerCase();
}

// keyNames returns how the protocol names a key, with Cmd as Ctrl where it stands for it.
function keyNames({ key, code, keyCode }, link) {
  if (key === 'Meta' && cmdIsCtrl(link)) return { key: 'Control', code: code.replace('Meta', 'Control'), keyCode: 17 };
  return { key, code, keyCode: KEY_CODES[keyCode] || keyCode };
}

// insertsText reports whether a key inserts a character: with AltGr or a Mac's Option it does, with Ctrl, Alt or Cmd
// not.
function insertsText(event) {
  if ([...event.key].length !== 1 || event.metaKey) return false;
  return event.getModifierState('AltGraph') || (!event.ctrlKey && (MAC || !event.altKey));
}

function typed(event) {
  if (event.key === 'Enter') return '\r';
  return insertsText(event) ? event.key : '';
}

// typedModifiers leaves out modifiers that only selected the character.
function typedModifiers(event, link) {
  const all = modifiers(event, link);
  const chose = insertsText(event) && (event.getModifierState('AltGraph') || MAC);
  return chose ? all & ~3 : all;
}
