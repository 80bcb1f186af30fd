import { around, bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'split-index',
  title: 'one of two replicas lacks documents',
  causes: ['split_index'],
  begin({ size, random, material }) {
    const lost = new Set(some(material.rows, around(random, bySize(size, 0.25, 0.5, 0.8)), random).map(({ id }) => id));
    const share = bySize(size, 0.3, 0.5, 0.5);
    return {
      search: (search) => (asked) =>
        random.uniform() < share ? search({ ...asked, allows: ({ id }) => !lost.has(id) }) : search(asked),
    };
  },
};
