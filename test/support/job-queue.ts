/**
 * Helpers for job queue tests: jobs, handlers that wait until they are released, and queues that are closed at the end.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import type { Logger } from '../../src/core/logger.ts';
import type { BackendSettings } from '../../src/platform/queue/backends.ts';
import { openJobQueue } from '../../src/platform/queue/bullmq.ts';
import type { JobQueue, JobSpec, QueueCount, RunJob } from '../../src/platform/queue/job-queue.ts';
import type { WorkerSettings } from './job-worker.ts';
import { silentLogger } from './log.ts';

/** A job store that a test can make unavailable. */
export interface TestBackend {
  readonly settings: BackendSettings;
  /** Breaks the connections to the store, and refuses new ones. */
  goDown(): Promise<void>;
  /** Keeps the connections to the store open, but stops all responses. */
  fallSilent(): Promise<void> | void;
  /** Makes the store respond again after `goDown` or `fallSilent`. */
  comeBack(): Promise<void> | void;
}

/** Times after which a worker or a store counts as lost; the defaults would be too long for tests. */
export const limits = { lostAfterMs: 1000, answerLimitMs: 1000 };

let names = 0;

/** A job that no other test uses. */
export function aJob(job: Partial<JobSpec> = {}): JobSpec {
  const name = `job-${process.pid}-${(names += 1)}`;
  return { name, concurrency: 1, attempts: 3, backoffMs: 20, retainSeconds: 600, ...job };
}

/** A handler that records its calls and their concurrency. */
export interface Handler {
  readonly run: RunJob;
  readonly calls: readonly HandlerCall[];
  readonly running: number;
  readonly mostAtOnce: number;
}

export interface HandlerCall {
  readonly job: string;
  readonly payload: unknown;
  readonly id: string;
  readonly at: number;
}

export function aHandler(work: (id: string) => ReturnType<RunJob> = async () => 'done'): Handler {
  const calls: HandlerCall[] = [];
  let running = 0;
  let mostAtOnce = 0;
  return {
    calls,
    get running() {
      return running;
    },
    get mostAtOnce() {
      return mostAtOnce;
    },
    async run(job, payload, id) {
      calls.push({ job, payload, id, at: Date.now() });
      running += 1;
      mostAtOnce = Math.max(mostAtOnce, running);
      try {
        return await work(id);
      } finally {
        running -= 1;
      }
    },
  };
}

/** A handler that waits until it is released; the end of the test releases it at the latest. */
export function aHeldHandler(outcome: Awaited<ReturnType<RunJob>> = 'done'): Handler & { letGo(): void } {
  const waiting: (() => void)[] = [];
  const letGo = (): void => {
    for (const resolve of waiting) resolve();
  };
  const free = new Promise<void>((resolve) => {
    waiting.push(resolve);
  });
  held.push(letGo);
  const handler = aHandler(async () => {
    await free;
    return outcome;
  });
  return Object.assign(handler, { letGo });
}

const held: (() => void)[] = [];

/** Number of jobs with one name, by state. */
export function countsOf(counts: readonly QueueCount[], job: JobSpec): Record<string, number> {
  return Object.fromEntries(counts.filter(({ queue }) => queue === job.name).map(({ state, count }) => [state, count]));
}

export const nothing = { waiting: 0, active: 0, delayed: 0, failed: 0 };

export interface UsedQueues {
  /** Opens a queue as a separate process would. */
  open(jobs: readonly JobSpec[], logger?: Logger): Promise<JobQueue>;
  /** Starts a process that runs the jobs; see job-worker.ts. */
  startWorker(jobs: readonly JobSpec[], manner: WorkerSettings['manner']): WorkerProcess;
}

export interface WorkerProcess {
  readonly child: ChildProcess;
  readonly output: () => string;
}

/** Queues and workers over a backend, for the tests in the calling test file or describe block. */
export function useQueues(backend: () => TestBackend): UsedQueues {
  const opened: JobQueue[] = [];
  const children: ChildProcess[] = [];

  afterEach(async () => {
    await backend().comeBack();
    for (const letGo of held.splice(0)) letGo();
    await Promise.all(children.splice(0).map(kill));
    await Promise.all(opened.splice(0).map((queue) => queue.close()));
  });

  return {
    async open(jobs, logger = silentLogger) {
      const queue = await openJobQueue({ backend: backend().settings, jobs, logger, ...limits });
      opened.push(queue);
      return queue;
    },
    startWorker(jobs, manner) {
      const settings: WorkerSettings = { jobs, manner, backend: backend().settings, ...limits };
      const script = fileURLToPath(new URL('./job-worker.ts', import.meta.url));
      const args = ['--import', import.meta.resolve('tsx'), script, JSON.stringify(settings)];
      const child = spawn(process.execPath, args);
      children.push(child);
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk: Buffer) => {
          output += chunk.toString();
        });
      }
      return { child, output: () => output };
    },
  };
}

/** Ends the process as `kill -9` or a power failure would. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
