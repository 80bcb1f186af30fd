import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'cold-cache',
  title: 'the first call for each query after a restart is slow',
  causes: ['cold_cache', 'retriever_slow'],
  begin({ size, random }) {
    const ms = around(random, bySize(size, 450, 700, 1200));
    const warm = new Set<string>();
    return {
      call: (call) => (asked) => {
        const latencyMs = warm.has(asked.text) ? 0 : ms;
        warm.add(asked.text);
        return { ...call(asked), latencyMs };
      },
    };
  },
};
