import { around, bySize, type FaultKind, someTexts } from '../fault.ts';
import { oldRows } from '../old-index.ts';
import { createSearch } from '../search.ts';

export const kind: FaultKind = {
  name: 'lists-cached-before-rebuild',
  title: 'repeated queries get result lists that were cached before the last rebuild of the index',
  causes: ['old_index'],
  begin({ size, random, material }) {
    const isCached = someTexts(random, around(random, bySize(size, 0.4, 0.6, 0.8)));
    const rows = oldRows(material, around(random, bySize(size, 0.35, 0.5, 0.65)), random);
    const searchBefore = createSearch(material.shape, rows, material.embed);
    return { search: (search) => (asked) => (isCached(asked.text) ? searchBefore(asked) : search(asked)) };
  },
};
