import { around, bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'lost-at-random',
  title: 'documents vanish from the index at random',
  causes: ['index_lost_documents'],
  begin({ size, random, material }) {
    const lost = new Set(some(material.rows, around(random, bySize(size, 0.06, 0.15, 0.4)), random));
    return { rows: (rows) => rows.filter((row) => !lost.has(row)) };
  },
};
