/** Runs and comparisons as the documents that commands print and the API answers. */

import { worstVerdict } from '../../checks/rules/check-result.ts';
import { toWire } from '../../http/wire.ts';
import { formatMetricKey } from '../../ir/metric-key.ts';
import { ALL_SEGMENT, type Verdict } from '../../model.ts';
import { finiteOrNull, type MetricSummary } from '../../stats/descriptive.ts';
import { type ComparedRuns, type StoredComparison, segmentOf, storedComparison } from '../rules/compare-golden-runs.ts';
import type { MetricComparison } from '../rules/compare-metric.ts';
import { adviseOnSetSize, type SegmentComparison } from '../rules/compare-runs.ts';
import { judgedQueries } from '../rules/golden-set.ts';
import { falseAnswerRatio } from '../rules/no-answer.ts';
import type { GoldenRun, NoAnswerResults, SegmentScore } from '../rules/run.ts';
import { describeFailure, type RunFailure } from '../rules/run-failure.ts';
import type { MovedQuestions, RunStages } from '../rules/run-stages.ts';
import {
  type ComparedJson,
  type ComparisonJson,
  checkResultSchema,
  type MetricComparisonJson,
  type MetricJson,
  type RunSummaryJson,
} from '../run-summary-schema.ts';
import type { GoldenRuns } from '../sql/golden-runs.ts';
import { answersAsIn, type CompareDeps, queriesOfRun } from './stored-runs.ts';

export async function summarizeRun(runs: GoldenRuns, run: GoldenRun): Promise<RunSummaryJson> {
  const [scores, checks, outcomes, failure, comparisons, forbidden] = await Promise.all([
    runs.scores(run.id),
    runs.checks(run.id),
    runs.outcomes(run.id),
    runs.failure(run.id),
    runs.comparisons(run.id),
    runs.forbidden(run.id),
  ]);
  const against = (kind: StoredComparison['kind']) => {
    const found = comparisons.find((comparison) => comparison.kind === kind);
    return found === undefined ? null : comparedJson(found);
  };
  return {
    run_id: run.id,
    pipeline: run.pipeline,
    golden_set: run.goldenSet,
    golden_set_version: run.goldenSetVersion,
    purpose: run.purpose,
    status: run.status,
    reason: run.reason,
    cause: run.cause,
    doubts: [...run.doubts],
    provisional: run.status === 'running',
    started_at: run.startedAt.toISOString(),
    finished_at: run.finishedAt?.toISOString() ?? null,
    queries: { total: run.queriesTotal, ...outcomes, stale: run.labels.deadQueries },
    failure: failure === null ? null : failureJson(failure),
    metrics: metricsJson(scores),
    segments: segmentsJson(scores),
    labels: { probed: run.labels.probed, stale: run.labels.stale, reason: run.labels.gap },
    forbidden: forbidden.map(({ queryId, documentId, rank }) => ({ query: queryId, document: documentId, rank })),
    no_answer: run.noAnswer === null ? null : noAnswerJson(run.noAnswer),
    stages: run.stages === null ? null : stagesJson(run.stages),
    baseline: against('baseline'),
    deployment: against('deployment'),
    checks: checks.map((check) => toWire(checkResultSchema, check)),
    verdict: verdictOf(
      run,
      checks.map((check) => check.verdict),
    ),
  };
}

function noAnswerJson(results: NoAnswerResults): RunSummaryJson['no_answer'] {
  const { value, n, ciLow, ciHigh } = falseAnswerRatio(results);
  const { failed, answered, worst } = results;
  return { false_answer_ratio: value, n, ci_low: ciLow, ci_high: ciHigh, failed, answered, worst: [...worst] };
}

function stagesJson({ k, n, failed, untold, lostToFailures, steps }: RunStages): RunSummaryJson['stages'] {
  return {
    k,
    n,
    failed,
    untold,
    lost_to_failures: metricJson(lostToFailures),
    steps: steps.map(({ name, recall, lost, moved, latencyP95Ms, timed }) => ({
      name,
      recall: metricJson(recall),
      lost: metricJson(lost),
      moved: moved === null ? null : movedJson(moved),
      latency_p95_ms: latencyP95Ms,
      timed,
    })),
  };
}

function movedJson({ ciLow, ciHigh, ...moved }: MovedQuestions) {
  return { ...moved, ci_low: ciLow, ci_high: ciHigh };
}

