import { bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'emptied-index',
  title: 'the index is emptied, all or nearly all of it',
  causes: ['index_lost_documents', 'empty_lists'],
  begin({ size, random, material }) {
    const left = new Set(size === 'large' ? [] : some(material.rows, bySize(size, 0.1, 0.03, 0), random));
    return { rows: (rows) => rows.filter((row) => left.has(row)) };
  },
};
