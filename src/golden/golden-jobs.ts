/** Golden runs, divided among workers, and what keeps golden sets alive. */
import { z } from 'zod';
import { forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import { defineCronJob, defineJob, type JobDefinition, type JobQueue } from '../platform/queue/job-queue.ts';
import type { GoldenRun } from './rules/run.ts';
import { describeFailure } from './rules/run-failure.ts';
import { type RecoverGoldenRunsDeps, recoverGoldenRuns } from './runs/end-golden-run.ts';
import { advanceRotation, type RotationDeps } from './runs/rotate-golden-set.ts';
import { type AskBatchDeps, askGoldenBatch, runGoldenSet } from './runs/run-golden-set.ts';
import { type EscalateDeps, escalateSentinel } from './runs/tick-golden-set.ts';
import { type GoldenUpkeepDeps, measureGoldenRepresentativeness, recordGoldenDocuments } from './sets/live-mix.ts';
import type { WatchedPipeline } from './watched-pipeline.ts';

export interface GoldenJobDeps extends AskBatchDeps {
  readonly queue: Pick<JobQueue, 'enqueue'>;
  readonly escalate: EscalateDeps;
  readonly rotate: RotationDeps;
  readonly recover: RecoverGoldenRunsDeps;
  readonly goldenUpkeep: GoldenUpkeepDeps;
  readonly pipelines: readonly WatchedPipeline[];
  findPipeline(name: string): WatchedPipeline | null;
  /** Judges the checks of some pipelines at once, because what they are judged by has changed. */
  readonly evaluateChecks: (pipelines: readonly string[]) => Promise<void>;
  /** Has shadows asked what a run asked, or looks at what a run of a shadow came to. */
  followWithShadows(run: GoldenRun, pipeline: WatchedPipeline, signal: AbortSignal): Promise<void>;
  /** Has others look at what a run that ended says of its pipeline. */
  lookAt(pipeline: string, runId: string): Promise<void>;
}

const DAY_SECONDS = 86_400;

/** Most batches of one run that are asked at a time; what a retriever takes is bounded by its concurrency anyway. */
const MAX_LANES = 16;

export const runGoldenSetJob = defineJob({
  name: 'run-golden-set',
  does: 'Divides a golden run among workers, or asks what is left of it, scores it and ends it.',
  // `round` tells apart the jobs of a run that is begun again.
  payload: z.strictObject({ run_id: z.string().min(1), round: z.string().min(1).default('first') }),
  concurrency: 4,
  attempts: 3,
  backoffMs: 1000,
  timeoutMs: DAY_SECONDS * 1000,
  retainSeconds: DAY_SECONDS,
  cron: null,
  async handle(deps: GoldenJobDeps, { run_id: runId, round }, signal) {
    const found = await findRunning(deps, runId);
    if (found === null) return;
    const { free, held } = await deps.batches.counts(runId);
    const lanes = Math.min(free, found.run.settings.concurrency, MAX_LANES);
    if (lanes <= 1 && held === 0) return endRun(deps, found, signal);
    for (let lane = 0; lane < lanes; lane += 1) await enqueueBatch(deps, runId, `${round}-${lane}`, 0);
  },
});

export const askGoldenBatchJob = defineJob({
  name: 'ask-golden-batch',
  does: 'Asks the retriever one batch of a golden run, and hands the next one on to whichever worker is free.',
  payload: z.strictObject({
    run_id: z.string().min(1),
    lane: z.string().min(1),
    step: z.int().min(0),
  }),
  concurrency: 4,
  attempts: 3,
  backoffMs: 1000,
  timeoutMs: DAY_SECONDS * 1000,
  retainSeconds: DAY_SECONDS,
  cron: null,
  async handle(deps: GoldenJobDeps, { run_id: runId, lane, step }, signal) {
    const found = await findRunning(deps, runId);
    if (found === null) return;
    const { run, pipeline } = found;
    const bounded = AbortSignal.any([signal, untilDeadline(deps, run)]);
    const left = await askGoldenBatch(deps, run, pipeline, lane, bounded);
    if (left === 'more') await enqueueBatch(deps, runId, lane, step + 1);
    else if (left === 'nothing') await endRun(deps, found, signal);
  },
});

interface FoundRun {
  readonly run: GoldenRun;
  readonly pipeline: WatchedPipeline;
}

/** Null when it has ended, or is of a pipeline that another deployment watches: then it is that one's to end. */
async function findRunning(deps: GoldenJobDeps, runId: string): Promise<FoundRun | null> {
  const run = await deps.runs.find(runId);
  const pipeline = run === null ? null : deps.findPipeline(run.pipeline);
  return run === null || pipeline === null || run.status !== 'running' ? null : { run, pipeline };
}

function untilDeadline({ clock }: GoldenJobDeps, run: GoldenRun): AbortSignal {
  return AbortSignal.timeout(Math.max(0, run.deadlineAt.getTime() - clock.now().getTime()));
}

/** One small job after the other, so that a large run does not keep all others waiting. */
function enqueueBatch({ queue }: GoldenJobDeps, runId: string, lane: string, step: number): Promise<void> {
  const payload = { run_id: runId, lane, step };
  return queue.enqueue(askGoldenBatchJob.name, payload, `${runId}-${lane}-${step}`);
}

/** Whoever of several comes first ends the run; it asks what has no answer yet, and looks at what follows from the end. */
async function endRun(deps: GoldenJobDeps, { run, pipeline }: FoundRun, signal: AbortSignal): Promise<void> {
  const bounded = AbortSignal.any([signal, untilDeadline(deps, run)]);
  if ((await runGoldenSet(deps, run, pipeline, bounded)) !== 'ended') return;
  await logFailure(deps, run);
  if (pipeline.shadowOf === null) await followUp(deps, run, pipeline);
  await deps.followWithShadows(run, pipeline, signal);
}

async function logFailure({ runs, logger }: GoldenJobDeps, { id, pipeline, goldenSet }: GoldenRun): Promise<void> {
  const failure = await runs.failure(id);
  if (failure === null) return;
  const { code } = failure;
  const context = { run_id: id, pipeline, golden_set: goldenSet, code, reason: describeFailure(failure) };
  logger.warn('the retriever failed queries of a golden run', context);
}

async function followUp(deps: GoldenJobDeps, run: GoldenRun, pipeline: WatchedPipeline): Promise<void> {
  if (run.purpose === 'sentinel') await escalateSentinel(deps.escalate, run.id, pipeline);
  else await advanceRotation(deps.rotate, run, pipeline);
  await deps.evaluateChecks([pipeline.name]);
  await deps.lookAt(pipeline.name, run.id);
}

export const recoverGoldenRunsJob = defineCronJob({
  name: 'recover-golden-runs',
  does: 'Resumes golden runs whose worker died and fails those past their deadline.',
  cron: '*/10 * * * * *',
  timeoutMs: 60_000,
  async handle(deps: GoldenJobDeps) {
    const failed = await recoverGoldenRuns(deps.recover);
    if (failed.length > 0) await deps.evaluateChecks(failed);
  },
});

const recordGoldenDocumentsJob = defineCronJob({
  name: 'record-golden-documents',
  does: 'Keeps the texts of judged documents while they are in the store, so that lost labels can be found again.',
  cron: '51 * * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  handle: ({ goldenUpkeep, pipelines }: GoldenJobDeps, signal) =>
    forEachPipeline(pipelines, signal, (pipeline) => recordGoldenDocuments(goldenUpkeep, pipeline, signal)),
});

const measureGoldenRepresentativenessJob = defineCronJob({
  name: 'measure-golden-representativeness',
  does: 'Measures how well each golden set stands for live traffic, and its scores with the mix of live traffic.',
  cron: '23 */6 * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  handle: ({ goldenUpkeep, pipelines }: GoldenJobDeps, signal) =>
    forEachPipeline(pipelines, signal, (pipeline) => measureGoldenRepresentativeness(goldenUpkeep, pipeline, signal)),
});

const forgetGoldenAnswersJob = defineCronJob({
  name: 'forget-golden-answers',
  does: 'Deletes the answers of golden runs that are older than `keep_answers`, but for baselines, runs of incidents, and the first and the last run of a day. Scores stay.',
  cron: '37 * * * *',
  timeoutMs: 3_000_000,
  retainSeconds: 3600,
  async handle({ runs, pipelines, clock }: GoldenJobDeps, signal) {
    const now = clock.now();
    for (const { name: pipeline, golden } of pipelines) {
      for (const { set: goldenSet, keepAnswersMs } of golden) {
        await runs.forgetAnswers({ pipeline, goldenSet }, new Date(now.getTime() - keepAnswersMs), now, signal);
      }
    }
  },
});

export const goldenJobs: readonly JobDefinition<GoldenJobDeps>[] = [
  runGoldenSetJob,
  askGoldenBatchJob,
  recoverGoldenRunsJob,
  recordGoldenDocumentsJob,
  forgetGoldenAnswersJob,
  measureGoldenRepresentativenessJob,
];
