import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'corpus-growth',
  title: 'new documents are written and indexed',
  causes: [],
  begin({ size, material }) {
    const count = Math.ceil(bySize(size, 0.3, 0.6, 1) * material.unwritten.length);
    const added = material.unwritten.slice(0, count);
    return {
      rows: (rows) => [...rows, ...added],
      manifest: (lines, now) => [
        ...lines,
        ...added.map(({ id }) => ({ id, hash: 'v1', updated_at: now.toISOString() })),
      ],
    };
  },
};
