import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'positions-shifted',
  title: 'a document is deleted from the array of documents, but not from the index, and hits show their neighbors',
  causes: ['unknown'],
  begin({ size, random, material }) {
    // The index returns positions. All positions after the deleted document are off by one.
    const share = Math.min(1, around(random, bySize(size, 0.12, 0.4, 1.3)));
    const { rows } = material;
    const deleted = Math.floor((1 - share) * rows.length);
    const shown = new Map(rows.slice(deleted).map(({ id }, at, after) => [id, after[at + 1]]));
    return {
      search: (search) => (asked) =>
        search(asked).map((hit) => {
          const { id, text } = shown.get(hit.id) ?? hit;
          return { ...hit, id, text };
        }),
    };
  },
};
