import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'empty-lists',
  title: 'a part of the answers is an empty list',
  causes: ['empty_lists'],
  begin({ size, random }) {
    const share = Math.min(1, around(random, bySize(size, 0.12, 0.4, 1.3)));
    return { search: (search) => (asked) => (random.uniform() < share ? [] : search(asked)) };
  },
};
