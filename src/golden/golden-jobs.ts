import { z } from 'zod';
import type { Context } from '../core/context.ts';
import { attemptEach, forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import { defineCronJob, defineJob, type JobDefinition } from '../platform/queue/job-queue.ts';
import type { GoldenRun } from './rules/run.ts';
import { describeFailure } from './rules/run-failure.ts';
import { compareRunWithStore } from './runs/compare-run-with-store.ts';
import { recoverGoldenRuns } from './runs/end-golden-run.ts';
import { advanceRotation } from './runs/rotate-golden-set.ts';
import { askGoldenBatch, runGoldenSet } from './runs/run-golden-set.ts';
import { escalateSentinel } from './runs/tick-golden-set.ts';
import { measureGoldenRepresentativeness, recordGoldenDocuments } from './sets/live-mix.ts';
import { findAskedPipeline, type WatchedPipeline } from './watched-pipeline.ts';

const DAY_SECONDS = 86_400;

/** Maximum number of batches in progress per run; the retriever's concurrency limit applies as well. */
const MAX_LANES = 16;

/** Settings of the jobs that execute a run. */
const ofRun = {
  concurrency: 4,
  attempts: 3,
  backoffMs: 1000,
  timeoutMs: DAY_SECONDS * 1000,
  retainSeconds: DAY_SECONDS,
  cron: null,
} as const;

export const runGoldenSetJob = defineJob({
  name: 'run-golden-set',
  does: 'Divides the remaining queries of a golden run among workers. If one worker is enough, runs the queries itself, scores the run and ends it.',
  // `round` distinguishes the jobs of a resumed run from its earlier jobs.
  payload: z.strictObject({ run_id: z.string().min(1), round: z.string().min(1).default('first') }),
  ...ofRun,
  async handle(context: Context, { run_id: runId, round }, signal) {
    const found = await findRunning(context, runId);
    if (found === null) return;
    const { free, held } = await context.db.golden.batches.counts(runId);
    const lanes = Math.min(free, found.run.settings.concurrency, MAX_LANES);
    if (lanes <= 1 && held === 0) return endRun(context, found.run, found.pipeline, signal);
    for (let lane = 0; lane < lanes; lane += 1) await enqueueBatch(context, runId, `${round}-${lane}`, 0);
  },
});

export const askGoldenBatchJob = defineJob({
  name: 'ask-golden-batch',
  does: 'Runs the queries of one batch of a golden run against the retriever, then enqueues the next batch as a job for any worker.',
  payload: z.strictObject({ run_id: z.string().min(1), lane: z.string().min(1), step: z.int().min(0) }),
  ...ofRun,
  async handle(context: Context, { run_id: runId, lane, step }, signal) {
    const found = await findRunning(context, runId);
    if (found === null) return;
    const { run, pipeline } = found;
    const bounded = AbortSignal.any([signal, untilDeadline(context, run)]);
    const left = await askGoldenBatch(context, run, pipeline, lane, bounded);
    if (left === 'more') await enqueueBatch(context, runId, lane, step + 1);
    else if (left === 'nothing') await endRun(context, run, pipeline, signal);
  },
});

/**
 * Returns null if the run does not exist or has ended, or if the config of this process lacks the run's pipeline. In
 * the last case, a process whose config contains the pipeline ends the run.
 */
async function findRunning(context: Context, runId: string) {
  const run = await context.db.golden.runs.find(runId);
  const pipeline = run === null ? null : findAskedPipeline(context.pipelines, run.pipeline);
  return run === null || pipeline === null || run.status !== 'running' ? null : { run, pipeline };
}

function untilDeadline({ clock }: Context, run: GoldenRun): AbortSignal {
  return AbortSignal.timeout(Math.max(0, run.deadlineAt.getTime() - clock.now().getTime()));
}

/** Enqueues one small job at a time, so that a large run does not block other runs. */
function enqueueBatch({ queue }: Context, runId: string, lane: string, step: number): Promise<void> {
  const payload = { run_id: runId, lane, step };
  return queue.enqueue(askGoldenBatchJob.name, payload, `${runId}-${lane}-${step}`);
}

async function endRun(context: Context, run: GoldenRun, pipeline: WatchedPipeline, signal: AbortSignal): Promise<void> {
  const bounded = AbortSignal.any([signal, untilDeadline(context, run)]);
  if ((await runGoldenSet(context, run, pipeline, bounded)) !== 'ended') return;
  await logFailure(context, run);
  if (pipeline.shadowOf === null) await followUp(context, run, pipeline, signal);
  await context.hooks.followWithShadows(run, pipeline, signal);
}

async function logFailure({ db, logger }: Context, { id, pipeline, goldenSet }: GoldenRun): Promise<void> {
  const failure = await db.golden.runs.failure(id);
  if (failure === null) return;
  const { code } = failure;
  const context = { run_id: id, pipeline, golden_set: goldenSet, code, reason: describeFailure(failure) };
  logger.warn('the retriever failed for queries of a golden run', context);
}

async function followUp(
  context: Context,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  signal: AbortSignal,
): Promise<void> {
  if (run.purpose === 'sentinel') await escalateSentinel(context, run.id, pipeline);
  else await advanceRotation(context, run, pipeline, signal);
  // Only runs of the pipeline's first golden set are compared with the store, because values from different sets would
  // not be comparable.
  const isCompared = run.purpose !== 'sentinel' && run.goldenSet === pipeline.golden[0]?.set;
  // The comparison with the store comes after the checks, so that a slow store does not delay them. The diagnosis uses
  // the comparison if it ends before the diagnosis starts.
  await attemptEach(
    [
      () => context.hooks.evaluateChecks([pipeline.name]),
      async () => (isCompared ? compareRunWithStore(context, pipeline, run.id, signal) : undefined),
      () => context.hooks.diagnose(pipeline.name, run.id),
    ],
    signal,
  );
}

export const recoverGoldenRunsJob = defineCronJob({
  name: 'recover-golden-runs',
  does: 'Resumes golden runs whose worker died, and marks runs past their deadline as failed.',
  cron: '*/10 * * * * *',
  timeoutMs: 60_000,
  async handle(context: Context) {
    const failed = await recoverGoldenRuns(context);
    if (failed.length > 0) await context.hooks.evaluateChecks(failed);
  },
});

const recordGoldenDocumentsJob = defineCronJob({
  name: 'record-golden-documents',
  does: 'Stores texts of judged documents while the documents are in the vector store, so that recalld can find replacements if the documents disappear.',
  cron: '51 * * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  handle: (context: Context, signal) =>
    forEachPipeline(context.pipelines, signal, (pipeline) => recordGoldenDocuments(context, pipeline, signal)),
});

const measureGoldenRepresentativenessJob = defineCronJob({
  name: 'measure-golden-representativeness',
  does: 'Measures how well each golden set represents live traffic, and reweights its scores to the topic mix of live traffic.',
  cron: '23 */6 * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  handle: (context: Context, signal) =>
    forEachPipeline(context.pipelines, signal, (pipeline) =>
      measureGoldenRepresentativeness(context, pipeline, signal),
    ),
});

const deleteGoldenAnswersJob = defineCronJob({
  name: 'delete-golden-answers',
  does: 'Deletes golden run results that are older than `keep_answers`, except those of baselines, of runs that incidents refer to, and of the first and last run of each day. Scores are kept.',
  cron: '37 * * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  async handle({ db, pipelines, clock }: Context, signal) {
    const now = clock.now();
    for (const { name: pipeline, golden } of pipelines) {
      for (const { set: goldenSet, keepAnswersMs } of golden) {
        const before = new Date(now.getTime() - keepAnswersMs);
        await db.golden.runs.deleteAnswers({ pipeline, goldenSet }, before, now, signal);
      }
    }
  },
});

export const goldenJobs: readonly JobDefinition<Context>[] = [
  runGoldenSetJob,
  askGoldenBatchJob,
  recoverGoldenRunsJob,
  recordGoldenDocumentsJob,
  deleteGoldenAnswersJob,
  measureGoldenRepresentativenessJob,
];
