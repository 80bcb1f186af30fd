import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'sorted-by-id',
  title: 'results are sorted by their ids and not by relevance',
  causes: ['ranking'],
  begin({ size }) {
    const depth = bySize(size, 3, 5, 10);
    return {
      search: (search) => (asked) => {
        const hits = search(asked);
        return [...hits.slice(0, depth).toSorted((a, b) => (a.id < b.id ? -1 : 1)), ...hits.slice(depth)];
      },
    };
  },
};
