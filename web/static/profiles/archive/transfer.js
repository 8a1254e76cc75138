// Files that may be larger than memory, on their way from and to the server.
import { saveBlob } from '../drawer/use.js';

// fileNamed returns a name for an archive of profiles, as the server would call it.
export function fileNamed(profiles) {
  const name = profiles.length === 1 ? [...profiles[0].name].slice(0, 100).join('').replace(/[\\/:*?"<>|\p{C}]/gu, '-') : `${profiles.length} profiles`;
  return `${name} ${new Date().toISOString().slice(0, 10)}.warren`;
}

// asHeader returns a text as the bytes of its UTF-8, one letter each: headers take no other letters.
export function asHeader(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

// place asks the person for a file to write, where the browser lets a page write one; else it returns null. It must be called at once after a
// click. AbortError means that the person wants none.
export async function place(name) {
  if (!window.showSaveFilePicker) return null;
  try {
    return await window.showSaveFilePicker({ suggestedName: name, types: [{ description: 'Warren archive', accept: { 'application/octet-stream': ['.warren'] } }] });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return null; // not allowed here
  }
}

// store writes an answer into the file, piece by piece, and calls `progress` with the number of bytes. Without a file the browser keeps the answer,
// on its disk if it is large, and adds it to its downloads.
export async function store(response, file, name, signal, progress) {
  if (!file) return saveBlob(await response.blob(), name);
  let done = 0;
  const count = new TransformStream({ transform(piece, next) {
    done += piece.byteLength;
    progress(done);
    next.enqueue(piece);
  } });
  await response.body.pipeThrough(count).pipeTo(await file.createWritable(), { signal }); // what was written is not seen before its end
}

// forget removes the empty file that a person chose for what did not come.
export async function forget(file) {
  await file?.remove?.().catch(() => {});
}

// KINDS are the first letters of an archive, and what opens it.
const KINDS = [['age-encryption.org/v1\n-> scrypt ', 'passphrase'], ['age-encryption.org/v1\n', 'identity'], ['archive.json\0', 'open']];

// kindOf says what opens a file: passphrase, identity, open (nothing), other (it is no archive: the server reads it), or none (it is empty).
export async function kindOf(file) {
  const start = new TextDecoder('latin1').decode(await file.slice(0, 64).arrayBuffer());
  return KINDS.find(([letters]) => start.startsWith(letters))?.[1] || (start ? 'other' : 'none');
}
