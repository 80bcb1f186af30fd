/** Expected daily cost of grading, computed from the prices and limits in the config. */
import { dollars } from '../core/format.ts';
import type { Judge } from './judge.ts';
import type { JudgingPlan } from './plan.ts';
import { judgePanelSize } from './rules/agreement.ts';

/** Assumed text lengths in characters, used until real texts have been graded. */
const ASSUMED_LENGTHS = { query: 80, document: 1500 } as const;

/** Cost of one grade in US dollars, for texts of the assumed lengths. */
export function assumedCost(judge: Judge): number {
  return judge.typicalCost({
    query: 'a'.repeat(ASSUMED_LENGTHS.query),
    document: 'a'.repeat(ASSUMED_LENGTHS.document),
  });
}

export type ExpectedCost = NonNullable<ReturnType<typeof expectedCost>>;

/**
 * Upper estimate of the mean number of documents graded per selected query. Assumes that shadows and pools return only
 * documents that users did not get.
 */
export function gradesPerQuery({ depth, shadowLists, pooling }: JudgingPlan): number {
  return depth * (1 + shadowLists) + (pooling === null ? 0 : pooling.share * pooling.documents);
}

/** Estimates the daily cost; null if there is no model judge. Ignores cached grades, which are free. */
export function expectedCost(plan: JudgingPlan) {
  const { pipeline, judge, queriesPerDay, depth, maxCostPerDay } = plan;
  if (judge === null) return null;
  const grades = Math.round(queriesPerDay * gradesPerQuery(plan));
  const { pairs } = judgePanelSize(queriesPerDay * depth);
  const dollarsPerDay = (grades + pairs) * assumedCost(judge);
  return {
    pipeline,
    /** Number of documents graded per day, including documents from shadows and pooling. */
    gradesPerDay: grades,
    /** Number of pairs in the drift panel; the judge grades all of them again every day. */
    panelPairsPerDay: pairs,
    /** Expected cost per day in US dollars, before the daily limit is applied. */
    dollarsPerDay,
    maxCostPerDay,
  };
}

/** Describes the expected cost. Warns if the daily limit will leave documents ungraded. */
export function describeCost(cost: ExpectedCost): string {
  const { pipeline, gradesPerDay, panelPairsPerDay, dollarsPerDay, maxCostPerDay: cap } = cost;
  const work = `${gradesPerDay} documents of live queries and ${panelPairsPerDay} pairs of the drift panel`;
  const lengths = `${ASSUMED_LENGTHS.query}-character queries and ${ASSUMED_LENGTHS.document}-character documents`;
  const estimate = `${pipeline}: the judge grades ${work} per day, for about ${dollars(dollarsPerDay)} (assuming ${lengths})`;
  if (dollarsPerDay <= cap) return `${estimate}. Limit: judged.max_cost_per_day is $${cap}.`;
  const share = Math.round((100 * cap) / dollarsPerDay);
  return `${estimate}. Warning: judged.max_cost_per_day is $${cap}, so only about ${share} % of these documents and pairs are graded. Raise this limit, or lower judged.queries_per_day, judged.depth or judged.pooling.`;
}
