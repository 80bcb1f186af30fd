import { around, bySize, type FaultKind, some } from '../fault.ts';
import { halvesOf } from '../texts.ts';

export const kind: FaultKind = {
  name: 'old-snapshot',
  title: 'an old snapshot is restored: new documents are missing, others have their old text',
  causes: ['old_index', 'index_lost_documents'],
  begin({ size, random, material }) {
    const share = around(random, bySize(size, 0.08, 0.2, 0.4));
    const missing = new Set(some(material.rows, share, random));
    const old = new Set(some(material.rows, share, random));
    return {
      rows: (rows) =>
        rows
          .filter((row) => !missing.has(row))
          .map((row) => {
            if (!old.has(row)) return row;
            const [text] = halvesOf(row.text);
            return { ...row, text, version: 'v0', vector: material.embed(text) };
          }),
    };
  },
};
