/** Database tables and plans that judging adds to the context. */
import type { Pool } from 'pg';
import { createEvaluationTable } from './graded-queries.ts';
import { createJudgePanelTable } from './judge-panel-table.ts';
import { createJudgeSpending } from './judge-spending.ts';
import { createJudgedEpisodes } from './judged-episodes.ts';
import { createJudgedTable } from './judged-table.ts';
import { createJudgmentPools } from './judgment-pools.ts';
import type { JudgingPlan } from './plan.ts';
import { createReviewQueue } from './review-queue.ts';

export function judgingTables(pool: Pool) {
  return {
    judged: createJudgedTable(pool),
    pools: createJudgmentPools(pool),
    episodes: createJudgedEpisodes(pool),
    spending: createJudgeSpending(pool),
    panels: createJudgePanelTable(pool),
    evaluations: createEvaluationTable(pool),
    reviews: createReviewQueue(pool),
  };
}

declare module '../core/context.ts' {
  interface Db {
    readonly judging: ReturnType<typeof judgingTables>;
  }
  interface Context {
    /** One plan for each pipeline whose config has `judged`. */
    readonly judgingPlans: readonly JudgingPlan[];
  }
}
