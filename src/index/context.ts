/** Tables and plans that index truth and the store probes add to the context. */
import type { Pool } from 'pg';
import { canariesTable, snapshotsTable } from './probes/probes.ts';
import { createDocumentsTable } from './truth/documents-table.ts';
import { createReturnedReads } from './truth/index-reads.ts';
import type { IndexPlan } from './truth/plan.ts';
import { createRoundsTable } from './truth/rounds-table.ts';

export function indexTables(pool: Pool) {
  return {
    documents: createDocumentsTable(pool),
    rounds: createRoundsTable(pool),
    returned: createReturnedReads(pool),
    canaries: canariesTable(pool),
    snapshots: snapshotsTable(pool),
  };
}

declare module '../core/context.ts' {
  interface Db {
    readonly index: ReturnType<typeof indexTables>;
  }
  interface Context {
    /** One plan per pipeline with a configured `index`. */
    readonly indexPlans: readonly IndexPlan[];
  }
}
