import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'tenant-filter',
  title: 'queries of one topic are searched in the documents of another',
  causes: ['one_segment', 'filter'],
  begin({ size, random, material }) {
    const topics = [...new Set(material.rows.map(({ topic }) => topic))];
    const hurt = topics[random.below(topics.length)];
    const share = bySize(size, 0.5, 0.8, 1);
    return {
      search: (search) => (asked) =>
        asked.segments['topic'] === hurt && random.uniform() < share
          ? search({ ...asked, allows: ({ topic }) => topic !== hurt })
          : search(asked),
    };
  },
};
