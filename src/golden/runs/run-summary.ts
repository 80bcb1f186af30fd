/** Runs as the documents that commands print and the API answers. */

import { worstVerdict } from '../../checks/rules/check-result.ts';
import { toWire } from '../../http/wire.ts';
import { ALL_SEGMENT, type Verdict } from '../../model.ts';
import type { StoredComparison } from '../rules/compare-golden-runs.ts';
import { judgedQueries } from '../rules/golden-set.ts';
import type { GoldenRun, MovedQuestions, NoAnswerResults, RunStages, SegmentScore } from '../rules/run.ts';
import { describeFailure, type RunFailure } from '../rules/run-failure.ts';
import { falseAnswerRatio } from '../rules/unwanted-answers.ts';
import { checkResultSchema, type RunSummaryJson } from '../run-summary-schema.ts';
import type { GoldenRuns } from '../sql/golden-runs.ts';
import { comparedJson } from './comparison-json.ts';
import { metricJson, metricsJson } from './score-json.ts';
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
