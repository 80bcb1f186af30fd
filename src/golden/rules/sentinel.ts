/** Which queries of a golden set stand for it between two full runs, and whether they stand or have fallen. */

import { decimal, percentage, probability } from '../../core/format.ts';
import { ALL_SEGMENT, type GoldenQuery } from '../../core/model.ts';
import { mean, moments } from '../../math/stats/descriptive.ts';
import type { RunDifference } from './compare-golden-runs.ts';
import { groupBySegment } from './golden-set.ts';
import { failedShare, type OutcomeCounts } from './run.ts';
import { judgeDifference } from './verdict.ts';

/** Level of the paired test: at a run every five minutes on a noisy retriever, luck alone falls about once a day. */
const SENTINEL_ALPHA = 0.01;
/** Least fall of nDCG at the largest cut-off that is worth a full run. */
const SENTINEL_DROP = 0.05;

type SentinelVerdict =
  | { readonly kind: 'stands' }
  /** `failures`: the retriever did not answer; `forbidden`: with what must not come back; `scores`: worse. */
  | { readonly kind: 'fallen'; readonly cause: 'failures' | 'forbidden' | 'scores'; readonly reason: string };

/**
 * A sentinel has fallen when more of its queries failed than the error budget, when a forbidden document came back, or
 * when its nDCG at the largest cut-off
 * is lower than that of the last full run over the same queries by 0.05 or more, paired test p < 0.01. The same answers
 * give exactly no difference, so that a deterministic retriever on an unchanged index never falls.
 *
 * @param differences against the last full run; null when there is nothing that both can be compared by
 * @param forbidden results that must not come back and did, twice
 */
export function judgeSentinel(
  outcomes: OutcomeCounts,
  errorBudget: number,
  differences: readonly RunDifference[] | null,
  forbidden: number,
): SentinelVerdict {
  const failed = failedShare(outcomes);
  if (failed > errorBudget) {
    const reason = `${percentage(failed)} of the queries of the sentinel failed, more than the error budget of ${percentage(errorBudget)}.`;
    return { kind: 'fallen', cause: 'failures', reason };
  }
  if (forbidden > 0) {
    const reason = `${forbidden} forbidden ${forbidden === 1 ? 'document' : 'documents'} came back, asked twice.`;
    return { kind: 'fallen', cause: 'forbidden', reason };
  }
  const overall = (differences ?? []).filter(({ segment, key }) => segment === ALL_SEGMENT && key.measure === 'ndcg');
  const found = overall.toSorted((a, b) => b.key.k - a.key.k)[0];
  const settings = { alpha: SENTINEL_ALPHA, minEffect: SENTINEL_DROP };
  if (found === undefined || judgeDifference(found, settings) !== 'regression') return { kind: 'stands' };
  const reason = `The ndcg@${found.key.k} of the sentinel fell by ${decimal(-found.difference)} against the last full run (${probability(found.p)}, n = ${found.n}).`;
  return { kind: 'fallen', cause: 'scores', reason };
}

export interface SentinelCandidates {
  readonly queries: readonly GoldenQuery[];
  /** Scores of the last full runs, one array per run in the order of the queries, each 0..1. At least one run. */
  readonly history: readonly ArrayLike<number>[];
  readonly segmentKeys: readonly string[];
  readonly maxSegments: number;
  /** Ids of queries that cannot be chosen, because a document that they were judged by is gone. */
  readonly stale: ReadonlySet<string>;
}

/**
 * Chooses at most `count` queries, the most informative first, and returns their ids in the order of the set.
 *
 * A sentinel is there to see a fall. A query that scores s can fall by s at most, so that a fault which takes the
 * documents of a share f of the queries lowers the mean of the sentinel by f times the mean score of its queries:
 * queries that always score 0 see nothing, whatever breaks. A score that moves by itself from run to run hides a fall
 * as much. Queries are therefore ordered by mean - standard deviation of their scores over the last full runs, and of
 * equal ones, as the many that are always right, a hash of the id decides, so that neighbours in the file do not come
 * in together.
 *
 * A fault may touch one segment alone. Places are therefore dealt out segment by segment in turn, the best query of
 * each that is not chosen yet, small segments first, until they are full; queries without a segment form one more.
 *
 * The same set, history and settings give the same choice.
 */
export function chooseSentinel(candidates: SentinelCandidates, count: number): string[] {
  const { queries, history, segmentKeys, maxSegments, stale } = candidates;
  const worth = queries.map(({ id }, row) => {
    const scores = Float64Array.from(history, (run) => run[row] ?? 0);
    const average = scores.length === 0 ? 0 : mean(scores);
    const spread = scores.length < 2 ? 0 : moments(scores).standardDeviation;
    return { id, row, worth: average === 0 ? -1 : average - spread, order: hashOf(id) };
  });
  const usable = worth.filter(({ id }) => !stale.has(id));
  const ranked = usable.toSorted((a, b) => b.worth - a.worth || a.order - b.order || (a.id < b.id ? -1 : 1));
  const chosen = new Set<number>();
  let lines = linesOf(queries, segmentKeys, maxSegments).map((members) =>
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

/** Rows of each segment, the smallest first; the last holds the rows of no segment. */
function linesOf(queries: readonly GoldenQuery[], keys: readonly string[], maxSegments: number): ReadonlySet<number>[] {
  const { segments } = groupBySegment(queries, keys, maxSegments);
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
