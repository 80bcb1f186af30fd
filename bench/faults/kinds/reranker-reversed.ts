import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'reranker-reversed',
  title: 'the best results come in reverse order',
  causes: ['ranking'],
  begin({ size }) {
    const depth = bySize(size, 2, 4, 10);
    return {
      search: (search) => (asked) => {
        const hits = search(asked);
        return [...hits.slice(0, depth).toReversed(), ...hits.slice(depth)];
      },
    };
  },
};
