import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'retriever-down',
  title: 'nearly every call to the service fails',
  causes: ['retriever_outage', 'retriever_failing'],
  begin({ size, random }) {
    const share = Math.min(1, around(random, bySize(size, 1.2, 1.25, 1.3)));
    return {
      call: (call) => (asked) =>
        random.uniform() < share
          ? { kind: 'body', status: 503, body: '{"error":"unavailable"}', latencyMs: 0 }
          : call(asked),
    };
  },
};
