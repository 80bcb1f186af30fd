import { around, bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'updates-late',
  title: 'new versions of documents do not reach the index',
  causes: ['index_behind'],
  begin({ size, random, material }) {
    const changed = new Set(
      some(material.rows, around(random, bySize(size, 0.08, 0.2, 0.5)), random).map(({ id }) => id),
    );
    return {
      manifest: (lines, now) =>
        lines.map((line) => (changed.has(line.id) ? { ...line, hash: 'v2', updated_at: now.toISOString() } : line)),
    };
  },
};
