/** A worker of the pipeline `docs` with one running run, on a retriever of 100 ms. */
import { describe, expect, it } from 'vitest';
import { type JobDeps, jobCatalogue } from '../../../src/app/jobs.ts';
import { RecalldError } from '../../../src/errors.ts';
import { statisticsOfCommands as statistics } from '../../../src/golden/golden-statistics.ts';
import type { GoldenRun } from '../../../src/golden/rules/run.ts';
import type { Measurements } from '../../../src/measures/measurements.ts';
import { createJobRunner } from '../../../src/queue/job-queue.ts';
import { aGoldenRun, aNewGoldenSet, aWatchedPipeline, NOON } from '../../support/builders.ts';
import { MemoryGoldenBaselines } from '../../support/memory-golden-baselines.ts';
import { MemoryGoldenBatches } from '../../support/memory-golden-batches.ts';
import { MemoryGoldenRotations } from '../../support/memory-golden-rotations.ts';
import { MemoryGoldenRuns } from '../../support/memory-golden-runs.ts';
import { MemoryGoldenSets } from '../../support/memory-golden-sets.ts';
import { MemoryGoldenTicks } from '../../support/memory-golden-ticks.ts';
import { MemoryJobQueue } from '../../support/memory-job-queue.ts';
import { MemoryRetriever } from '../../support/memory-retriever.ts';
import { MemoryLogger, MemoryMeter } from '../../support/memory-telemetry.ts';
import { limitsOfOne } from '../../support/retriever-gate.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

async function aWorker() {
  const clock = new SteerableClock();
  const sets = new MemoryGoldenSets();
  await sets.add(aNewGoldenSet(), NOON);
  const runs = new MemoryGoldenRuns(clock);
  runs.put(aGoldenRun());
  const logger = new MemoryLogger();
  const meter = new MemoryMeter();
  const stop = new AbortController();
  const retriever = new MemoryRetriever(clock, () => ['d1'], 100);
  const pipeline = aWatchedPipeline({ retriever });
  // Neither live traffic nor what is measured of it is touched here.
  const traffic = {} as unknown as JobDeps['traffic'];
  const measurements = {} as unknown as Measurements;
  // Nobody has looked at what the pipeline is made of.
  const deployments = { fingerprints: async () => [] } as unknown as JobDeps['deployments'];
  const resumed: GoldenRun[] = [];
  /** Of which pipelines checks were judged, and how the run stood then. */
  const evaluated: unknown[] = [];
  const isWatched = (name: string): boolean => name === pipeline.name;
  const resume = async (run: GoldenRun): Promise<void> => {
    resumed.push(run);
  };
  const rotations = new MemoryGoldenRotations();
  const baselines = new MemoryGoldenBaselines();
  const jobDeps: JobDeps = {
    judge: async () => undefined,
    auditLog: { prune: async () => undefined },
    auditRetentionDays: 730,
    askShadows: async () => undefined,
    sumVariantDays: async () => undefined,
    followWithShadows: async () => undefined,
    indexPlans: [],
    // No index is looked into here.
    indexTruth: null as never,
    sets,
    runs,
    baselines,
    statistics,
    deployments,
    rotations,
    batches: new MemoryGoldenBatches(),
    limits: limitsOfOne(clock),
    queue: new MemoryJobQueue(),
    escalate: { runs, ticks: new MemoryGoldenTicks(runs), clock, logger, newRunId: () => 'run-2', resume },
    rotate: { sets, runs, rotations, deployments, clock, logger },
    clock,
    logger,
    holder: 'me',
    recover: { runs, clock, logger, isWatched, resume },
    traffic,
    retentionDays: new Map(),
    measurements,
    consoleSessions: { prune: async () => undefined },
    measurementRetentionDays: 400,
    measureLive: { plans: [] } as unknown as JobDeps['measureLive'],
    pipelines: [pipeline],
    // No pipeline has its density watched.
    density: { plans: [] } as unknown as JobDeps['density'],
    notify: async () => undefined,
    diagnose: {
      sets,
      runs,
      baselines,
      measurements,
      checkStore: { standings: async () => [] },
      pipelines: [pipeline],
      deployments,
      densityStates: { find: async () => null, events: async () => [] },
      topics: { list: async () => [], names: async () => new Map() },
      // Nothing is in alarm, and nothing was.
      incidents: {
        current: async () => null,
        close: async () => false,
        prune: async () => undefined,
      } as unknown as JobDeps['diagnose']['incidents'],
      densityPlans: [],
      intervalSeconds: () => null,
      clock,
      logger,
    },
    measureFeedback: {} as unknown as JobDeps['measureFeedback'],
    checkStore: { prune: async () => undefined },
    evaluateChecks: async (names?: readonly string[]) => {
      const { status } = (await runs.find('run-1')) ?? {};
      evaluated.push([names, status]);
    },
    // No pipeline has a store or an embedder to look at.
    snapshots: {} as unknown as JobDeps['snapshots'],
    probes: {} as unknown as JobDeps['probes'],
    // Documents and the mix of live traffic are not looked at.
    goldenUpkeep: {} as unknown as JobDeps['goldenUpkeep'],
    lookAt: async () => undefined,
    findPipeline: (name) => (isWatched(name) ? pipeline : null),
  };
  const run = createJobRunner({ jobs: jobCatalogue, jobDeps, clock, logger, meter, shutdown: stop.signal });
  return {
    clock,
    runs,
    logger,
    meter,
    stop,
    retriever,
    resumed,
    run,
    evaluated,
  };
}

