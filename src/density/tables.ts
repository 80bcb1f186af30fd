import type { Pool } from 'pg';
import { canariesTable, snapshotsTable } from '../probes/probe-tables.ts';
import { baselinesTable } from './baselines-table.ts';
import { coverageTable } from './coverage-table.ts';
import { topicsTable } from './topics-table.ts';
import { watchTable } from './watch-table.ts';

/** All that is stored of query density. */
export interface DensityTables {
  coverage: ReturnType<typeof coverageTable>;
  baselines: ReturnType<typeof baselinesTable>;
  watch: ReturnType<typeof watchTable>;
  topics: ReturnType<typeof topicsTable>;
  canaries: ReturnType<typeof canariesTable>;
  snapshots: ReturnType<typeof snapshotsTable>;
}

export function densityTables(pool: Pool): DensityTables {
  return {
    coverage: coverageTable(pool),
    baselines: baselinesTable(pool),
    watch: watchTable(pool),
    topics: topicsTable(pool),
    canaries: canariesTable(pool),
    snapshots: snapshotsTable(pool),
  };
}
