// Hooks of the drawer's tabs.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '../../app-context.js';

// useList reads a list page by page: {rows, more, problem, busy, reload, next, drop}. names says which events call for reading it again.
export function useList(path, query, names = () => false) {
  const app = useApp();
  const [state, setState] = useState({ rows: null, next: null, problem: null });
  const [busy, setBusy] = useState(false);
  const last = useRef(0);
  const read = async (after) => {
    const mine = ++last.current;
    setBusy(true);
    try {
      const { data, next } = await app.api.get(path, { ...query, after });
      if (mine === last.current) setState((before) => ({ rows: after ? [...before.rows, ...data] : data, next: next || null, problem: null }));
    } catch (problem) {
      if (mine === last.current) setState((before) => ({ ...before, problem }));
    }
    if (mine === last.current) setBusy(false);
  };
  useEffect(() => {
    setState({ rows: null, next: null, problem: null });
    read();
    const unwatch = app.model.event.watch((event) => (event.type === 'everything' || names(event)) && read());
    return () => {
      last.current = -1;
      unwatch();
    };
  }, [path]);
  return { ...state, busy, reload: () => read(), more: () => read(state.next), drop: (id) => setState((before) => ({ ...before, rows: before.rows.filter((row) => row.id !== id) })) };
}

// isOf says whether an event is about a profile or its run.
export function isOf(id, { type, data }) {
  return /^(profile|run|capability)\./.test(type) && (data?.profileId || data?.id) === id;
}

// saveBlob hands a file to the browser's downloads.
export function saveBlob(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
