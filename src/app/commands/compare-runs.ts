/** Two stored golden runs side by side. */

import { RecalldError } from '../../errors.ts';
import type { RunDifference } from '../../golden/rules/compare-golden-runs.ts';
import { type ChangedQuery, changedQueries } from '../../golden/rules/listed-queries.ts';
import type { GoldenRun } from '../../golden/rules/run.ts';
import { compareStoredRuns, readComparedSide } from '../../golden/runs/compare-stored-runs.ts';
import { type BaselineJson, baselineJson } from '../../golden/schema/run-summary-document.ts';
import { formatMetricKey, parseMetricKey } from '../../ir/metric-key.ts';
import { findCompleted } from './baselines.ts';
import type { GoldenStore } from './command-store.ts';

export interface RunsCompared {
  readonly baseline: GoldenRun;
  readonly candidate: GoldenRun;
  readonly differences: readonly RunDifference[];
  readonly comparison: BaselineJson;
  /** By which the queries are ordered. */
  readonly measure: string;
  /** Most regressed first. */
  readonly queries: readonly ChangedQuery[];
}

/**
 * Compares two completed runs over the queries whose labels were alive in the second one, with the noise of the first
 * if it is pinned.
 *
 * @param measure by which queries are ordered, such as `ndcg@10`
 * @param extent `computed`: all segments, which takes seconds; `as_stored`: what was stored with the second run if it
 *   was compared with the first one, else over all queries alone
 * @throws RecalldError run_unknown, run_not_completed, runs_not_comparable
 */
export async function compareRunsById(
  store: GoldenStore,
  baselineId: string,
  candidateId: string,
  measure: string | null,
  extent: 'computed' | 'as_stored',
  signal: AbortSignal,
): Promise<RunsCompared> {
  const [baseline, candidate] = await Promise.all([
    findCompleted(store, baselineId),
    findCompleted(store, candidateId),
  ]);
  const stale = new Set((await store.runs.staleLabels(candidate.id)).map(({ queryId }) => queryId));
  const stored = extent === 'as_stored' ? await storedDifferences(store, baseline, candidate) : null;
  const differences = stored ?? (await computeDifferences(store, baseline, candidate, stale, extent, signal));
  if (differences === null) {
    throw new RecalldError(
      'runs_not_comparable',
      `The runs ${baselineId} and ${candidateId} have no query with live labels or no cut-off in common.`,
    );
  }
  const [before, after] = await Promise.all([
    readComparedSide(store, baseline),
    readComparedSide(store, candidate),
  ]);
  const key = keyOf(measure ?? defaultMeasure(candidate));
  const queries = changedQueries(before, after, stale, key);
  return {
    baseline,
    candidate,
    differences,
    comparison: baselineJson(baseline.id, differences),
    measure: formatMetricKey(key),
    queries,
  };
}

async function storedDifferences(
  { runs }: GoldenStore,
  baseline: GoldenRun,
  candidate: GoldenRun,
): Promise<readonly RunDifference[] | null> {
  const comparisons = await runs.comparisons(candidate.id);
  return comparisons.find(({ against }) => against === baseline.id)?.differences ?? null;
}

async function computeDifferences(
  store: GoldenStore,
  baseline: GoldenRun,
  candidate: GoldenRun,
  stale: ReadonlySet<string>,
  extent: 'computed' | 'as_stored',
  signal: AbortSignal,
): Promise<readonly RunDifference[] | null> {
  const pinned = await store.baselines.pinned(baseline.pipeline, baseline.goldenSet);
  const noise = pinned?.runId === baseline.id ? pinned.noise : {};
  const { segmentKeys } = candidate.settings;
  const settings = { ...candidate.settings, segmentKeys: extent === 'computed' ? segmentKeys : [] };
  return compareStoredRuns(store, baseline, { ...candidate, settings }, stale, noise, signal);
}

function defaultMeasure({ settings }: GoldenRun): string {
  return `ndcg@${Math.max(...settings.cutoffs)}`;
}

/** @throws RecalldError metric_unknown */
function keyOf(measure: string) {
  const key = parseMetricKey(measure);
  if (key.k !== null) return { ...key, k: key.k };
  throw new RecalldError('metric_unknown', `${measure} has no cut-off; write it like ${measure}@10.`);
}
