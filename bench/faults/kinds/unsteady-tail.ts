import { bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'unsteady-tail',
  title: 'the last results swap places now and then',
  causes: [],
  begin({ size, random }) {
    const share = bySize(size, 0.1, 0.3, 0.6);
    return {
      search: (search) => (asked) => {
        const hits = search(asked);
        return random.uniform() < share ? [...hits.slice(0, 7), ...some(hits.slice(7), 1, random)] : hits;
      },
    };
  },
};
