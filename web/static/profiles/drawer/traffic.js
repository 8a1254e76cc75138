// A profile's traffic by day.
import { useEffect, useState } from 'preact/hooks';
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { Bars } from '../../chart.js';
import { ProblemBox } from '../../components.js';
import { DAYS, daysOf, firstDay, PARTS } from '../../days.js';
import { bytes } from '../../format.js';
import { isOf } from './use.js';

export function Traffic({ path, id }) {
  const app = useApp();
  const [{ data, problem }, setState] = useState({ data: null, problem: null });
  useEffect(() => {
    const read = () => app.api.get(`${path}/traffic`, { by: 'day', from: firstDay() })
      .then(({ data: days }) => setState({ data: days, problem: null }), (fault) => setState((before) => ({ ...before, problem: fault })));
    read();
    return app.model.event.watch((event) => { if (event.type === 'everything' || (event.type === 'run.ended' && isOf(id, event))) read(); });
  }, [path]);
  return html`<section><h3>Traffic</h3><${ProblemBox} problem=${problem} />
    ${data && html`<${Bars} title=${`The last ${DAYS} days`} points=${daysOf(data)} parts=${PARTS} say=${(n) => bytes(Math.round(n))} empty="Nothing was sent or received." />`}</section>`;
}
