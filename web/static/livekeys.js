// The keyboard, as messages of the live view. A field that nobody sees has the focus, so that layouts, dead keys, input methods,
// dictation and a phone's keyboard work as they do elsewhere; what comes to stand in it goes to the page, and it is emptied.

const MAC = /^Mac|^iP/.test(navigator.platform);
const ESCAPES = 3; // in a row give the keyboard back
const PIECE = 16_384; // characters of a long paste in one message
// Firefox counts these keys differently from Chrome.
const KEY_CODES = { __proto__: null, 59: 186, 61: 187, 173: 189 };
// A phone's keyboard says that it deletes only where there is something to delete.
const REST = matchMedia('(pointer: coarse)').matches ? '\u00a0' : '';

const TAPS = {
  __proto__: null,
  Backspace: { key: 'Backspace', code: 'Backspace', keyCode: 8, text: '' },
  Delete: { key: 'Delete', code: 'Delete', keyCode: 46, text: '' },
  Enter: { key: 'Enter', code: 'Enter', keyCode: 13, text: '\r' },
};

// swaps says whether Cmd stands for Ctrl: the viewer sits at a Mac, and the browser does not.
function swaps(link) {
  return MAC && link.hello.value?.os !== 'mac';
}

// modifiers are an event's in the protocol's bits.
export function modifiers(event, link) {
  const control = event.ctrlKey || (event.metaKey && swaps(link));
  const meta = event.metaKey && !swaps(link);
  return (event.altKey ? 1 : 0) | (control ? 2 : 0) | (meta ? 4 : 0) | (event.shiftKey ? 8 : 0);
}

export class Keys {
  #field;
  #link;
  #leave;
  #held = new Map(); // the keys that are down, by their place
  #dead = false; // a dead key waits for its letter
  #escapes = 0;

