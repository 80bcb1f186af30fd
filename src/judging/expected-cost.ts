/** What a day of grades is expected to cost, by the prices and limits of the config. */
import { dollars } from '../core/format.ts';
import type { Judge } from './judge.ts';
import type { JudgingPlan } from './plan.ts';
import { judgePanelSize } from './rules/agreement.ts';

/** Before anything was graded, texts are taken to be so long. */
const GUESSED = { query: 80, document: 1500 } as const;

/** US dollars of one grade, while nothing is known of the texts. */
export function guessedCost(judge: Judge): number {
  return judge.usual({ query: 'a'.repeat(GUESSED.query), document: 'a'.repeat(GUESSED.document) });
}

export type ExpectedCost = NonNullable<ReturnType<typeof expectedCost>>;

/** Documents that are graded of a drawn query, in the mean. What shadows and the deeper search bring counts as if it was never what users got. */
export function gradesPerQuery({
  depth,
  shadowLists,
  pooling,
}: Pick<JudgingPlan, 'depth' | 'shadowLists' | 'pooling'>): number {
  return depth * (1 + shadowLists) + (pooling === null ? 0 : pooling.share * pooling.documents);
}

/** Null where people alone grade. What was graded before, and is not paid for again, is not known here. */
export function expectedCost(plan: JudgingPlan) {
  const { pipeline, judge, queriesPerDay, depth, maxCostPerDay } = plan;
  if (judge === null) return null;
  const grades = Math.round(queriesPerDay * gradesPerQuery(plan));
  const { pairs } = judgePanelSize(queriesPerDay * depth);
  const dollarsPerDay = (grades + pairs) * guessedCost(judge);
  return {
    pipeline,
    /** Documents of drawn queries that are graded a day, those of shadows and of the deeper search too. */
    gradesPerDay: grades,
    /** Pairs of the panel that are graded again a day. */
    panelPairsPerDay: pairs,
    /** US dollars. */
    dollarsPerDay,
    maxCostPerDay,
  };
}

/** A sentence a pipeline, with what the cap of the day keeps from being graded. */
export function costInWords(cost: ExpectedCost): string {
  const { pipeline, gradesPerDay, panelPairsPerDay, dollarsPerDay, maxCostPerDay: cap } = cost;
  const work = `${gradesPerDay} documents of live queries and ${panelPairsPerDay} pairs of the panel`;
  const lengths = `questions of ${GUESSED.query} and documents of ${GUESSED.document} characters`;
  const estimate = `The judge of ${pipeline} grades ${work} a day, for about ${dollars(dollarsPerDay)} with ${lengths}`;
  if (dollarsPerDay <= cap) return `${estimate}; judged.max_cost_per_day is $${cap}.`;
  const share = Math.round((100 * cap) / dollarsPerDay);
  return `${estimate}. Warning: judged.max_cost_per_day is $${cap}, so that about ${share} % of it is graded; raise it, or lower judged.queries_per_day, judged.depth or judged.pooling.`;
}
