import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'retriever-failing',
  title: 'a part of the calls to the service fails',
  causes: ['retriever_failing'],
  begin({ size, random }) {
    const share = Math.min(1, around(random, bySize(size, 0.1, 0.2, 0.4)));
    return {
      call: (call) => (asked) =>
        random.uniform() < share
          ? { kind: 'body', status: 500, body: '{"error":"internal error"}', latencyMs: 0 }
          : call(asked),
    };
  },
};
