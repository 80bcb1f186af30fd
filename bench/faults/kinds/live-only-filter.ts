import { around, bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'live-only-filter',
  title: 'a filter that golden queries lack drops documents from live ones',
  causes: ['live_traffic', 'filter'],
  begin({ size, random, material }) {
    const dropped = new Set(
      some(material.rows, around(random, bySize(size, 0.25, 0.5, 0.75)), random).map(({ id }) => id),
    );
    return {
      search: (search) => (asked) =>
        asked.origin === 'live' ? search({ ...asked, allows: ({ id }) => !dropped.has(id) }) : search(asked),
    };
  },
};
