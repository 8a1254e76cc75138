// Hooks that tie a list to the route, to the events and to its grid.
import { useEffect, useMemo } from 'preact/hooks';
import { useApp } from '../app-context.js';
import { useStore } from '../store.js';
import { Columns } from './columns.js';
import { Rows } from './rows.js';
import { Selection } from './selection.js';

// useList reads a list for a query, and keeps it current. `on` handles an event of the server, given the rows.
export function useList(path, query, on, options) {
  const app = useApp();
  const rows = useMemo(() => new Rows(app.api, path, options), [app, path]);
  const selection = useMemo(() => new Selection(), [app, path]);
  const asked = JSON.stringify(query);
  useEffect(() => {
    selection.clear();
    rows.show(JSON.parse(asked)).then(() => app.model.sawWorkspaces(rows.loaded()));
  }, [rows, asked]);
  useEffect(() => {
    const unwatch = app.model.event.watch((event) => (event.type === 'everything' || event.type === 'events.lost' ? rows.changed(null, true) : on(event, rows)));
    return () => {
      unwatch();
      rows.stop();
    };
  }, [rows]);
  return { rows, selection, view: useStore(rows.view) };
}

// useColumns returns the columns of a grid with the choice that is kept under its name. They are made anew when `which` there are changes.
export function useColumns(name, make, which) {
  return useMemo(() => new Columns(name, make()), [name, which]);
}

// useSort reads the order from the route: {sort, order, onSort}.
export function useSort(params, fallback, order = 'desc') {
  const { router } = useApp();
  const sort = params.get('sort') || fallback;
  return {
    sort,
    order: params.get('order') || (params.get('sort') ? 'desc' : order),
    onSort: (by, way) => router.refine({ sort: by, order: way }),
  };
}
