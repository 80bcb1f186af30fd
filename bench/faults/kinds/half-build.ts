import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'half-build',
  title: 'a rebuild of the index stops on its way',
  causes: ['index_lost_documents', 'deployment'],
  begin({ size, random }) {
    const done = around(random, bySize(size, 0.75, 0.55, 0.35));
    return {
      rows: (rows) => rows.slice(0, Math.round(Math.min(0.95, done) * rows.length)),
      deployments: [{ kind: 'index', version: 'rebuild' }],
    };
  },
};
