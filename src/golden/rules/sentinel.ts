import { decimal, percentage, plural, probability } from '../../core/format.ts';
import { ALL_SEGMENT, type GoldenQuery } from '../../core/model.ts';
import { mean, moments } from '../../math/stats/descriptive.ts';
import type { RunDifference } from './compare-golden-runs.ts';
import { groupBySegment } from './golden-set.ts';
import { failedShare, type OutcomeCounts, type RunSettings } from './run.ts';
import { classifyDifference } from './verdict.ts';

/**
 * Significance level of the paired test. If a sentinel runs every five minutes on a noisy retriever, about one sentinel
 * per day fails by chance at this level.
 */
const SENTINEL_ALPHA = 0.01;
/** Minimum drop that justifies a full run, in nDCG at the largest cutoff. */
const SENTINEL_DROP = 0.05;

type SentinelVerdict =
  | { readonly kind: 'passing' }
  /** `failures`: too many queries failed; `forbidden`: forbidden documents were returned; `scores`: nDCG dropped. */
  | { readonly kind: 'failed'; readonly cause: 'failures' | 'forbidden' | 'scores'; readonly reason: string };

/**
 * A sentinel fails if the share of failed queries exceeds the error budget, or if a forbidden document is returned. It
 * also fails if its nDCG at the largest cutoff is at least 0.05 lower than the nDCG of the same queries in the last
 * full run (paired test, p < 0.01). Equal results have a score difference of exactly 0, so a sentinel never fails
 * because of its scores if the retriever is deterministic and the index is unchanged.
 *
 * @param differences differences from the last full run; null if the runs share no query or no cutoff
 * @param forbidden number of forbidden documents that were returned, confirmed by a second request
 */
export function evaluateSentinel(
  outcomes: OutcomeCounts,
  errorBudget: number,
  differences: readonly RunDifference[] | null,
  forbidden: number,
): SentinelVerdict {
  const failed = failedShare(outcomes);
  if (failed > errorBudget) {
    const reason = `${percentage(failed)} of the sentinel queries failed, above the error budget of ${percentage(errorBudget)}.`;
    return { kind: 'failed', cause: 'failures', reason };
  }
  if (forbidden > 0) {
    const reason = `${plural(forbidden, 'forbidden document')} returned, confirmed by a second request.`;
    return { kind: 'failed', cause: 'forbidden', reason };
  }
  const overall = (differences ?? []).filter(({ segment, key }) => segment === ALL_SEGMENT && key.measure === 'ndcg');
  const found = overall.toSorted((a, b) => b.key.k - a.key.k)[0];
  const settings = { alpha: SENTINEL_ALPHA, minEffect: SENTINEL_DROP };
  if (found === undefined || classifyDifference(found, settings) !== 'regression') return { kind: 'passing' };
  const reason = `ndcg@${found.key.k} on the sentinel queries dropped by ${decimal(-found.difference)} since the last full run (${probability(found.p)}, ${plural(found.n, 'query', 'queries')}).`;
  return { kind: 'failed', cause: 'scores', reason };
}

/**
 * Chooses at most `count` queries, most informative first, and returns their ids in the order of the set.
 *
 * The queries must be able to show a drop. A query with score s can drop by at most s. If a fault removes the documents
 * of a share f of the queries, the sentinel's mean score m drops by f * m. A query that always scores 0 can therefore
 * never show a drop. If a score varies between runs, a drop within this variation goes unnoticed. Queries are therefore
 * ordered by the mean minus the standard deviation of their scores over the last full runs. Ties, such as many queries
 * that always score 1, are broken by a hash of the id, so that neighbors in the file are not chosen together.
 *
 * Because a fault may affect a single segment, the segments take turns, smallest first: each segment adds its most
 * informative query that has not been chosen yet. Queries without a segment form an additional segment.
 *
 * The same set, history and settings yield the same choice.
 *
 * @param history one array of scores (0..1, in query order) for each of the last full runs; at least one array
 * @param stale ids of queries that cannot be chosen because one of their judged documents is missing
 */
export function chooseSentinel(
  queries: readonly GoldenQuery[],
  history: readonly ArrayLike<number>[],
  stale: ReadonlySet<string>,
  settings: RunSettings,
  count: number,
): string[] {
  const worth = queries.map(({ id }, row) => {
    const scores = Float64Array.from(history, (run) => run[row] ?? 0);
    const average = scores.length === 0 ? 0 : mean(scores);
    const spread = scores.length < 2 ? 0 : moments(scores).standardDeviation;
    return { id, row, worth: average === 0 ? -1 : average - spread, order: hashOf(id) };
  });
  const usable = worth.filter(({ id }) => !stale.has(id));
  const ranked = usable.toSorted((a, b) => b.worth - a.worth || a.order - b.order || (a.id < b.id ? -1 : 1));
  const chosen = new Set<number>();
  let lines = linesOf(queries, settings).map((members) =>
    ranked.filter(({ row }) => members.has(row)).map(({ row }) => row),
  );
  while (chosen.size < count && lines.length > 0) {
    lines = lines.flatMap((line) => {
      const rest = line.slice(line.findIndex((row) => !chosen.has(row)));
      const [next] = rest;
      if (next === undefined || chosen.has(next)) return [];
      if (chosen.size < count) chosen.add(next);
      return [rest.slice(1)];
    });
  }
  return queries.filter((_, row) => chosen.has(row)).map(({ id }) => id);
}

/** Returns the rows of each segment, smallest segment first; the last element contains the rows without a segment. */
function linesOf(queries: readonly GoldenQuery[], { segmentKeys, maxSegments }: RunSettings): ReadonlySet<number>[] {
  const { segments } = groupBySegment(queries, segmentKeys, maxSegments);
  const inSegment = new Set(segments.flatMap(({ members }) => members));
  const rest = queries.flatMap((_, row) => (inSegment.has(row) ? [] : [row]));
  return [...segments.toReversed().map(({ members }) => new Set(members)), new Set(rest)];
}

/** FNV-1a, 32 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
