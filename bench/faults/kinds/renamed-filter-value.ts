import { bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'renamed-filter-value',
  title: 'the filter by topic asks for a value that documents no longer have, so nothing comes back',
  causes: ['filter', 'empty_lists', 'one_segment'],
  begin({ size, random, material }) {
    const topics = [...new Set(material.rows.map(({ topic }) => topic))];
    const hurt = new Set(some(topics, bySize(size, 0.17, 0.5, 1), random));
    return {
      search: (search) => (asked) => (hurt.has(asked.segments['topic'] ?? '') ? [] : search(asked)),
    };
  },
};
