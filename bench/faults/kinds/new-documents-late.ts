import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'new-documents-late',
  title: 'new documents do not reach the index, and users ask about them',
  causes: ['index_behind'],
  begin({ size, random, material }) {
    const share = around(random, bySize(size, 0.08, 0.2, 0.4));
    return {
      manifest: (lines, now) => [
        ...lines,
        ...material.unwritten.map(({ id }) => ({ id, hash: 'v1', updated_at: now.toISOString() })),
      ],
      traffic: (draw) => () => {
        const query = material.unwrittenQueries[random.below(material.unwrittenQueries.length)];
        return query === undefined || random.uniform() >= share ? draw() : { query, text: query.text };
      },
    };
  },
};
