import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'slow',
  title: 'every call takes long, within the time limit',
  causes: ['retriever_slow'],
  begin({ size, random }) {
    const ms = around(random, bySize(size, 420, 550, 700));
    return { call: (call) => (asked) => ({ ...call(asked), latencyMs: ms * (0.9 + 0.2 * random.uniform()) }) };
  },
};