const GOLDEN = 'run-golden-set';
const RECOVER = 'recover-golden-runs';

describe('the checks of a pipeline', () => {
  it('are judged at once when a golden run of it has ended, and once for all that retry it', async () => {
    const { clock, run, evaluated } = await aWorker();
    await clock.until(run(GOLDEN, { run_id: 'run-1' }, 'first'));
    await clock.until(run(GOLDEN, { run_id: 'run-1' }, 'second'));
    expect(evaluated).toEqual([[['docs'], 'completed']]);
  });

  it('are judged at once when a run of it failed because nobody went on with it', async () => {
    const { clock, run, evaluated } = await aWorker();
    await run(RECOVER, {}, 'early');
    expect(evaluated).toEqual([]);
    await clock.advance(7 * 86_400_000);
    await run(RECOVER, {}, 'late');
    expect(evaluated).toEqual([[['docs'], 'failed']]);
  });
});

describe('a job', () => {
  it('is done when its work ends, counted and timed', async () => {
    const { clock, runs, meter, logger, run } = await aWorker();
    expect(await clock.until(run(GOLDEN, { run_id: 'run-1' }, 'id'))).toBe('done');
    expect(runs.endOf('run-1')?.status).toBe('completed');
    expect(meter.increments).toEqual([
      { name: 'recalld_jobs_total', labels: { task: GOLDEN, outcome: 'completed' }, value: 1 },
    ]);
    expect(meter.observations).toEqual([
      { name: 'recalld_job_duration_seconds', labels: { task: GOLDEN }, value: 0.102 },
    ]);
    expect(logger.lines).toEqual([]);
  });

  it.each([
    ['no payload', undefined, 'payload'],
    ['a payload without its id', {}, 'run_id'],
    ['an empty id', { run_id: '' }, 'run_id'],
    ['a key that the job does not know', { run_id: 'run-1', text: 'What is my PIN?' }, 'payload'],
    ['another type', 'run-1', 'payload'],
  ])('with %s is dead at once: the log says which field, not what it held', async (_, payload, field) => {
    const { meter, logger, retriever, run } = await aWorker();
    expect(await run(GOLDEN, payload, 'id')).toEqual({
      kind: 'dead',
      reason: expect.stringMatching(new RegExp(`^${field}: `)),
    });
    expect(meter.increments).toEqual([
      { name: 'recalld_jobs_total', labels: { task: GOLDEN, outcome: 'dead' }, value: 1 },
    ]);
    expect(retriever.asked).toEqual([]);
    expect(logger.lines).toEqual([
      {
        level: 'error',
        message: 'a job has a payload that its definition refuses',
        fields: { job: GOLDEN, id: 'id', reason: expect.stringMatching(new RegExp(`^${field}: `)) },
      },
    ]);
    expect(JSON.stringify(logger.lines)).not.toMatch(/PIN|run-1/);
  });

  it.each([
    [
      'a service does not answer',
      new RecalldError('database_unreachable', 'PostgreSQL does not answer.'),
      'retry',
      'failed',
    ],
    ['something unforeseen breaks', new TypeError('x is undefined'), 'retry', 'failed'],
    ['something that is no error is thrown', 'a string', 'retry', 'failed'],
    [
      'a retry would come to the same',
      new RecalldError('golden_set_unknown', 'There is no golden set.'),
      'dead',
      'dead',
    ],
  ])('is judged when %s', async (_, error, verdict, outcome) => {
    const { runs, meter, logger, run } = await aWorker();
    runs.abandoned = async () => {
      throw error;
    };
    const reason = error instanceof Error ? error.message : error;
    expect(await run(RECOVER, {}, 'id')).toEqual({ kind: verdict, reason });
    expect(meter.increments).toEqual([{ name: 'recalld_jobs_total', labels: { task: RECOVER, outcome }, value: 1 }]);
    expect(meter.observations).toHaveLength(1);
    expect(logger.lines).toEqual([
      {
        level: 'error',
        message: 'a job failed',
        fields: {
          job: RECOVER,
          id: 'id',
          reason,
          final: outcome === 'dead',
        },
      },
    ]);
  });

  it('is put down when the program stops: another takes it, and it is no failure', async () => {
    const { clock, runs, meter, logger, stop, run } = await aWorker();
    const outcome = run(GOLDEN, { run_id: 'run-1' }, 'id');
    await clock.advance(50);
    stop.abort(new Error('the daemon stops'));
    expect(await outcome).toBe('put_down');
    expect(runs.holderOf('run-1')).toBeNull();
    expect(runs.endOf('run-1')).toBeNull();
    expect(meter.increments).toEqual([]);
    expect(logger.lines).toEqual([]);
  });

  it('of a name that is not in the catalogue is a bug, and says so', async () => {
    const { run } = await aWorker();
    await expect(run('no-such-job', {}, 'id')).rejects.toThrow('there is no job no-such-job');
  });
});

