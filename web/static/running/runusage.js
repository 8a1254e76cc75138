// What one run uses, read again and again while somebody looks at it.
import { useEffect, useState } from 'preact/hooks';
import { useApp } from '../app-context.js';
import { html } from '../html.js';
import { diskWords, usageWords } from './usage.js';

const USAGE_MS = 5000;

// useRunUsage reads the usage of a profile's run, given the profile's path. It is null before the first answer and while nothing runs.
export function useRunUsage(running, path) {
  const { api } = useApp();
  const [usage, setUsage] = useState(null);
  useEffect(() => {
    setUsage(null);
    if (!running) return undefined;
    const ending = new AbortController();
    const read = () => document.hidden || api.get(`${path}/runs`, { limit: 1 }, { signal: ending.signal }).then(({ data }) => setUsage(data[0]?.usage ?? null), () => {}); // keeps the old figures
    read();
    const timer = setInterval(read, USAGE_MS);
    return () => {
      ending.abort();
      clearInterval(timer);
    };
  }, [running, path]);
  return usage;
}

// usagePairs are the facts about a usage.
export function usagePairs(usage) {
  if (!usage) return [];
  const { words, most, more, near } = usageWords(usage);
  return [
    ['Uses', words && html`<span class=${near ? 'number bad-text' : 'number'} title=${more}>${words}</span>`],
    ['Most so far', most && html`<span class="number">${most}</span>`],
    ['Disk', usage.readBytes != null && html`<span class="number">${diskWords(usage.readBytes, usage.writeBytes)}</span>`],
  ];
}
