/** Context of query density: its tables and its plans. */

import type { Pool } from 'pg';
import type { Scope } from '../core/context.ts';
import { baselinesTable } from './baselines-table.ts';
import type { DensityCompute } from './compute.ts';
import { coverageTable } from './coverage-table.ts';
import { complaintsTable } from './find-complaints.ts';
import type { DensityPlan } from './plan.ts';
import { topicsTable } from './topics-table.ts';
import { watchTable } from './watch-table.ts';

export function densityTables(pool: Pool, scope: Scope = null) {
  return {
    coverage: coverageTable(pool),
    baselines: baselinesTable(pool),
    watch: watchTable(pool),
    topics: topicsTable(pool, scope),
    complaints: complaintsTable(pool),
  };
}

declare module '../core/context.ts' {
  interface Db {
    readonly density: ReturnType<typeof densityTables>;
  }
  interface Context {
    /** One plan per pipeline that has a vector store and monitors query density. */
    readonly densityPlans: readonly DensityPlan[];
    readonly compute: DensityCompute;
    readonly newTopicId: () => string;
  }
}
