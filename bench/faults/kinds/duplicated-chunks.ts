import { bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'duplicated-chunks',
  title: 'chunks are stored several times under different ids',
  causes: ['duplicate_results'],
  begin({ size, random, material }) {
    const twice = new Set(some(material.rows, bySize(size, 0.3, 0.7, 1), random));
    const copies = bySize(size, 2, 3, 5);
    return {
      rows: (rows) =>
        rows.flatMap((row) =>
          twice.has(row)
            ? [row, ...Array.from({ length: copies }, (_, at) => ({ ...row, id: `${row.id}~${at}` }))]
            : row,
        ),
    };
  },
};
