import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'timeouts',
  title: 'a part of the calls takes longer than the time limit',
  causes: ['retriever_slow'],
  begin({ size, random }) {
    const share = around(random, bySize(size, 0.08, 0.2, 0.5));
    return { call: (call) => (asked) => ({ ...call(asked), latencyMs: random.uniform() < share ? 3500 : 0 }) };
  },
};
