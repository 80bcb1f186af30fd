import { bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'answer-ids-changed',
  title: 'the service answers with other ids than the store has',
  causes: ['ids_renamed'],
  begin({ size, random, material }) {
    const renamed = new Set(some(material.rows, bySize(size, 0.25, 0.6, 1), random).map(({ id }) => id));
    return {
      search: (search) => (asked) =>
        search(asked).map((hit) => (renamed.has(hit.id) ? { ...hit, id: `urn:doc:${hit.id}` } : hit)),
    };
  },
};
