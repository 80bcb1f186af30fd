import { bySize, type FaultKind, some } from '../fault.ts';

export const kind: FaultKind = {
  name: 'same-index-rebuilt',
  title: 'the index is built again from the same documents',
  causes: [],
  begin({ size, random }) {
    const vectors = bySize(size, 0, 0.01, 0.02);
    return {
      rows: (rows) =>
        some(rows, 1, random).map((row) => ({ ...row, vector: row.vector.map((value) => value * (1 + vectors)) })),
      deployments: [{ kind: 'index', version: 'rebuild' }],
    };
  },
};
