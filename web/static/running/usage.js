// What a run uses of the machine, in words.
import { bytes, count, number } from '../format.js';

// MEMORY explains how a run's memory was measured.
const MEMORY = {
  __proto__: null,
  cgroup: 'Memory as the kernel counts it for the run, with files in use',
  pss: 'Memory, with its share of what processes share (PSS)',
  private: 'Memory of its processes, without what they share',
};

const NEAR = 0.9; // of its limit, from which the kernel takes memory back

// usageWords returns {words, more, near}: memory and processor, further facts, and whether the memory is nearly used up.
export function usageWords({ cpuPercent: cpu, memoryBytes: memory, memoryKind, memoryLimitBytes: limit, peakMemoryBytes: peak, processes, pids }) {
  const words = [memory == null ? '' : bytes(memory) + (limit ? ` of ${bytes(limit)}` : ''), cpu == null ? '' : `CPU ${cpu < 10 ? cpu.toFixed(1) : Math.round(cpu)} %`].filter(Boolean).join(' · ');
  const more = [MEMORY[memoryKind], peak != null && `At most ${bytes(peak)} so far`, processes != null && count(processes, 'process', 'processes'), pids != null && `${number(pids)} with threads`].filter(Boolean).join('. ');
  return { words, more, near: Boolean(limit) && memory != null && memory >= NEAR * limit };
}

export function diskWords(read, written) {
  return `${bytes(read || 0)} read · ${bytes(written || 0)} written`;
}
