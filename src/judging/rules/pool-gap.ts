/** How much of nDCG is owed to an ideal order that knows no document but those which users got. */
import { evaluateRanking } from '../../ir/evaluate.ts';
import type { QueryOutcome } from '../../model.ts';
import type { Interval } from '../../stats/intervals.ts';
import { type JudgedMean, judgedMean, scoreBounds } from './judged-mean.ts';
import { factorsOf } from './judged-measures.ts';
import { RELEVANT_GRADE } from './judged-scores.ts';

/**
 * nDCG of what users got, by two ideal orders: of these documents alone, and of these with what a deeper search of the
 * store brought.
 *
 * @param shown grades, best document first
 * @param deeper grades of documents that are not among them
 * @param depth >= 1
 * @returns `deeper` <= `shown`, both 0 to 1 and 0 where all that was shown has grade 0
 */
export function poolScores(shown: readonly number[], deeper: readonly number[], depth: number) {
  const ranking = shown.slice(0, depth).map((_, rank) => `${rank}`);
  const known = ranking.map((id, rank): [string, number] => [id, shown[rank] ?? 0]);
  const others = deeper.map((grade, at): [string, number] => [`deeper ${at}`, grade]);
  const ndcg = (judgments: readonly [string, number][]): number =>
    evaluateRanking(ranking, new Map(judgments), [{ measure: 'ndcg', k: depth }], RELEVANT_GRADE)[0] ?? 0;
  return { shown: ndcg(known), deeper: ndcg([...known, ...others]) };
}

/** A drawn query that was searched deeper, or that failed or found nothing. */
export interface DeeperQuery {
  /** Names its session. */
  readonly cluster: number;
  readonly outcome: QueryOutcome;
  /** Chance of being kept, drawn and searched deeper; of being kept and drawn where there was nothing to search for. */
  readonly probability: number;
  /** nDCG by what was shown alone, less that by the deeper pool; 0 where it failed or found nothing. */
  readonly gap: number;
}

/**
 * Mean over all live queries of what nDCG falls by, once its ideal order knows what a deeper search brings. By the model
 * alone. Weights are inverse probabilities, held to the counted arrivals of each outcome.
 *
 * @param counted live queries of the window, sampled or not, by outcome
 * @returns null when fewer than 2 sessions were searched; `n`: queries that were
 */
export function poolGap(
  queries: readonly DeeperQuery[],
  counted: Readonly<Partial<Record<QueryOutcome, number>>>,
): (JudgedMean & Interval & { readonly n: number }) | null {
  const searched = queries.filter(({ outcome }) => outcome === 'ok');
  if (new Set(searched.map(({ cluster }) => cluster)).size < 2) return null;
  const factors = factorsOf(queries, counted);
  const mean = judgedMean(
    queries.map(({ cluster, outcome, probability, gap }) => {
      const chance = probability / (factors[outcome] ?? 1);
      return { cluster, modelProbability: chance, peopleProbability: chance, people: gap, model: null };
    }),
  );
  return mean === null ? null : { ...mean, ...scoreBounds(mean), n: searched.length };
}
