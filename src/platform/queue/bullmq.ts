/** The job queue on BullMQ 6, which behaves identically on PostgreSQL and Redis. Each job name has one BullMQ queue. */
import { type Job, UnrecoverableError, WaitingError } from 'bullmq';
import { messageOf, RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { endsWithin } from '../threads/wait.ts';
import {
  type Backend,
  type BackendOptions,
  type BackendSettings,
  isFull,
  type JobsOfOneName,
  openPostgresBackend,
  openRedisBackend,
  type QueueOwner,
  type WorkerOfOneName,
} from './backends.ts';
import type { FailedJob, JobQueue, JobSpec, QueueCount, RunJob } from './job-queue.ts';

const states = ['waiting', 'active', 'delayed', 'failed'] as const;

export interface QueueSettings extends Partial<Pick<BackendOptions, 'lostAfterMs' | 'answerLimitMs'>> {
  readonly backend: BackendSettings;
  readonly jobs: readonly JobSpec[];
  readonly logger: Logger;
  /**
   * The deployment that owns the jobs. In Redis, the queue does not open if it belongs to another deployment. If
   * `owner` is omitted, this is not checked.
   */
  readonly owner?: QueueOwner;
}

/**
 * Opens the queue, and migrates the schema of the PostgreSQL backend.
 *
 * @throws RecalldError queue_unreachable, queue_taken
 */
export async function openJobQueue(settings: QueueSettings): Promise<JobQueue> {
  const { jobs, logger, owner, lostAfterMs = 30_000, answerLimitMs = 5000 } = settings;
  let closing = false;
  const warn = createWarning(logger);
  logBullMqConsole(logger);
  let problems: JobQueue['problems'] | null = null;
  const report = (problem: Error): void => {
    if (closing) return;
    // While Redis is full, every command from every worker fails with this error; `problems` logs it once.
    if (isFull(problem) && problems !== null) problems().catch(() => undefined);
    else warn(problem.message || problem.name);
  };
  const options = { lostAfterMs, answerLimitMs, report };
  const backend =
    settings.backend.kind === 'postgres'
      ? await openPostgresBackend(settings.backend, options)
      : await openRedisBackend(settings.backend, options);
  const readOwner = async () => (owner === undefined ? null : backend.claim(owner));
  const taken = await readOwner().catch(async (cause: unknown) => {
    await backend.close();
    throw unreachable(cause);
  });
  if (taken !== null) {
    await backend.close();
    throw new RecalldError('queue_taken', taken);
  }
  problems = createProblemLog(async () => {
    const taken = await readOwner();
    return [...(taken === null ? [] : [taken]), ...(await backend.problems())];
  }, logger);
  const queues = await openQueues(backend, jobs, report);
  const workers = createWorkers(backend, options);
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

    failures: (limit) =>
      inEach(async (queue, name) => {
        const failed = await queue.getFailed(0, limit - 1);
        return failed.map(({ id = '', failedReason: reason }): FailedJob => ({ queue: name, id, reason }));
      }),

    problems,
    running: workers.running,
    drain: workers.drain,

    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** Reads the store's problems. Logs each new problem, and logs once when no problem remains. */
function createProblemLog(read: () => Promise<readonly string[]>, logger: Logger): JobQueue['problems'] {
  let known: readonly string[] = [];
  return async () => {
    const problems = await read().catch((cause: unknown) => Promise.reject(unreachable(cause)));
    for (const reason of problems)
      if (!known.some((one) => isSameProblem(one, reason)))
        logger.warn('the store of the job queue has a problem', { reason });
    if (problems.length === 0 && known.length > 0) logger.info('all problems of the job queue store are resolved');
    known = problems;
    return problems;
  };
}

/** Compares problems without the numbers in parentheses, because these numbers change. */
const isSameProblem = (one: string, other: string): boolean =>
  one.replace(/\(.*\)/, '') === other.replace(/\(.*\)/, '');

/** Matches the warnings that BullMQ writes to the console. */
const BULLMQ_WARNING = /^(IMPORTANT! Eviction policy|It is highly recommended to use a minimum Redis version|BullMQ:)/;
let bullMqLogger: Logger | null = null;

/**
 * Redirects BullMQ's console warnings to the log. Logs each warning once, and skips warnings that `problems` reports.
 */
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
    bullMqLogger?.warn('the job queue reported a problem', { reason: text.replaceAll(/\s+/g, ' ') });
  };
}

type Queues = ReadonlyMap<string, { readonly spec: JobSpec; readonly queue: JobsOfOneName }>;

/** @throws RecalldError queue_unreachable */
async function openQueues(backend: Backend, jobs: readonly JobSpec[], report: (error: Error) => void): Promise<Queues> {
  const queues = new Map(jobs.map((spec) => [spec.name, { spec, queue: backend.queue(spec.name) }]));
  for (const { queue } of queues.values()) queue.on('error', report);
  try {
    // A queue whose first command failed never recovers, so it must not be used.
    await Promise.all([...queues.values()].map(({ queue }) => queue.waitUntilReady()));
  } catch (cause) {
    await backend.close();
    throw unreachable(cause);
  }
  return queues;
}

/** Creates this process's workers, and tracks the jobs that they run. */
function createWorkers(backend: Backend, { answerLimitMs, report }: BackendOptions) {
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

    running: (): string[] => [...running.values()],

    drain: async (): Promise<void> => {
      const drained = Promise.all(workers.map((worker) => worker.close()));
      while (running.size > 0) await Promise.allSettled(running.keys());
      // Workers report their results to the store before they close. Without this limit, they would wait forever for an
      // unreachable store.
      const limit = setTimeout(() => backend.abandon(), answerLimitMs);
      await endsWithin(drained, GIVE_UP_AFTER * answerLimitMs).finally(() => clearTimeout(limit));
    },
  };
}

/** Translates an outcome for BullMQ, which expects an error for everything except success. */
async function runOnce(run: RunJob, name: string, job: Job, token: string | undefined): Promise<void> {
  const outcome = await run(name, job.data, job.id ?? '');
  if (outcome === 'done') return;
  if (outcome === 'deferred') {
    await job.moveToWait(token);
    throw new WaitingError();
  }
  throw outcome.kind === 'dead' ? new UnrecoverableError(outcome.reason) : new Error(outcome.reason);
}

/** How long recalld waits for the workers to close, as a multiple of `answerLimitMs`. */
const GIVE_UP_AFTER = 4;

function unreachable(cause: unknown): RecalldError {
  if (isFull(cause)) {
    return new RecalldError('queue_unreachable', 'The Redis of the job queue is full; raise its maxmemory.', { cause });
  }
  return new RecalldError(
    'queue_unreachable',
    `The job queue does not respond (${messageOf(cause)}); check the queue section of the config.`,
    { cause },
  );
}

/**
 * Minimum time between log lines about the same problem, which every connection reports at every reconnect attempt.
 */
const QUIET_MS = 30_000;

function createWarning(logger: Logger): (reason: string) => void {
  const loggedAt = new Map<string, number>();
  return (reason) => {
    const now = performance.now();
    if (now - (loggedAt.get(reason) ?? -QUIET_MS) < QUIET_MS) return;
    // Some reasons contain a job id, so the number of different reasons is unlimited.
    if (loggedAt.size >= 100) loggedAt.clear();
    loggedAt.set(reason, now);
    logger.warn('the job queue reported a problem', { reason });
  };
}
