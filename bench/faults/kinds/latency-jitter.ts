import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'latency-jitter',
  title: 'calls take some milliseconds more than before',
  causes: [],
  begin({ size, random }) {
    const ms = bySize(size, 15, 40, 80);
    return { call: (call) => (asked) => ({ ...call(asked), latencyMs: ms * 2 * random.uniform() }) };
  },
};
