/** What the job queue must do over every backend; see the doc of the port. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { BackendSettings } from '../../src/adapters/queue/backends.ts';
import { openJobQueue } from '../../src/adapters/queue/bullmq.ts';
import type { JobQueue, JobSpec, QueueCount, RunJob } from '../../src/ports/job-queue.ts';
import type { WorkerSettings } from '../support/job-worker.ts';
import { recordLog } from '../support/log.ts';
import { waitFor } from '../support/wait-for.ts';

/** A store of jobs that a test can take away. */
export interface TestBackend {
  readonly settings: BackendSettings;
  /** Its connections break, new ones are refused. */
  goDown(): Promise<void>;
  /** Its connections stay, and nobody answers. */
  fallSilent(): Promise<void> | void;
  /** It answers again, after either. */
  comeBack(): Promise<void> | void;
}

/** A worker that is gone this long is given up; the default is meant for networks, not for tests. */
const lostAfterMs = 1000;

let names = 0;

/** A job that no other test has. */
function aJob(job: Partial<JobSpec> = {}): JobSpec {
  const name = `job-${process.pid}-${(names += 1)}`;
  return { name, concurrency: 1, attempts: 3, backoffMs: 20, retainSeconds: 600, ...job };
}

/** A handler that says what it was given and does what it is told. */
interface Handler {
  readonly run: RunJob;
  readonly calls: readonly { readonly job: string; readonly payload: unknown; readonly id: string; readonly at: number }[];
  readonly running: number;
  readonly mostAtOnce: number;
}

