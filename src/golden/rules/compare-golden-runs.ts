/** Compares two golden runs, using only the queries that have scores in both. */
import type { ComparedWithBaseline } from '../../checks/rules/regression.ts';
import { ALL_SEGMENT, type GoldenQuery } from '../../core/model.ts';
import { formatMetricKey } from '../../math/ir/metric-key.ts';
import type { MetricComparison } from './compare-metric.ts';
import {
  decided,
  nothingAccepted,
  type RunComparison,
  type RunsToCompare,
  type SegmentComparison,
} from './compare-runs.ts';
import { groupBySegment } from './golden-set.ts';
import type { QueryAnswer, RunSettings } from './run.ts';
import type { Accepted, MeanScores, NoiseTable } from './run-noise.ts';
import type { QueryScores, RunMetricKey } from './score-run.ts';

/** One side of a comparison. Only the queries and cutoffs that both sides share are compared. */
export interface ComparedSide {
  readonly queries: readonly GoldenQuery[];
  readonly answers: readonly QueryAnswer[];
  readonly settings: RunSettings;
}

export interface BaselineStatistics {
  readonly noise: NoiseTable;
  /** Mean scores over the reruns, in the query order of the baseline; null if the baseline has no reruns. */
  readonly means: MeanScores | null;
  readonly accepted: Accepted;
}

export const noStatistics: BaselineStatistics = { noise: {}, means: null, accepted: nothingAccepted };

export interface RunDifference extends MetricComparison {
  readonly key: RunMetricKey;
  readonly segment: string;
  /**
   * Number of the candidate's queries that are not compared, because they have a stale label, or because the baseline's
   * set does not contain them with the same text, steps and judgments.
   */
  readonly excluded: number;
}

export interface ComparedRuns {
  /** Id of the run that the candidate is compared with. */
  readonly against: string;
  readonly differences: readonly RunDifference[];
}

export interface StoredComparison extends ComparedRuns {
  /**
   * `baseline`: comparison with the pinned run. `deployment`: comparison with the last run before the store or the
   * model changed.
   */
  readonly kind: 'baseline' | 'deployment';
}

export type RunPair = NonNullable<ReturnType<typeof pairRuns>>;

/**
 * Returns the queries and settings that two runs share; null if they share no query or no cutoff.
 *
 * Two runs share the queries that have the same id, text and judgments in both sets. The queries in `stale` are
 * excluded: each of them has a judged document that is no longer in the store, so its score drops even if the retriever
 * works correctly.
 */
export function pairRuns(baseline: ComparedSide, candidate: ComparedSide, stale: ReadonlySet<string>) {
  const queries = sharedQueries(baseline.queries, candidate.queries).filter(({ id }) => !stale.has(id));
  const cutoffs = candidate.settings.cutoffs.filter((k) => baseline.settings.cutoffs.includes(k));
  if (queries.length === 0 || cutoffs.length === 0) return null;
  return {
    /** Queries of the candidate's set. */
    queries,
    /** Settings of the candidate, with only the shared cutoffs. */
    settings: { ...candidate.settings, cutoffs },
    excluded: candidate.queries.length - queries.length,
  };
}

/** Builds the input for `compareRuns` from the scores of both runs; `side` is the baseline. */
export function runsOfPair(
  { queries, settings }: RunPair,
  side: ComparedSide,
  baseline: QueryScores,
  { keys, columns }: QueryScores,
  { noise, means, accepted }: BaselineStatistics,
): RunsToCompare {
  const { segments } = groupBySegment(queries, settings.segmentKeys, settings.maxSegments);
  // If the relevance levels differ, different documents count as hits, and the stored baseline means do not apply.
  const isScoredAlike = side.settings.relevanceLevel === settings.relevanceLevel;
  return {
    keys,
    baseline: baseline.columns,
    candidate: columns,
    noise,
    means: means === null || !isScoredAlike ? null : meansOf(queries, side.queries, keys, means),
    accepted,
    segments,
  };
}

/** Returns the baseline means in the order of `queries`; null if a metric has no means. */
function meansOf(
  queries: readonly GoldenQuery[],
  known: readonly GoldenQuery[],
  keys: QueryScores['keys'],
  means: MeanScores,
): readonly Float64Array[] | null {
  const columns = keys.flatMap((key) => {
    const column = means[formatMetricKey(key)];
    return column === undefined ? [] : [column];
  });
  if (columns.length < keys.length || columns.some(({ length }) => length !== known.length)) return null;
  const rowOf = new Map(known.map(({ id }, row) => [id, row]));
  return columns.map((column) => Float64Array.from(queries, ({ id }) => column[rowOf.get(id) ?? -1] ?? 0));
}

export function differencesOf({ excluded }: RunPair, compared: RunComparison): RunDifference[] {
  return [compared, ...compared.segments].flatMap(({ segment, metrics }) =>
    metrics.map((metric) => ({ ...metric, key: metric.key as RunMetricKey, segment, excluded })),
  );
}

/** Returns the queries in `after` that `before` contains with the same text, steps and judgments. */
export function sharedQueries(before: readonly GoldenQuery[], after: readonly GoldenQuery[]): readonly GoldenQuery[] {
  const known = new Map(before.map((query) => [query.id, query]));
  return after.filter((query) => {
    const other = known.get(query.id);
    return other !== undefined && (other === query || isJudgedAlike(other, query));
  });
}

/**
 * True if both queries have the same text, steps and judgments. Tags are ignored: they only assign a query to segments.
 */
function isJudgedAlike(a: GoldenQuery, b: GoldenQuery): boolean {
  if (a.text !== b.text || a.judgments.length !== b.judgments.length) return false;
  if (JSON.stringify(a.steps) !== JSON.stringify(b.steps)) return false;
  const grades = new Map(a.judgments.map(({ documentId, grade }) => [documentId, grade]));
  return b.judgments.every(({ documentId, grade }) => grades.get(documentId) === grade);
}

/** Returns one segment with its verdict on nDCG at the largest cutoff. */
export function segmentOf(differences: readonly RunDifference[], segment: string = ALL_SEGMENT): SegmentComparison {
  const metrics = differences.filter((found) => found.segment === segment);
  const largest = Math.max(...metrics.map(({ key }) => key.k));
  const primary = metrics.find(({ key }) => key.k === largest && key.measure === 'ndcg');
  return { segment, n: metrics[0]?.n ?? 0, metrics, ...decided(primary ?? null) };
}

/** Returns the comparison over all queries, which the checks use. */
export function toCompared(runId: string, { against, differences }: ComparedRuns): ComparedWithBaseline {
  const metrics = differences.filter(({ segment }) => segment === ALL_SEGMENT);
  return { runId, baselineRunId: against, metrics };
}
