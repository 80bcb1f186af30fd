/** Ends of golden runs without scores: cancelled by hand, or failed. None stays `running` for ever. */
import type { Clock } from '../../clock.ts';
import { RecalldError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { GoldenRun } from '../rules/run.ts';
import { describeFailure } from '../rules/run-failure.ts';
import type { GoldenRuns } from '../sql/golden-runs.ts';
import type { RunEnd } from '../sql/run-results.ts';
import { findRun } from './stored-runs.ts';

export interface RecoverGoldenRunsDeps {
  readonly runs: GoldenRuns;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether this deployment has the pipeline of the run. */
  isWatched(pipeline: string): boolean;
  resume(run: GoldenRun): Promise<void>;
}

/** A run younger than this may just be on its way through the queue. */
const GRACE_MS = 5000;

/**
 * Resumes abandoned runs; fails those past their deadline and those of pipelines that the config no longer has.
 *
 * @returns the pipelines of those that failed
 */
export async function recoverGoldenRuns(deps: RecoverGoldenRunsDeps): Promise<readonly string[]> {
  const failed: string[] = [];
  const now = deps.clock.now();
  for (const run of await deps.runs.abandoned()) {
    const reason = reasonToFail(run, now, deps);
    if (reason !== null) {
      const failure = await deps.runs.failure(run.id);
      deps.logger.warn('an abandoned golden run is marked failed', {
        run_id: run.id,
        pipeline: run.pipeline,
        reason,
        ...(failure === null ? {} : { error: describeFailure(failure) }),
      });
      await deps.runs.finish(run.id, endWithoutScores('failed', reason, now));
      failed.push(run.pipeline);
    } else if (now.getTime() - run.startedAt.getTime() >= GRACE_MS) {
      deps.logger.info('an abandoned golden run is resumed', { run_id: run.id, pipeline: run.pipeline });
      await deps.resume(run);
    }
  }
  return failed;
}

function reasonToFail(run: GoldenRun, now: Date, deps: RecoverGoldenRunsDeps): string | null {
  if (now > run.deadlineAt) return `It did not end by its deadline, ${run.deadlineAt.toISOString()}.`;
  if (!deps.isWatched(run.pipeline))
    return `Its worker died and the config has no pipeline "${run.pipeline}" to go on with.`;
  return null;
}

/** The end of a run that came to no scores. */
export function endWithoutScores(status: RunEnd['status'], reason: string | null, finishedAt: Date): RunEnd {
  const nothing = {
    doubts: [],
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

interface CancelGoldenRunDeps {
  readonly runs: Pick<GoldenRuns, 'find' | 'finish'>;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Ends a running run as cancelled; whoever works on it stops within seconds.
 *
 * @throws RecalldError run_unknown, run_not_running
 */
export async function cancelGoldenRun({ runs, clock }: CancelGoldenRunDeps, runId: string): Promise<GoldenRun> {
  const end = endWithoutScores('cancelled', 'It was cancelled by hand.', clock.now());
  const isCancelled = await runs.finish(runId, end);
  const run = await findRun(runs, runId);
  if (!isCancelled) {
    const message = `The run ${runId} is ${run.status}; only a running run can be cancelled.`;
    throw new RecalldError('run_not_running', message);
  }
  return run;
}
