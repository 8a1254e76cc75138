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

// memoryOf writes an amount of memory, in the unit of limits where there is a limit.
function memoryOf(n, limit) {
  return limit ? `${mebibytes(n)} MiB` : bytes(n);
}

function mebibytes(n) {
  return number(Math.round(n / 2 ** 20));
}

// usageWords returns {words, most, more, near}: memory and processor, the most memory so far, further facts, and whether the memory is nearly used up.
export function usageWords({ cpuPercent: cpu, memoryBytes: memory, memoryKind, memoryLimitBytes: limit, peakMemoryBytes: peak, processes, pids }) {
  const now = memory == null ? '' : limit ? `${mebibytes(memory)} of ${memoryOf(limit, limit)}` : bytes(memory);
  const most = peak == null ? '' : memoryOf(peak, limit);
  const words = [now, cpu == null ? '' : `CPU ${cpu < 10 ? cpu.toFixed(1) : Math.round(cpu)} %`].filter(Boolean).join(' · ');
  const more = [MEMORY[memoryKind], most && `At most ${most} so far`, processes != null && count(processes, 'process', 'processes'), pids != null && `${number(pids)} with threads`].filter(Boolean).join('. ');
  return { words, most, more, near: Boolean(limit) && memory != null && memory >= NEAR * limit };
}

export function diskWords(read, written) {
  return `${bytes(read || 0)} read · ${bytes(written || 0)} written`;
}