  // leave takes the focus to where the page's own controls are.
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
      blur: () => this.#release(),
    };
    for (const [name, handler] of Object.entries(handlers)) this.#field.addEventListener(name, handler);
    return () => {
      for (const [name, handler] of Object.entries(handlers)) this.#field.removeEventListener(name, handler);
    };
  }

  // rest says that something else was done: Escapes do not count on.
  rest() {
    this.#escapes = 0;
  }

  #down(event) {
    if (event.isComposing || event.keyCode === 229 || ['Process', 'Unidentified'].includes(event.key)) return; // an input method has it
    if (this.#leaves(event)) return;
    if (event.key === 'Dead') {
      this.#dead = true;
      return;
    }
    if (this.#dead && [...event.key].length === 1) return; // with the dead key it makes what comes as input
    if (!isModifier(event.key)) this.#dead = false;
    if (event.key === 'AltGraph') {
      this.#letGo('ControlLeft'); // Windows presses that beside it
      event.preventDefault();
      return;
    }
    const shortcut = (MAC ? event.metaKey : event.ctrlKey) && !event.altKey ? letter(event) : '';
    if (shortcut === 'v' || (event.key === 'Insert' && event.shiftKey)) return; // comes as a paste
    event.preventDefault();
    if (!event.shiftKey && (shortcut === 'c' || shortcut === 'x')) this.#link.input({ type: 'copy', cut: shortcut === 'x' });
    else if (event.key === 'Insert' && event.ctrlKey) this.#link.input({ type: 'copy', cut: false });
    else this.#press(event);
  }

  // leaves counts the Escapes: the way out for who has no mouse.
  #leaves(event) {
    if (event.key !== 'Escape') this.#escapes = 0;
    else if (!event.repeat) this.#escapes++;
    if (this.#escapes < ESCAPES) return false;
    this.#escapes = 0;
    event.preventDefault();
    this.#leave();
    return true;
  }

  #press(event) {
    const pressed = { ...named(event, this.#link), text: typed(event), location: event.location, modifiers: typedModifiers(event, this.#link) };
    this.#link.input({ type: 'key', kind: 'down', ...pressed, repeat: event.repeat });
    this.#held.set(event.code || event.key, pressed);
    if (MAC && event.metaKey && event.key !== 'Meta') this.#letGo(event.code || event.key); // macOS tells of no release
  }

  #up(event) {
    if (!this.#held.has(event.code || event.key)) return;
    event.preventDefault();
    this.#letGo(event.code || event.key, typedModifiers(event, this.#link));
  }

  #letGo(place, withModifiers = 0) {
    const pressed = this.#held.get(place);
    if (!this.#held.delete(place)) return;
    this.#link.input({ type: 'key', kind: 'up', ...pressed, text: '', repeat: false, modifiers: withModifiers });
  }

  // release lets go of every key: whoever looks elsewhere does not hold them for the page.
  #release() {
    for (const place of [...this.#held.keys()]) this.#letGo(place);
    this.#dead = false;
    this.#escapes = 0;
  }

  #composed(text) {
    this.#link.input(text ? { type: 'text', text } : { type: 'compose', text: '', start: 0, end: 0 });
    this.#empty();
  }

  // input is what no key and no input method brought: a dead key's letter, a phone's keyboard, dictation, a picker.
  #input(event) {
    if (event.isComposing || /Composition/.test(event.inputType)) return;
    const text = event.data ?? this.#field.value.replace(REST, '');
    this.#empty();
    this.#dead = false;
    if (/^delete.*Forward$/.test(event.inputType)) this.#tap('Delete');
    else if (event.inputType.startsWith('delete')) this.#tap('Backspace');
    else if (/^insert(LineBreak|Paragraph)$/.test(event.inputType)) this.#tap('Enter');
    else if (text) this.#link.input({ type: 'text', text });
  }

  #tap(name) {
    const pressed = { type: 'key', ...TAPS[name], location: 0, repeat: false, modifiers: 0 };
    this.#link.input({ ...pressed, kind: 'down' });
    this.#link.input({ ...pressed, kind: 'up', text: '' });
  }

  #paste(event) {
    event.preventDefault();
    const letters = [...(event.clipboardData?.getData('text/plain') || '')];
    for (let at = 0; at < letters.length; at += PIECE) this.#link.input({ type: 'text', text: letters.slice(at, at + PIECE).join('') });
  }

  // copy comes from the viewer's menus; its keys were seen before.
  #copy(event, cut) {
    event.preventDefault();
    this.#link.input({ type: 'copy', cut });
  }

  #empty() {
    this.#field.value = REST;
  }
}

function isModifier(key) {
  return ['Shift', 'Control', 'Alt', 'AltGraph', 'Meta', 'CapsLock'].includes(key);
}

// letter is a shortcut's letter, also where the layout has none of the Latin ones.
function letter({ key, code }) {
  if (/^[a-z]$/i.test(key)) return key.toLowerCase();
  const [, latin = ''] = (key.codePointAt(0) > 127 && /^Key([A-Z])$/.exec(code)) || [];
  return latin.toLowerCase();
}

// named is what a key is called, with Cmd as Ctrl where it stands for it.
function named({ key, code, keyCode }, link) {
  if (key === 'Meta' && swaps(link)) return { key: 'Control', code: code.replace('Meta', 'Control'), keyCode: 17 };
  return { key, code, keyCode: KEY_CODES[keyCode] || keyCode };
}

// types says whether a key puts a letter into a text: AltGr and a Mac's Option make letters, Ctrl, Alt and Cmd do not.
function types(event) {
  if ([...event.key].length !== 1 || event.metaKey) return false;
  return event.getModifierState('AltGraph') || (!event.ctrlKey && (MAC || !event.altKey));
}

function typed(event) {
  if (event.key === 'Enter') return '\r';
  return types(event) ? event.key : '';
}

// typedModifiers leaves out what only chose the letter.
function typedModifiers(event, link) {
  const all = modifiers(event, link);
  const chose = types(event) && (event.getModifierState('AltGraph') || MAC);
  return chose ? all & ~3 : all;
}
