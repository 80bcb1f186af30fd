import { around, bySize, type FaultKind } from '../fault.ts';
import { oldRows } from '../old-index.ts';
import { createSearch } from '../search.ts';

export const kind: FaultKind = {
  name: 'alias-flipped-back',
  title: 'the alias of the service points to the index of last week again',
  causes: ['old_index'],
  begin({ size, random, material }) {
    const rows = oldRows(material, around(random, bySize(size, 0.15, 0.35, 0.7)), random);
    const lastWeek = createSearch(material.shape, rows, material.embed);
    return { search: () => lastWeek };
  },
};
