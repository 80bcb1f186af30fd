import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'query-flood',
  title: 'one query is asked again and again',
  causes: ['repeated_query'],
  begin({ size, random, material }) {
    const volume = bySize(size, 2, 4, 8);
    const query = material.live[random.below(material.live.length)];
    return {
      volume,
      traffic: (draw) => () =>
        query === undefined || random.uniform() < 1 / volume ? draw() : { query, text: query.text },
    };
  },
};
