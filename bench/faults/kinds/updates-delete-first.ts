import { around, bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'updates-delete-first',
  title: 'updates delete the old version at once, and the new one waits in a jammed queue',
  causes: ['index_behind', 'index_lost_documents'],
  begin({ size, random, material }) {
    const changed = new Set(
      some(material.rows, around(random, bySize(size, 0.06, 0.17, 0.45)), random).map(({ id }) => id),
    );
    return {
      rows: (rows) => rows.filter(({ id }) => !changed.has(id)),
      manifest: (lines, now) =>
        lines.map((line) => (changed.has(line.id) ? { ...line, hash: 'v2', updated_at: now.toISOString() } : line)),
    };
  },
};
