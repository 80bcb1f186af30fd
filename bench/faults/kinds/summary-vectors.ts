import { groupBy } from '../../../src/core/group-by.ts';
import { around, bySize, type FaultKind, some } from '../fault.ts';
import { unit } from '../vectors.ts';

export const kind: FaultKind = {
  name: 'summary-vectors',
  title: 'the indexing job stores the vector of the summary of a source with each of its chunks',
  causes: ['embedding_model'],
  // A reranker finds the right chunk of a source by its words.
  fits: ({ shape, rows }) =>
    shape.retriever === 'dense' && rows.length >= 3 * new Set(rows.map(({ source }) => source)).size,
  begin({ size, random, material }) {
    const bySource = groupBy(material.rows, ({ source }) => source);
    const hurt = some([...bySource], Math.min(1, around(random, bySize(size, 0.1, 0.28, 1.2))), random);
    const summaries = new Map(
      hurt.map(([source, chunks]) => {
        const vectors = chunks.map(({ vector }) => vector);
        const sum = Array.from(vectors[0] ?? [], (_, at) => vectors.reduce((so, vector) => so + (vector[at] ?? 0), 0));
        return [source, unit(sum)];
      }),
    );
    return { rows: (rows) => rows.map((row) => ({ ...row, vector: summaries.get(row.source) ?? row.vector })) };
  },
};
