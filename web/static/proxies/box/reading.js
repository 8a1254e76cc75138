// What the server reads in a text of proxies, while it is typed.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../../app-context.js';

const PAUSE_MS = 200; // after the last key
const LONG_PAUSE_MS = 600; // for a text of more than LONG letters
const LONG = 50_000;
const MOST_CHOICES = 900; // that one request takes, beside the one for every line

// EVERY stands for the ambiguous lines without a choice of their own.
export const EVERY = '*';

// kindOf returns the content type of a list, told by how it begins: an object or a list of JSON, a CSV file's header, or else lines.
export function kindOf(text) {
  const [start] = text.replace(/^\ufeff/, '').trimStart().split('\n', 1);
  if (/^\{|^\[\s*(?:[{"\]]|$)/.test(start)) return 'application/json';
  const head = start.trim().split(/[,;\t]/).map((cell) => cell.trim().replace(/^"|"$/g, '').toLowerCase());
  const known = ['type', 'host', 'port', 'username', 'password', 'name', 'tags', 'notes', 'rotateurl', 'url'];
  return head.includes('url') || (head.includes('host') && head.includes('port')) ? (head.every((cell) => known.includes(cell)) ? 'text/csv' : 'text/plain') : 'text/plain';
}

// bodyOf returns what is sent for a text: a list of JSON alone is put into the object that the server takes.
export function bodyOf(text) {
  return kindOf(text) === 'application/json' && /^\s*\[/.test(text) ? `{"proxies":${text}}` : text;
}

// queryOf returns the request's parameters. choices maps a line's text, or EVERY, to the number of its reading.
export function queryOf({ text, type, tags = [], workspaceId, choices }) {
  const choice = [];
  if (choices.size) {
    if (choices.has(EVERY)) choice.push(`${EVERY}:${choices.get(EVERY)}`);
    text.split('\n').forEach((line, i) => {
      const reading = choices.get(line.trim());
      if (reading && choice.length < MOST_CHOICES) choice.push(`${i + 1}:${reading}`);
    });
  }
  return { workspaceId, type, tag: tags, choice };
}

// useReading sends a dry run when typing has stopped: {answer, busy, problem, choices, choose, again}. answer is null for an empty text.
export function useReading({ text, type, workspaceId }) {
  const { api } = useApp();
  const [state, setState] = useState({ answer: null, busy: false, problem: null });
  const [choices, setChoices] = useState(() => new Map());
  const [turn, setTurn] = useState(0);
  const before = useRef({ type, choices });
  const empty = !text.trim();
  useEffect(() => {
    if (before.current.type !== type && choices.size) return setChoices(new Map()); // a line may have other readings now
    const clicked = before.current.choices !== choices;
    before.current = { type, choices };
    if (empty) return setState({ answer: null, busy: false, problem: null });
    const ending = new AbortController();
    setState((now) => (now.busy ? now : { ...now, busy: true }));
    const read = async () => {
      const query = { ...queryOf({ text, type, workspaceId, choices }), dryRun: true, results: 'failed' };
      try {
        const answer = await api.send('/proxies/import', query, kindOf(text), bodyOf(text), ending.signal);
        if (!ending.signal.aborted) setState({ answer, busy: false, problem: null });
      } catch (problem) {
        if (problem.name !== 'AbortError') setState({ answer: null, busy: false, problem });
      }
    };
    const timer = setTimeout(read, clicked ? 0 : text.length > LONG ? LONG_PAUSE_MS : PAUSE_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [text, type, workspaceId, choices, turn]);
  const choose = (line, reading) => setChoices((now) => new Map(now).set(line, reading));
  return { ...state, choices, choose, again: () => setTurn((n) => n + 1) };
}