function aHandler(work: (id: string) => ReturnType<RunJob> = async () => 'done'): Handler {
  const calls: { job: string; payload: unknown; id: string; at: number }[] = [];
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

/** Holds handlers up until it is opened. */
function aBarrier(): { readonly passed: Promise<void>; open(): void } {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

function countsOf(counts: readonly QueueCount[], job: JobSpec): Record<string, number> {
  return Object.fromEntries(counts.filter(({ queue }) => queue === job.name).map(({ state, count }) => [state, count]));
}

const nothing = { waiting: 0, active: 0, delayed: 0, failed: 0 };

export function describeJobQueue(backend: () => TestBackend): void {
  const opened: JobQueue[] = [];
  const children: ChildProcess[] = [];

  const open = async (...jobs: JobSpec[]): Promise<JobQueue> => {
    const queue = await openJobQueue({ backend: backend().settings, jobs, logger: recordLog().logger, lostAfterMs });
    opened.push(queue);
    return queue;
  };
  const startWorker = (settings: Pick<WorkerSettings, 'jobs' | 'manner'>): { child: ChildProcess; output: () => string } => {
    const script = fileURLToPath(new URL('../support/job-worker.ts', import.meta.url));
    const argument = JSON.stringify({ ...settings, backend: backend().settings, lostAfterMs } satisfies WorkerSettings);
    const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), script, argument]);
    children.push(child);
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    return { child, output: () => output };
  };
  const kill = async (child: ChildProcess): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };

  afterEach(async () => {
    await backend().comeBack();
    await Promise.all(children.splice(0).map(kill));
    await Promise.all(opened.splice(0).map((queue) => queue.close()));
  });

  describe('a job', () => {
    it('is run with its payload and id', async () => {
      const [greet, other] = [aJob(), aJob()];
      const queue = await open(greet, other);
      const handler = aHandler();
      await queue.work(handler.run);
      await queue.enqueue(greet.name, { run_id: 'r-1', nested: ['ñ', null, 1.5] }, 'greet-1');
      await waitFor(() => handler.calls.length > 0);
      expect(handler.calls).toMatchObject([
        { job: greet.name, payload: { run_id: 'r-1', nested: ['ñ', null, 1.5] }, id: 'greet-1' },
      ]);
      await waitFor(async () => countsOf(await queue.counts(), greet)['active'] === 0);
      expect(countsOf(await queue.counts(), greet)).toEqual(nothing);
    });

    it('outlives the process that enqueued it, and waits for a worker', async () => {
      const job = aJob();
      const producer = await open(job);
      await producer.enqueue(job.name, {}, 'kept');
      await producer.close();
      const queue = await open(job);
      const handler = aHandler();
      await queue.work(handler.run);
      await waitFor(() => handler.calls.some(({ id }) => id === 'kept'));
    });

    it('is run once when its id is enqueued many times, before, while and after it runs', async () => {
      const job = aJob({ concurrency: 5 });
      const [queue, replica] = [await open(job), await open(job)];
      const barrier = aBarrier();
      const handler = aHandler(async () => {
        await barrier.passed;
        return 'done';
      });
      const enqueue = async (): Promise<void> => {
        await Promise.all([queue, replica, queue].map((each) => each.enqueue(job.name, {}, 'same')));
      };
      await enqueue();
      await Promise.all([queue.work(handler.run), replica.work(handler.run)]);
      await waitFor(() => handler.running === 1);
      await enqueue();
      barrier.open();
      await waitFor(() => handler.running === 0);
      await enqueue();
      // What comes later shows that nothing of the same id was before it in the queue.
      await queue.enqueue(job.name, {}, 'later');
      await waitFor(() => handler.calls.some(({ id }) => id === 'later'));
      expect(handler.calls.map(({ id }) => id)).toEqual(['same', 'later']);
    });

    it('shares its worker with as many others as its definition allows', async () => {
      const job = aJob({ concurrency: 3 });
      const queue = await open(job);
      const barrier = aBarrier();
      const handler = aHandler(async () => {
        await barrier.passed;
        return 'done';
      });
      await queue.work(handler.run);
      await Promise.all(Array.from({ length: 7 }, (_, index) => queue.enqueue(job.name, {}, `n-${index}`)));
      await waitFor(() => handler.running === 3);
      barrier.open();
      await waitFor(() => handler.calls.length === 7 && handler.running === 0);
      expect(handler.mostAtOnce).toBe(3);
    });
  });

  describe('a job that fails', () => {
    it('is tried three times, each wait twice the one before, and is then kept as failed', async () => {
      const job = aJob({ attempts: 3, backoffMs: 100 });
      const queue = await open(job);
      const handler = aHandler(async () => 'retry');
      await queue.work(handler.run);
      await queue.enqueue(job.name, {}, 'hopeless');
      await waitFor(async () => countsOf(await queue.counts(), job)['failed'] === 1);
      expect(handler.calls.map(({ id }) => id)).toEqual(['hopeless', 'hopeless', 'hopeless']);
      const [first = 0, second = 0, third = 0] = handler.calls.map(({ at }) => at);
      expect(second - first).toBeGreaterThanOrEqual(99);
      expect(third - second).toBeGreaterThanOrEqual(199);
      expect(countsOf(await queue.counts(), job)).toEqual({ ...nothing, failed: 1 });
    });

    it('is done when a later attempt succeeds', async () => {
      const job = aJob();
      const queue = await open(job);
      const handler = aHandler(async () => (handler.calls.length < 3 ? 'retry' : 'done'));
      await queue.work(handler.run);
      await queue.enqueue(job.name, {}, 'third-time-lucky');
      await waitFor(() => handler.calls.length === 3);
      await waitFor(async () => Object.values(countsOf(await queue.counts(), job)).every((count) => count === 0));
    });

    it('is not tried again when it is dead', async () => {
      const job = aJob();
      const queue = await open(job);
      const handler = aHandler(async () => 'dead');
      await queue.work(handler.run);
      await queue.enqueue(job.name, {}, 'dead');
      await waitFor(async () => countsOf(await queue.counts(), job)['failed'] === 1);
      expect(countsOf(await queue.counts(), job)).toEqual({ ...nothing, failed: 1 });
      expect(handler.calls).toHaveLength(1);
    });

    it('does not keep others from being run', async () => {
      const job = aJob();
      const queue = await open(job);
      const handler = aHandler(async (id) => (id === 'bad' ? 'retry' : 'done'));
      await queue.enqueue(job.name, {}, 'bad');
      await queue.enqueue(job.name, {}, 'good');
      await queue.work(handler.run);
      await waitFor(() => handler.calls.some(({ id }) => id === 'good'));
    });
  });

  describe('the counts', () => {
    it('tell what is waiting, active, delayed and failed, of each job', async () => {
      const [busy, slow, idle] = [aJob(), aJob({ backoffMs: 600_000 }), aJob()];
      const queue = await open(busy, slow, idle);
      const barrier = aBarrier();
      const handler = aHandler(async (id) => {
        if (id === 'dead') return 'dead';
        if (id === 'again') return 'retry';
        await barrier.passed;
        return 'done';
      });
      await queue.work(handler.run);
      await Promise.all(['busy-1', 'busy-2', 'busy-3'].map((id) => queue.enqueue(busy.name, {}, id)));
      await Promise.all(['dead', 'again'].map((id) => queue.enqueue(slow.name, {}, id)));
      await waitFor(async () => countsOf(await queue.counts(), slow)['delayed'] === 1);
      await waitFor(async () => countsOf(await queue.counts(), slow)['failed'] === 1);
      await waitFor(() => handler.running === 1);
      const counts = await queue.counts();
      expect(counts).toHaveLength(12);
      expect(countsOf(counts, busy)).toEqual({ ...nothing, active: 1, waiting: 2 });
      expect(countsOf(counts, slow)).toEqual({ ...nothing, delayed: 1, failed: 1 });
      expect(countsOf(counts, idle)).toEqual(nothing);
      barrier.open();
    });
  });

  describe('draining', () => {
    it('waits for the running job and starts no other', async () => {
      const job = aJob();
      const queue = await open(job);
      const barrier = aBarrier();
      const events: string[] = [];
      const handler = aHandler(async (id) => {
        await barrier.passed;
        events.push(`${id} ended`);
        return 'done';
      });
      await queue.work(handler.run);
      await queue.enqueue(job.name, {}, 'first');
      await queue.enqueue(job.name, {}, 'second');
      await waitFor(() => handler.running === 1);
      const drained = queue.drain().then(() => events.push('drained'));
      barrier.open();
      await drained;
      expect(events).toEqual(['first ended', 'drained']);
      expect(countsOf(await queue.counts(), job)).toEqual({ ...nothing, waiting: 1 });
    });
  });

  describe('a worker', () => {
    it('that is killed has its job run by another', async () => {
      const job = aJob();
      const queue = await open(job);
      const { child, output } = startWorker({ jobs: [job], manner: 'hang' });
      await queue.enqueue(job.name, { run_id: 'r-1' }, 'orphan');
      await waitFor(() => output().includes('running orphan'));
      await kill(child);
      const handler = aHandler();
      await queue.work(handler.run);
      await waitFor(() => handler.calls.length > 0);
      expect(handler.calls).toMatchObject([{ payload: { run_id: 'r-1' }, id: 'orphan' }]);
    });

    it('keeps its job for as long as it lives, however long that takes', async () => {
      const job = aJob();
      const [queue, replica] = [await open(job), await open(job)];
      const barrier = aBarrier();
      const handler = aHandler(async () => {
        await barrier.passed;
        return 'done';
      });
      await Promise.all([queue.work(handler.run), replica.work(handler.run)]);
      await queue.enqueue(job.name, {}, 'long');
      await waitFor(() => handler.running === 1);
      const [started = 0] = handler.calls.map(({ at }) => at);
      await waitFor(() => Date.now() - started > 2.5 * lostAfterMs);
      expect(handler.calls).toHaveLength(1);
      barrier.open();
    });

    it('leaves nothing open when the queue is closed, so that its process ends by itself', async () => {
      const job = aJob();
      const queue = await open(job);
      await queue.enqueue(job.name, {}, 'only');
      const { child, output } = startWorker({ jobs: [job], manner: 'leave' });
      await waitFor(() => child.exitCode !== null);
      expect({ code: child.exitCode, output: output() }).toEqual({ code: 0, output: 'running only\nclosed\n' });
    });
  });

  describe('a backend that goes away', () => {
    const unreachable = { name: 'RecalldError', code: 'queue_unreachable', retryable: true };

    it('is an error of who enqueues, and when it is back all goes on by itself', async () => {
      const job = aJob();
      const queue = await open(job);
      const handler = aHandler();
      await queue.work(handler.run);
      await queue.enqueue(job.name, {}, 'before');
      await waitFor(() => handler.calls.length === 1);

      await backend().goDown();
      await expect(queue.enqueue(job.name, {}, 'during')).rejects.toMatchObject(unreachable);
      await expect(queue.counts()).rejects.toThrow();

      await backend().comeBack();
      await waitFor(async () => {
        await queue.enqueue(job.name, {}, 'after');
        return true;
      });
      await waitFor(() => handler.calls.some(({ id }) => id === 'after'));
      expect(handler.calls.some(({ id }) => id === 'during')).toBe(false);
    });

    it('is an error of who enqueues, too, when it falls silent, and when it speaks again all goes on', async () => {
      const job = aJob();
      const queue = await open(job);
      const handler = aHandler();
      await queue.work(handler.run);
      await backend().fallSilent();
      await expect(queue.enqueue(job.name, {}, 'during')).rejects.toMatchObject(unreachable);
      await backend().comeBack();
      await waitFor(async () => {
        await queue.enqueue(job.name, {}, 'after');
        return true;
      });
      await waitFor(() => handler.calls.some(({ id }) => id === 'after'));
    });

    it('is not written to the log over and over', async () => {
      const job = aJob();
      const log = recordLog();
      const queue = await openJobQueue({ backend: backend().settings, jobs: [job], logger: log.logger, lostAfterMs });
      opened.push(queue);
      await queue.work(aHandler().run);
      await backend().goDown();
      await waitFor(() => log.entries.length > 0);
      const since = Date.now();
      await waitFor(() => Date.now() - since > 2000);
      expect(log.entries.length).toBeLessThan(20);
    });

    it('does not keep the queue from closing', async () => {
      const job = aJob();
      const queue = await open(job);
      await queue.work(aHandler().run);
      await backend().goDown();
      await queue.close();
    });

    it('is an error of who opens the queue', async () => {
      await backend().goDown();
      await expect(open(aJob())).rejects.toMatchObject(unreachable);
    });
  });
}
