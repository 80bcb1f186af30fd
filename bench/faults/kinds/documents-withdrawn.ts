import { around, bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'documents-withdrawn',
  title: 'owners withdraw documents, which the manifest lists as deleted',
  causes: ['golden_labels', 'corpus_changed'],
  begin({ size, random, material }) {
    const withdrawn = new Set(
      some(material.rows, around(random, bySize(size, 0.06, 0.15, 0.4)), random).map(({ id }) => id),
    );
    return {
      withdrawn,
      rows: (rows) => rows.filter(({ id }) => !withdrawn.has(id)),
      manifest: (lines, now) =>
        lines.map((line) =>
          withdrawn.has(line.id) ? { ...line, updated_at: now.toISOString(), deleted: true } : line,
        ),
    };
  },
};
