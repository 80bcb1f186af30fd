import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'unauthorised',
  title: 'the service refuses the credentials',
  causes: ['access_denied'],
  begin({ size, random }) {
    const share = Math.min(1, around(random, bySize(size, 0.4, 0.9, 1.3)));
    return {
      call: (call) => (asked) =>
        random.uniform() < share
          ? { kind: 'body', status: 401, body: '{"error":"unauthorized"}', latencyMs: 0 }
          : call(asked),
    };
  },
};
