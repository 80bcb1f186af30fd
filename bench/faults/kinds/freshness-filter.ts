import { hashText } from '../../../src/demo/rag/hashed-tfidf.ts';
import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'freshness-filter',
  title: 'a date filter hides all sources that were written before some day',
  causes: ['filter'],
  begin({ size, random, material }) {
    const seed = random.below(1e9);
    const sources = [...new Set(material.rows.map(({ source }) => source))];
    const oldestFirst = sources.toSorted((a, b) => hashText(a, seed) - hashText(b, seed));
    const count = Math.ceil(around(random, bySize(size, 0.1, 0.3, 0.65)) * sources.length);
    const hidden = new Set(oldestFirst.slice(0, count));
    return { search: (search) => (asked) => search({ ...asked, allows: ({ source }) => !hidden.has(source) }) };
  },
};