function failureJson(failure: RunFailure): RunSummaryJson['failure'] {
  const { code, queries, others, notAsked } = failure;
  return { explanation: describeFailure(failure), code, queries, others, not_asked: notAsked };
}

/** As `summarizeRun`; a running run has the scores of the queries that are answered so far, and no verdict. */
export async function summarizeRunSoFar(
  { sets, runs, statistics }: CompareDeps,
  run: GoldenRun,
  signal: AbortSignal,
): Promise<RunSummaryJson> {
  const summary = await summarizeRun(runs, run);
  if (run.status !== 'running') return summary;
  const [queries, answers] = await Promise.all([queriesOfRun(sets, run), answersAsIn({ runs }, run, run)]);
  const answered = new Set(answers.map(({ queryId }) => queryId));
  const known = judgedQueries(queries).filter(({ id }) => answered.has(id));
  if (known.length === 0) return summary;
  const { scores } = await statistics.scoreRun(known, answers, run.settings, new Set(), signal);
  return { ...summary, metrics: metricsJson(scores), segments: segmentsJson(scores) };
}

function segmentsJson(scores: readonly SegmentScore[]): RunSummaryJson['segments'] {
  const segments = [...new Set(scores.map(({ segment }) => segment))].filter((name) => name !== ALL_SEGMENT);
  return Object.fromEntries(segments.map((segment) => [segment, metricsJson(scores, segment)]));
}

/** A run without trusted scores has no verdict to give, whatever its checks. */
function verdictOf(run: GoldenRun, verdicts: readonly Verdict[]): Verdict {
  return run.status === 'completed' ? worstVerdict(verdicts) : 'no_data';
}

/** Scores of one segment by metric key, `{"ndcg@10": {...}}`. */
export function metricsJson(
  scores: readonly SegmentScore[],
  segment: string = ALL_SEGMENT,
): Record<string, MetricJson> {
  return Object.fromEntries(
    scores.filter((score) => score.segment === segment).map((score) => [formatMetricKey(score), metricJson(score)]),
  );
}

export function metricJson({ mean, n, ciLow, ciHigh, ciMethod }: MetricSummary): MetricJson {
  return { mean, n, ci_low: ciLow, ci_high: finiteOrNull(ciHigh), ci_method: ciMethod };
}

/** A run against another one, over all queries with each segment below. */
export function comparedJson({ against, differences }: ComparedRuns): ComparedJson {
  const all = segmentOf(differences);
  const segments = [...new Set(differences.map(({ segment }) => segment))];
  return {
    run_id: against,
    excluded: differences[0]?.excluded ?? 0,
    ...comparisonJson(all),
    // Takes tens of milliseconds, so it is worked out for those who read it.
    get advice() {
      return adviseOnSetSize(all, storedComparison);
    },
    segments: Object.fromEntries(
      segments
        .filter((segment) => segment !== ALL_SEGMENT)
        .map((segment) => [segment, comparisonJson(segmentOf(differences, segment))]),
    ),
  };
}

export function comparisonJson({ n, metrics, primary, verdict }: SegmentComparison): ComparisonJson {
  return {
    n,
    metrics: Object.fromEntries(metrics.map((metric) => [formatMetricKey(metric.key), metricComparisonJson(metric)])),
    primary,
    verdict,
    smallest_detectable_difference: Object.fromEntries(
      metrics.map((metric) => [formatMetricKey(metric.key), metric.smallestDetectableDifference]),
    ),
  };
}

export function metricComparisonJson(metric: MetricComparison): MetricComparisonJson {
  return {
    baseline: metric.baseline,
    candidate: metric.candidate,
    difference: metric.difference,
    ci_low: finiteOrNull(metric.ciLow),
    ci_high: finiteOrNull(metric.ciHigh),
    ci_method: metric.ciMethod,
    t: metric.t,
    df: metric.df,
    p_t: metric.pT,
    p_randomization: metric.pRandomization,
    p_method: metric.pMethod,
    ...(metric.p === metric.pRandomization ? {} : { p: metric.p }),
    ...(metric.mcnemarP === null ? {} : { mcnemar_p: metric.mcnemarP }),
    wins: metric.wins,
    losses: metric.losses,
    ties: metric.ties,
    verdict: metric.verdict,
  };
}
