import { around, bySize, type FaultKind, some } from '../fault.ts';
import { halvesOf } from '../texts.ts';

function newId(id: string): string {
  return `${id}@2`;
}

export const kind: FaultKind = {
  name: 'new-versions-new-ids',
  title: 'documents are replaced by shorter new versions with new ids, as the manifest says',
  causes: ['golden_labels', 'corpus_changed', 'ids_renamed'],
  begin({ size, random, material }) {
    const changed = new Set(
      some(material.rows, around(random, bySize(size, 0.06, 0.15, 0.4)), random).map(({ id }) => id),
    );
    return {
      rows: (rows) =>
        rows.map((row) => {
          if (!changed.has(row.id)) return row;
          const [text] = halvesOf(row.text);
          return { ...row, id: newId(row.id), text, version: 'v2', vector: material.embed(text) };
        }),
      manifest: (lines, now) =>
        lines.flatMap((line) => {
          const updated_at = now.toISOString();
          if (!changed.has(line.id)) return line;
          return [
            { ...line, updated_at, deleted: true },
            { id: newId(line.id), hash: 'v2', updated_at },
          ];
        }),
    };
  },
};
