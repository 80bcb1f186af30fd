import { bySize, type FaultKind, someTexts } from '../fault.ts';

export const kind: FaultKind = {
  name: 'coarse-vectors',
  title: 'the search compares vectors of one bit a dimension',
  causes: ['index_parameters'],
  fits: ({ shape }) => shape.retriever !== 'lexical',
  begin({ size, random }) {
    const isHurt = someTexts(random, bySize(size, 0.6, 0.8, 1));
    const kept = bySize(size, 64, 32, 16);
    return {
      search: (search) => (asked) => {
        if (!isHurt(asked.text)) return search(asked);
        return search({ ...asked, bits: kept });
      },
    };
  },
};
