import { bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'shuffled-results',
  title: 'the order of the best results is random',
  causes: ['ranking'],
  begin({ size, random }) {
    const depth = bySize(size, 3, 5, 10);
    return {
      search: (search) => (asked) => {
        const hits = search(asked);
        return [...some(hits.slice(0, depth), 1, random), ...hits.slice(depth)].slice(0, hits.length);
      },
    };
  },
};
