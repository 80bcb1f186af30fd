import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'uncovered-topic',
  title: 'users ask about topics without a document',
  causes: ['uncovered_topic'],
  begin({ size, random, material }) {
    const share = around(random, bySize(size, 0.1, 0.25, 0.5));
    return {
      traffic: (draw) => () => {
        const query = material.unwrittenQueries[random.below(material.unwrittenQueries.length)];
        return query === undefined || random.uniform() >= share ? draw() : { query, text: query.text };
      },
    };
  },
};
