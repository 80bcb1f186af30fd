import { bySize, type FaultKind, some } from '../fault.ts';
import { prefixOf } from '../texts.ts';

export const kind: FaultKind = {
  name: 'truncated-chunks',
  title: 'chunks are cut to their beginning when they are indexed',
  causes: ['damaged_texts'],
  begin({ size, random, material }) {
    const cut = new Set(some(material.rows, bySize(size, 0.3, 0.7, 1), random));
    const share = bySize(size, 0.25, 0.25, 0.1);
    return {
      rows: (rows) =>
        rows.map((row) => {
          if (!cut.has(row)) return row;
          const text = prefixOf(row.text, share);
          return { ...row, text, vector: material.embed(text) };
        }),
    };
  },
};
