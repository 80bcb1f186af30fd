/** Ends golden runs, either with scores and verdicts, or as cancelled or failed. No run stays `running` forever. */

import { evaluateGoldenRun } from '../../checks/rules/golden-checks.ts';
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { percentage } from '../../core/format.ts';
import type { GoldenQuery } from '../../core/model.ts';
import {
  type BaselineStatistics,
  type ComparedSide,
  noStatistics,
  type StoredComparison,
  toCompared,
} from '../rules/compare-golden-runs.ts';
import { defaultNoAnswer, type ForbiddenResults, findFalseAnswers } from '../rules/forbidden-results.ts';
import { judgedQueries } from '../rules/golden-set.ts';
import { failedShare, type GoldenRun, type OutcomeCounts, type RunStages } from '../rules/run.ts';
import { checkAnswers, describeFailure, warningSentences } from '../rules/run-failure.ts';
import { evaluateSentinel } from '../rules/sentinel.ts';
import { stagedQueries } from '../rules/stages.ts';
import { probeStoredLabels } from '../sets/missing-documents.ts';
import type { RunEnd } from '../sql/run-results.ts';
import { findAskedPipeline, type WatchedPipeline } from '../watched-pipeline.ts';
import { readCheckHistory, readCheckShifts } from './rotate-golden-set.ts';
import { answersAsIn, compareStoredRuns, findRun, readBaselineStatistics } from './stored-runs.ts';

/** A run is resumed only if it is at least this old, because a younger run may still be waiting in the queue. */
const GRACE_MS = 5000;

/**
 * Resumes abandoned runs. Marks runs as failed if their deadline has passed, or if their pipeline is no longer in the
 * config.
 *
 * @returns the pipelines of the failed runs
 */
export async function recoverGoldenRuns(context: Context): Promise<readonly string[]> {
  const failed: string[] = [];
  const now = context.clock.now();
  for (const run of await context.db.golden.runs.abandoned()) {
    const reason = reasonToFail(run, now, context);
    if (reason !== null) {
      const failure = await context.db.golden.runs.failure(run.id);
      context.logger.warn('marked an abandoned golden run as failed', {
        run_id: run.id,
        pipeline: run.pipeline,
        reason,
        ...(failure === null ? {} : { error: describeFailure(failure) }),
      });
      await context.db.golden.runs.finish(run.id, endWithoutScores('failed', reason, now));
      failed.push(run.pipeline);
    } else if (now.getTime() - run.startedAt.getTime() >= GRACE_MS) {
      context.logger.info('resumed an abandoned golden run', { run_id: run.id, pipeline: run.pipeline });
      await context.hooks.resume(run);
    }
  }
  return failed;
}

function reasonToFail(run: GoldenRun, now: Date, context: Context): string | null {
  if (now > run.deadlineAt) return `The run did not end by its deadline, ${run.deadlineAt.toISOString()}.`;
  if (findAskedPipeline(context.pipelines, run.pipeline) === null)
    return `The worker of the run died, and the pipeline "${run.pipeline}" is no longer in the config.`;
  return null;
}

export function endWithoutScores(status: RunEnd['status'], reason: string | null, finishedAt: Date): RunEnd {
  const nothing = {
    warnings: [],
    scores: [],
    checks: [],
    segmentsOverflow: 0,
    labels: null,
    forbidden: null,
    noAnswer: null,
    stages: null,
    fingerprints: {},
    comparisons: [],
  };
  return { status, reason, finishedAt, ...nothing };
}

/**
 * Cancels a run that is in progress; its worker stops within seconds.
 *
 * @throws RecalldError run_unknown, run_not_running
 */
export async function cancelGoldenRun({ db, clock }: Context, runId: string): Promise<GoldenRun> {
  const end = endWithoutScores('cancelled', 'The run was cancelled manually.', clock.now());
  const isCancelled = await db.golden.runs.finish(runId, end);
  const run = await findRun(db.golden.runs, runId);
  if (!isCancelled) {
    const message = `The run ${runId} is ${run.status}; only a run in progress can be cancelled.`;
    throw new RecalldError('run_not_running', message);
  }
  return run;
}

const none: ReadonlySet<string> = new Set();