describe('the job of a golden run', () => {
  it('is done without work when the run has ended, so that a second delivery counts nothing twice', async () => {
    const { clock, retriever, run } = await aWorker();
    await clock.until(run(GOLDEN, { run_id: 'run-1' }, 'first'));
    const asked = retriever.asked.length;
    expect(await clock.until(run(GOLDEN, { run_id: 'run-1' }, 'second'))).toBe('done');
    expect(retriever.asked).toHaveLength(asked);
  });

  it('is done without work when there is no such run, or when another deployment watches its pipeline', async () => {
    const { runs, retriever, run } = await aWorker();
    runs.put(aGoldenRun({ id: 'foreign', pipeline: 'theirs' }));
    expect(await run(GOLDEN, { run_id: 'nope' }, 'a')).toBe('done');
    expect(await run(GOLDEN, { run_id: 'foreign' }, 'b')).toBe('done');
    expect(retriever.asked).toEqual([]);
    expect(runs.endOf('foreign')).toBeNull();
  });

  it('gives up when the deadline of the run has passed', async () => {
    const { clock, runs, run } = await aWorker();
    runs.put(
      aGoldenRun({
        id: 'late',
        deadlineAt: NOON,
        settings: { ...aGoldenRun().settings, maxPerSecond: 1e-6, concurrency: 1 },
      }),
    );
    expect(await clock.until(run(GOLDEN, { run_id: 'late' }, 'id'))).toMatchObject({ kind: 'retry' });
    expect(runs.endOf('late')).toBeNull();
    expect(runs.holderOf('late')).toBeNull();
  });
});

describe('the job that recovers golden runs', () => {
  it('resumes those that nobody works on', async () => {
    const { clock, resumed, run } = await aWorker();
    await clock.advance(60_000);
    expect(await run(RECOVER, {}, 'id')).toBe('done');
    expect(resumed.map(({ id }) => id)).toEqual(['run-1']);
  });
});
