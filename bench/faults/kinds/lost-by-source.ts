import { around, bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'lost-by-source',
  title: 'all chunks of some sources vanish',
  causes: ['index_lost_documents'],
  begin({ size, random, material }) {
    const sources = [...new Set(material.rows.map(({ source }) => source))];
    const lost = new Set(some(sources, around(random, bySize(size, 0.05, 0.15, 0.35)), random));
    return { rows: (rows) => rows.filter(({ source }) => !lost.has(source)) };
  },
};
