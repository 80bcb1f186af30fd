import { bySize, type FaultKind, some } from '../fault.ts';
import { halvesOf } from '../texts.ts';

export const kind: FaultKind = {
  name: 'rechunked',
  title: 'documents are cut into smaller chunks with new ids',
  causes: ['corpus_changed'],
  begin({ size, random, material }) {
    const cut = new Set(some(material.rows, bySize(size, 0.2, 0.5, 1), random));
    return {
      rows: (rows) =>
        rows.flatMap((row) =>
          cut.has(row)
            ? halvesOf(row.text).map((text, at) => ({
                ...row,
                id: `${row.id}#${at}`,
                text,
                vector: material.embed(text),
              }))
            : row,
        ),
    };
  },
};
