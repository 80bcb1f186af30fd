import { bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'ids-renamed',
  title: 'documents are indexed again under other ids',
  causes: ['ids_renamed'],
  begin({ size, random, material }) {
    const renamed = new Set(some(material.rows, bySize(size, 0.25, 0.6, 1), random));
    return { rows: (rows) => rows.map((row) => (renamed.has(row) ? { ...row, id: `kb-${row.id}` } : row)) };
  },
};
