import { around, bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'wrong-filter',
  title: 'a filter drops some of the documents from every search',
  causes: ['filter'],
  begin({ size, random, material }) {
    const dropped = new Set(
      some(material.rows, around(random, bySize(size, 0.08, 0.25, 0.6)), random).map(({ id }) => id),
    );
    return { search: (search) => (asked) => search({ ...asked, allows: ({ id }) => !dropped.has(id) }) };
  },
};
