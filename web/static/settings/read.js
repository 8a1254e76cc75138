// What the sections of the settings share: reading an answer, and saying which scope is missing.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.js';
import { useApp } from '../app-context.js';
import { Notice, ProblemBox } from '../components.js';

// useAnswer reads a path when it is first shown and when `again` says that an event changed it: {data, problem, reload}.
export function useAnswer(path, query, again = () => false) {
  const app = useApp();
  const [state, setState] = useState({ data: null, problem: null });
  const reload = () => app.api.get(path, query).then((data) => setState({ data, problem: null }), (problem) => setState((before) => ({ ...before, problem })));
  useEffect(() => {
    reload();
    let planned = 0;
    const unwatch = app.model.event.watch((event) => {
      if (event.type !== 'everything' && event.type !== 'events.lost' && !again(event)) return;
      clearTimeout(planned);
      planned = setTimeout(reload, 200); // events come in groups
    });
    return () => {
      clearTimeout(planned);
      unwatch();
    };
  }, [path]);
  return { ...state, reload };
}

// Missing shows why something could not be read. A refusal for want of a scope is no failure.
export function Missing({ problem, what, scope = 'admin' }) {
  if (!problem) return null;
  if (problem.status !== 403) return html`<${ProblemBox} problem=${problem} />`;
  return html`<${Notice}><p>Your key may not see ${what}. That needs a key with the scope <code>${scope}</code>.</p><//>`;
}
