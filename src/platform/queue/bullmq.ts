/** The job queue on BullMQ 6, the same over PostgreSQL and over Redis. One BullMQ queue per job name. */
import { type Job, UnrecoverableError, WaitingError } from 'bullmq';
import { RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import {
  type Backend,
  type BackendOptions,
  type BackendSettings,
  type JobsOfOneName,
  openPostgresBackend,
  openRedisBackend,
  type QueueOwner,
  type WorkerOfOneName,
} from './backends.ts';
import type { FailedJob, JobQueue, JobSpec, QueueCount, RunJob } from './job-queue.ts';
import { nameOfRedis, ownerKey } from './redis-connection.ts';

const states = ['waiting', 'active', 'delayed', 'failed'] as const;

export interface QueueSettings {
  readonly backend: BackendSettings;
  readonly jobs: readonly JobSpec[];
  readonly logger: Logger;
  /** Whose jobs they are. A store that belongs to another one is refused; left out, nothing is compared. */
  readonly owner?: QueueOwner;
  /** A worker that is gone for this long has its job given to another. */
  readonly lostAfterMs?: number;
  /** A store that does not answer a command for this long counts as gone. */
  readonly answerLimitMs?: number;
}

/**
 * Opens the queue; the schema of the PostgreSQL backend is brought up to date.
 *
 * @throws RecalldError queue_unreachable, queue_taken
 */
export async function openJobQueue(settings: QueueSettings): Promise<JobQueue> {
  const { jobs, logger, owner, lostAfterMs = 30_000, answerLimitMs = 5000 } = settings;
  let closing = false;
  const warn = createWarning(logger);
  logBullMqConsole(logger);
  let doubts: JobQueue['doubts'] | null = null;
  const report = (problem: Error): void => {
    if (closing) return;
    // Every command of every worker says so; the doubts say it once.
    if (isFull(problem) && doubts !== null) doubts().catch(() => undefined);
    else warn(problem.message || problem.name);
  };
  const options = { lostAfterMs, answerLimitMs, report };
  const backend =
    settings.backend.kind === 'postgres'
      ? await openPostgresBackend(settings.backend, options)
      : await openRedisBackend(settings.backend, options);
  const readOwner = createOwnerCheck(backend, settings.backend, owner);
  const taken = await readOwner().catch(async (cause: unknown) => {
    await backend.close();
    throw unreachable(cause);
  });
  if (taken !== null) {
    await backend.close();
    throw new RecalldError('queue_taken', taken);
  }
  doubts = createDoubts(async () => {
    const taken = await readOwner();
    return [...(taken === null ? [] : [taken]), ...(await backend.doubts())];
  }, logger);
  const queues = await openQueues(backend, jobs, report);
  const workers = createWorkers(backend, { answerLimitMs, report });
  const close = async (): Promise<void> => {
    await workers.drain();
    closing = true;
    await Promise.all([...queues.values()].map(({ queue }) => queue.close()));
    await backend.close();
  };
  let closed: Promise<void> | undefined;
  const inEach = async <Found>(read: (queue: JobsOfOneName, name: string) => Promise<Found[]>): Promise<Found[]> => {
    const found = [...queues.values()].map(({ spec, queue }) => read(queue, spec.name));
    return (await Promise.all(found).catch((cause: unknown) => Promise.reject(unreachable(cause)))).flat();
  };

  return {
    async enqueue(job, payload, id) {
      const entry = queues.get(job);
      if (entry === undefined) throw new Error(`there is no queue for job ${job}`);
      const { spec, queue } = entry;
      const retained = { age: spec.retainSeconds };
      const options = {
        jobId: id,
        attempts: spec.attempts,
        backoff: { type: 'exponential', delay: spec.backoffMs },
        removeOnComplete: retained,
        removeOnFail: retained,
      };
      try {
        await queue.add(job, payload, options);
      } catch (cause) {
        throw unreachable(cause);
      }
    },

    work: (run) => workers.work(jobs, run),

    counts: () =>
      inEach(async (queue, name) => {
        const counts = await queue.getJobCounts(...states);
        return states.map((state): QueueCount => ({ queue: name, state, count: counts[state] ?? 0 }));
      }),

    failures: (most) =>
      inEach(async (queue, name) => {
        const failed = await queue.getFailed(0, most - 1);
        return failed.map(({ id = '', failedReason: reason }): FailedJob => ({ queue: name, id, reason }));
      }),

    doubts,
    inHand: workers.inHand,
    drain: workers.drain,

    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** Takes a store without an owner, and says whose it is when it belongs to another one; null: ours. */
function createOwnerCheck(
  backend: Backend,
  store: BackendSettings,
  owner: QueueOwner | undefined,
): () => Promise<string | null> {
  return async () => {
    if (owner === undefined || store.kind !== 'redis') return null;
    const stored = await backend.claim(owner).catch((error: Error) => {
      if (isFull(error)) return owner;
      throw error;
    });
    if (stored.id === owner.id) return null;
    const { prefix = 'recalld' } = store;
    return `The queue "${prefix}" in ${nameOfRedis(store)} belongs to the deployment of ${stored.name}, and this one works on ${owner.name}: each would run the jobs of the other. Set queue.prefix to another name; if the other deployment is gone for good, delete the key ${ownerKey(store)} there (docs/how-to/scaling.md).`;
  };
}

/** Redis refuses what would take more memory than it may have. */
const isFull = (error: Error): boolean => error.message.includes('OOM command not allowed');

/** Reads the doubts, and logs them when they begin and when they end. */
function createDoubts(read: () => Promise<readonly string[]>, logger: Logger): JobQueue['doubts'] {
  let known: readonly string[] = [];
  return async () => {
    const doubts = await read().catch((cause: unknown) => Promise.reject(unreachable(cause)));
    for (const reason of doubts)
      if (!known.some((one) => isSameDoubt(one, reason)))
        logger.warn('the store of the job queue is not safe', { reason });
    if (doubts.length === 0 && known.length > 0) logger.info('the store of the job queue is safe again');
    known = doubts;
    return doubts;
  };
}

/** The numbers of one go on changing. */
const isSameDoubt = (one: string, other: string): boolean => one.replace(/\(.*\)/, '') === other.replace(/\(.*\)/, '');

/** Begin of what BullMQ writes to the console by itself. */
const BULLMQ_WARNING = /^(IMPORTANT! Eviction policy|It is highly recommended to use a minimum Redis version|BullMQ:)/;
let bullMqLogger: Logger | null = null;

/** From now on goes to the log what BullMQ would write to the console; each text once, and what doubts say not at all. */
function logBullMqConsole(logger: Logger): void {
  const isListening = bullMqLogger !== null;
  bullMqLogger = logger;
  if (isListening) return;
  const written = new Set<string>();
  const write = console.warn.bind(console);
  console.warn = (...args: unknown[]): void => {
    const [text] = args;
    if (typeof text !== 'string' || !BULLMQ_WARNING.test(text)) return write(...args);
    if (text.startsWith('IMPORTANT! Eviction policy') || written.has(text)) return;
    written.add(text);
    bullMqLogger?.warn('the job queue has trouble', { reason: text.replaceAll(/\s+/g, ' ') });
  };
}

type Queues = ReadonlyMap<string, { readonly spec: JobSpec; readonly queue: JobsOfOneName }>;

/** @throws RecalldError queue_unreachable */
async function openQueues(backend: Backend, jobs: readonly JobSpec[], report: (error: Error) => void): Promise<Queues> {
  const queues = new Map(jobs.map((spec) => [spec.name, { spec, queue: backend.queue(spec.name) }]));
  for (const { queue } of queues.values()) queue.on('error', report);
  try {
    // A queue whose first words with its store failed never speaks to it again, so it must not come into use.
    await Promise.all([...queues.values()].map(({ queue }) => queue.waitUntilReady()));
  } catch (cause) {
    await backend.close();
    throw unreachable(cause);
  }
  return queues;
}

/** The workers of this process, and what they have in hand. */
function createWorkers(backend: Backend, { answerLimitMs, report }: Pick<BackendOptions, 'answerLimitMs' | 'report'>) {
  const workers: WorkerOfOneName[] = [];
  const running = new Map<Promise<unknown>, string>();
  return {
    work: async (jobs: readonly JobSpec[], run: RunJob): Promise<void> => {
      for (const { name, concurrency } of jobs) {
        const worker = backend.worker(
          name,
          async (job, token) => {
            const attempt = runOnce(run, name, job, token);
            running.set(attempt, name);
            await attempt.finally(() => running.delete(attempt));
          },
          concurrency,
        );
        worker.on('error', report);
        workers.push(worker);
      }
      await Promise.all(workers.map((worker) => worker.waitUntilReady()));
    },

    inHand: (): string[] => [...running.values()],

    drain: async (): Promise<void> => {
      const drained = Promise.all(workers.map((worker) => worker.close()));
      while (running.size > 0) await Promise.allSettled(running.keys());
      // What ended is reported to the store; if that is away, the worker would wait for its return.
      const limit = setTimeout(() => backend.abandon(), answerLimitMs);
      let end: NodeJS.Timeout | undefined;
      const givenUp = new Promise<void>((resolve) => {
        end = setTimeout(resolve, GIVE_UP_AFTER * answerLimitMs);
      });
      await Promise.race([drained, givenUp]).finally(() => {
        clearTimeout(limit);
        clearTimeout(end);
      });
    },
  };
}

/** In the words of BullMQ: an error for every end but a good one. */
async function runOnce(run: RunJob, name: string, job: Job, token: string | undefined): Promise<void> {
  const outcome = await run(name, job.data, job.id ?? '');
  if (outcome === 'done') return;
  if (outcome === 'put_down') {
    await job.moveToWait(token);
    throw new WaitingError();
  }
  throw outcome.kind === 'dead' ? new UnrecoverableError(outcome.reason) : new Error(outcome.reason);
}

/** Answer limits after the last job until the goodbyes of workers to their store are waited for no longer. */
const GIVE_UP_AFTER = 4;

function unreachable(cause: unknown): RecalldError {
  if (cause instanceof Error && isFull(cause)) {
    return new RecalldError('queue_unreachable', 'The Redis of the job queue is full; raise its maxmemory.', { cause });
  }
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new RecalldError(
    'queue_unreachable',
    `The job queue does not answer (${reason}); check the queue section of the config.`,
    { cause },
  );
}

/** So often is the same trouble said again: every connection has it at every attempt to reconnect. */
const QUIET_MS = 30_000;

function createWarning(logger: Logger): (reason: string) => void {
  const saidAt = new Map<string, number>();
  return (reason) => {
    const now = performance.now();
    if (now - (saidAt.get(reason) ?? -QUIET_MS) < QUIET_MS) return;
    // Some reasons name a job, so that there is no end to them.
    if (saidAt.size >= 100) saidAt.clear();
    saidAt.set(reason, now);
    logger.warn('the job queue has trouble', { reason });
  };
}