/** A run that is about to end, and the data that its comparisons need. */
interface Conclusion {
  readonly context: Context;
  readonly run: GoldenRun;
  readonly side: ComparedSide;
  /** Ids of the queries that are not compared, because they have a stale label. */
  readonly stale: ReadonlySet<string>;
  readonly fingerprints: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/**
 * Computes the final status, scores and check results of a run. Reads only stored query results, so that a resumed run
 * ends in the same way.
 *
 * @param asked every query of the run; queries without a judgment have no score
 * @param forbidden returned documents that the set or an isolation rule forbids; null if neither forbids any
 */
export async function finalizeGoldenRun(
  context: Context,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  asked: readonly GoldenQuery[],
  forbidden: ForbiddenResults | null,
  signal: AbortSignal,
): Promise<RunEnd> {
  const queries = judgedQueries(asked);
  if (run.purpose === 'sentinel') return finalizeSentinel(context, run, queries, forbidden, signal);
  const [answers, outcomes, labels, fingerprints] = await Promise.all([
    answersAsIn(context, run, run),
    context.db.golden.runs.outcomes(run.id),
    probeStoredLabels(context, pipeline, queries, run.settings.relevanceLevel, signal),
    pipeline.fingerprints ?? fingerprintsOf(context, pipeline.name),
  ]);
  const voidReason = reasonToVoid(run, outcomes);
  const { touched: stale, dead } = labels.kind === 'probed' ? labels : { touched: none, dead: none };
  const { scores, segmentsOverflow } =
    voidReason === null
      ? await context.statistics.scoreRun(queries, answers, run.settings, dead, signal)
      : { scores: [], segmentsOverflow: 0 };
  const side = { queries, answers, settings: run.settings };
  const conclusion: Conclusion = { context, run, side, stale, fingerprints, signal };
  const baseline =
    voidReason === null ? await compareWithBaseline(conclusion, pipeline) : `The run is void: ${voidReason}`;
  const deployment = voidReason === null ? await compareWithDeployment(conclusion) : null;
  const { history, before } = await readCheckHistory(context.db.golden.runs, pipeline.checks, run);
  const shifts = await readCheckShifts(context.db.golden.rotations, run);
  const compared = typeof baseline === 'string' ? baseline : toCompared(run.id, baseline);
  return {
    status: voidReason === null ? 'completed' : 'void',
    reason: voidReason,
    warnings: warningSentences(checkAnswers(queries, answers, Math.max(...run.settings.cutoffs))),
    finishedAt: context.clock.now(),
    scores,
    checks: evaluateGoldenRun(pipeline.checks, run.goldenSet, {
      scores,
      compared,
      history,
      before,
      labels,
      forbidden,
      shifts,
    }),
    segmentsOverflow,
    labels,
    forbidden,
    stages: voidReason === null ? await summarizeStages(conclusion) : null,
    noAnswer: findFalseAnswers(asked, answers, run.settings.noAnswer ?? defaultNoAnswer),
    fingerprints,
    comparisons: [baseline, deployment].filter((one) => one !== null && typeof one !== 'string'),
  };
}

async function summarizeStages({ context, run, side, signal }: Conclusion): Promise<RunStages | null> {
  const stages = await context.db.golden.runs.stages(run.id);
  if (stages.size === 0) return null;
  const { cutoffs, relevanceLevel } = run.settings;
  const queries = stagedQueries(side.queries, side.answers, stages, relevanceLevel);
  return context.statistics.summarizeStages(queries, Math.max(...cutoffs), signal);
}

/** Returns the fingerprints of all components except the judge of live queries, which does not affect the results. */
async function fingerprintsOf({ db }: Context, pipeline: string): Promise<Record<string, string>> {
  const seen = await db.live.deployments.fingerprints();
  return Object.fromEntries(
    seen
      .filter((one) => one.pipeline === pipeline && one.component !== 'judge')
      .map(({ component, fingerprint }) => [component, fingerprint]),
  );
}

/** Returns the comparison with the pinned run, or a sentence that explains why there is none. */
async function compareWithBaseline(
  conclusion: Conclusion,
  { shadowOf }: WatchedPipeline,
): Promise<StoredComparison | string> {
  const { context, run, side, stale } = conclusion;
  if (shadowOf !== null) return compareWithShadowed(conclusion, shadowOf);
  const pinned = await context.db.golden.baselines.pinned(run.pipeline, run.goldenSet);
  const baseline = pinned === null ? null : await context.db.golden.runs.find(pinned.runId);
  if (pinned === null || baseline === null) {
    return `No baseline is pinned for ${run.goldenSet} on ${run.pipeline}. Pin a run with \`recalld baselines pin RUN\`.`;
  }
  const known = await readBaselineStatistics(context, pinned, baseline, context.clock.now());
  const compared = await compareWith(conclusion, 'baseline', baseline, known);
  if (compared !== null) return compared;
  return side.queries.every(({ id }) => stale.has(id))
    ? 'Every query has a stale label, so this set cannot measure the retriever.'
    : `The run has no query or no cutoff in common with its baseline ${baseline.id}. Pin a run of version ${run.goldenSetVersion} with \`recalld baselines pin\`.`;
}

/**
 * Compares a shadow run with the run that it replays. Excludes the queries that have a stale label in the replayed run.
 */
async function compareWithShadowed(conclusion: Conclusion, pipeline: string): Promise<StoredComparison | string> {
  const { context, run } = conclusion;
  const { goldenSet, goldenSetVersion: version } = run;
  const [beside] = await context.db.golden.runs.list({
    pipeline,
    goldenSet,
    version,
    status: 'completed',
    before: run,
    limit: 1,
  });
  if (beside === undefined) return `${pipeline} has no earlier completed run of ${goldenSet} version ${version}.`;
  const lost = (await context.db.golden.runs.staleLabels(beside.id)).map(({ queryId }) => queryId);
  const compared = await compareWith({ ...conclusion, stale: new Set(lost) }, 'baseline', beside, noStatistics);
  return compared ?? `The run has no query or no cutoff in common with ${beside.id}.`;
}

/**
 * Compares the run with the previous completed run if the store or the model has changed since then; null if neither
 * has changed, or if there is no previous run.
 */
async function compareWithDeployment(conclusion: Conclusion): Promise<StoredComparison | null> {
  const { context, run, fingerprints } = conclusion;
  const { pipeline, goldenSet, goldenSetVersion: version } = run;
  const earlier = { pipeline, goldenSet, status: 'completed', before: run, limit: 1 } as const;
  const [sameVersion] = await context.db.golden.runs.list({ ...earlier, version });
  const before = sameVersion ?? (await context.db.golden.runs.list(earlier))[0];
  if (before === undefined || !isChanged(before.fingerprints, fingerprints)) return null;
  return compareWith(conclusion, 'deployment', before, noStatistics);
}

/** Returns true if a fingerprint changed. A component that had no fingerprint before counts as unchanged. */
function isChanged(before: Readonly<Record<string, string>>, after: Readonly<Record<string, string>>): boolean {
  return Object.entries(after).some(([part, now]) => before[part] !== undefined && before[part] !== now);
}

async function compareWith(
  { context, run, side, stale, signal }: Conclusion,
  kind: StoredComparison['kind'],
  other: GoldenRun,
  known: BaselineStatistics,
): Promise<StoredComparison | null> {
  const differences = await compareStoredRuns(context, other, run, stale, known, signal, side);
  return differences === null ? null : { kind, against: other.id, differences };
}

function reasonToVoid(run: GoldenRun, outcomes: OutcomeCounts): string | null {
  const share = failedShare(outcomes);
  if (run.settings.onError !== 'void' || share <= run.settings.errorBudget) return null;
  return `${percentage(share)} of the queries failed, above the error budget of ${percentage(run.settings.errorBudget)}.`;
}
/**
 * A sentinel run stores no scores or checks, so that readers of full runs cannot mistake it for a full run. The status
 * of the run is `void` if too many queries failed. `reason` states why the sentinel failed; it is null if the sentinel
 * passed. Queries with a stale label in the last full run are not compared.
 */
async function finalizeSentinel(
  context: Context,
  run: GoldenRun,
  queries: readonly GoldenQuery[],
  forbidden: ForbiddenResults | null,
  signal: AbortSignal,
): Promise<RunEnd> {
  const { runs } = context.db.golden;
  const { pipeline, goldenSet, goldenSetVersion: version } = run;
  const [answers, outcomes, [full = null]] = await Promise.all([
    runs.answers(run.id),
    runs.outcomes(run.id),
    runs.list({ pipeline, goldenSet, version, status: 'completed', limit: 1 }),
  ]);
  const side = { queries, answers, settings: run.settings };
  const stale = full === null ? [] : (await runs.staleLabels(full.id)).map(({ queryId }) => queryId);
  const differences =
    full === null ? null : await compareStoredRuns(context, full, run, new Set(stale), noStatistics, signal, side);
  const verdict = evaluateSentinel(outcomes, run.settings.errorBudget, differences, forbidden?.confirmed.length ?? 0);
  const now = context.clock.now();
  if (verdict.kind === 'passing') return { ...endWithoutScores('completed', null, now), forbidden };
  return { ...endWithoutScores(verdict.cause === 'failures' ? 'void' : 'completed', verdict.reason, now), forbidden };
}
