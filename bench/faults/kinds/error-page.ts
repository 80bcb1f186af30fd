import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'error-page',
  title: 'a page comes in place of answers',
  causes: ['error_page'],
  begin({ size, random }) {
    const share = Math.min(1, around(random, bySize(size, 0.2, 0.5, 1.3)));
    return {
      call: (call) => (asked) =>
        random.uniform() < share
          ? {
              kind: 'body',
              status: 200,
              body: '<!doctype html><html><body><h1>Sign in</h1></body></html>',
              latencyMs: 0,
            }
          : call(asked),
    };
  },
};
