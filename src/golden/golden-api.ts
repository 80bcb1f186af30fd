/** Composes what the HTTP API does with golden sets, runs and baselines. */
import type { Dependencies } from '../app/dependencies.ts';
import { runGoldenSetJob } from './golden-jobs.ts';
import type { BaselinesDeps, GoldenRunsDeps, GoldenSetsDeps } from './golden-routes.ts';
import type { GoldenRun } from './rules/run.ts';
import { cancelGoldenRun } from './runs/end-golden-run.ts';
import { pinRun, unpin } from './runs/pin-baseline.ts';
import { summarizeRun, summarizeRunSoFar } from './runs/run-summary.ts';
import { newRunId, startGoldenRun } from './runs/start-golden-run.ts';
import { compareRunsById, findCompleted } from './runs/stored-runs.ts';
import { importGoldenQueries } from './sets/import-golden-set.ts';
import { findPipeline, scheduleOf } from './watched-pipeline.ts';

/** Of work that goes on although its caller has gone. */
const never = new AbortController().signal;

type GoldenApi = Omit<GoldenSetsDeps & GoldenRunsDeps & BaselinesDeps, 'authentication'>;

export function createGoldenApi(dependencies: Dependencies): GoldenApi {
  const { sets, runs, baselines, clock } = dependencies;
  const { statistics } = dependencies.compute;
  const store = { sets, runs, baselines, statistics };
  const summarizeSoFar = oneAtATime((run: GoldenRun) => summarizeRunSoFar(store, run, never));
  return {
    sets,
    runs,
    importQueries: (name, values) => importGoldenQueries(sets, name, values, clock.now()),
    summarizeRun: (run) => (run.status === 'running' ? summarizeSoFar(run) : summarizeRun(runs, run)),
    compareRuns: oneAtATime((baseline: string, candidate: string, by: string | null) =>
      compareRunsById(store, baseline, candidate, by, 'as_stored', never),
    ),
    startRun: (pipeline, goldenSet) => startRun(dependencies, pipeline, goldenSet),
    cancelRun: (id) => cancelGoldenRun({ runs, clock }, id),
    pinBaseline: async (runId, note, by) => {
      const run = await findCompleted(store, runId);
      return (await pinRun(store, run, note, null, by, clock.now(), never)).baseline;
    },
    unpinBaseline: (pipeline, goldenSet, by) => unpin(store, pipeline, goldenSet, by, clock.now()),
  };
}

/**
 * Stores a run of the latest version of a set and hands it to the workers.
 *
 * @throws RecalldError pipeline_unknown, golden_set_unknown
 */
export async function startRun(
  {
    sets,
    runs,
    rotations,
    queue,
    clock,
    logger,
    pipelines,
  }: Pick<Dependencies, 'sets' | 'runs' | 'rotations' | 'queue' | 'clock' | 'logger' | 'pipelines'>,
  name: string,
  goldenSet: string,
): Promise<GoldenRun> {
  const pipeline = findPipeline(pipelines, name);
  const schedule = scheduleOf(pipeline, goldenSet);
  const runId = await startGoldenRun({ sets, runs, rotations, clock, newRunId }, pipeline, schedule);
  const run = await runs.find(runId);
  if (run === null) throw new Error('a run by hand is gone from the database');
  try {
    await queue.enqueue(runGoldenSetJob.name, { run_id: run.id }, run.id);
  } catch (error) {
    // The run is stored, and the job that looks for runs that nobody holds takes it when the queue is back.
    logger.warn('a golden run waits for the queue', { run_id: run.id, reason: String(error) });
  }
  return run;
}

/** A comparison computes for some tenths of a second; many at once would leave golden runs no room in the queue. */
function oneAtATime<Args extends readonly unknown[], Result>(
  work: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (...args) => {
    const next = last.then(
      () => work(...args),
      () => work(...args),
    );
    last = next;
    return next;
  };
}
