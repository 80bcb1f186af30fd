/** Requirements for the job queue on every backend; see the docstrings of the port. */
import { describe, expect, it } from 'vitest';
import {
  aHandler,
  aHeldHandler,
  aJob,
  countsOf,
  kill,
  limits,
  nothing,
  type TestBackend,
  useQueues,
} from '../support/job-queue.ts';
import { waitFor } from '../support/wait-for.ts';

const retry = { kind: 'retry', reason: 'the retriever does not respond' } as const;
const dead = { kind: 'dead', reason: 'payload.run_id: is no text' } as const;

export function describeJobQueue(backend: () => TestBackend): void {
  const queues = useQueues(backend);

  describe('a job', () => {
    it('is run with its payload and id', async () => {
      const [greet, other] = [aJob(), aJob()];
      const queue = await queues.open([greet, other]);
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
      const producer = await queues.open([job]);
      await producer.enqueue(job.name, {}, 'kept');
      await producer.close();
      const queue = await queues.open([job]);
      const handler = aHandler();
      await queue.work(handler.run);
      expect(await waitFor(() => handler.calls[0])).toMatchObject({ id: 'kept' });
    });

    it('is run once when its id is enqueued many times, before, while and after it runs', async () => {
      const job = aJob({ concurrency: 5 });
      const [queue, replica] = [await queues.open([job]), await queues.open([job])];
      const handler = aHeldHandler();
      const enqueue = async (): Promise<void> => {
        await Promise.all([queue, replica, queue].map((each) => each.enqueue(job.name, {}, 'same')));
      };
      await enqueue();
      await Promise.all([queue.work(handler.run), replica.work(handler.run)]);
      await waitFor(() => handler.running === 1);
      await enqueue();
      handler.letGo();
      await waitFor(() => handler.running === 0);
      await enqueue();
      // A later job shows that the queue contained no other job with the same id.
      await queue.enqueue(job.name, {}, 'later');
      await waitFor(() => handler.calls.some(({ id }) => id === 'later'));
      expect(handler.calls.map(({ id }) => id)).toEqual(['same', 'later']);
    });

    it('runs in parallel in one worker, up to the limit in its definition', async () => {
      const job = aJob({ concurrency: 3 });
      const queue = await queues.open([job]);
      const handler = aHeldHandler();
      await queue.work(handler.run);
      await Promise.all(Array.from({ length: 7 }, (_, index) => queue.enqueue(job.name, {}, `n-${index}`)));
      await waitFor(() => handler.running === 3);
      handler.letGo();
      await waitFor(() => handler.calls.length === 7 && handler.running === 0);
      expect(handler.mostAtOnce).toBe(3);
    });
  });

  describe('a job that fails', () => {
    it('is attempted three times, with doubling waits, and is then stored as failed', async () => {
      const job = aJob({ attempts: 3, backoffMs: 100 });
      const queue = await queues.open([job]);
      const handler = aHandler(async () => retry);
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
      const queue = await queues.open([job]);
      const handler = aHandler(async () => (handler.calls.length < 3 ? retry : 'done'));
      await queue.work(handler.run);
      await queue.enqueue(job.name, {}, 'third-time-lucky');
      await waitFor(() => handler.calls.length === 3);
      await waitFor(async () => countsOf(await queue.counts(), job)['active'] === 0);
      expect(countsOf(await queue.counts(), job)).toEqual(nothing);
    });

    it('is not retried if its outcome is `dead`, and the reason is stored', async () => {
      const job = aJob();
      const queue = await queues.open([job]);
      const handler = aHandler(async () => dead);
      await queue.work(handler.run);
      await queue.enqueue(job.name, {}, 'dead');
      await waitFor(async () => countsOf(await queue.counts(), job)['failed'] === 1);
      expect(countsOf(await queue.counts(), job)).toEqual({ ...nothing, failed: 1 });
      expect(await queue.failures(5)).toEqual([{ queue: job.name, id: 'dead', reason: dead.reason }]);
      expect(handler.calls).toHaveLength(1);
    });

    it('does not prevent other jobs from running', async () => {
      const job = aJob({ backoffMs: 600_000 });
      const queue = await queues.open([job]);
      const handler = aHandler(async (id) => (id === 'bad' ? retry : 'done'));
      await queue.enqueue(job.name, {}, 'bad');
      await queue.enqueue(job.name, {}, 'good');
      await queue.work(handler.run);
      await waitFor(() => handler.calls.length === 2);
      expect(handler.calls.map(({ id }) => id)).toEqual(['bad', 'good']);
    });
  });

  describe('a job that is deferred by a stopping process', () => {
    it('is run by another process immediately, and uses up no attempt', async () => {
      const job = aJob({ attempts: 1, backoffMs: 600_000 });
      const [stopping, living] = [await queues.open([job]), await queues.open([job])];
      const held = aHeldHandler('deferred');
      await stopping.work(held.run);
      await stopping.enqueue(job.name, {}, 'unfinished');
      await waitFor(() => held.running === 1);
      const drained = stopping.drain();
      held.letGo();
      await drained;
      expect(countsOf(await living.counts(), job)).toEqual({ ...nothing, waiting: 1 });
      const handler = aHandler();
      await living.work(handler.run);
      await waitFor(() => handler.calls.length === 1);
      await waitFor(async () => countsOf(await living.counts(), job)['active'] === 0);
      expect(countsOf(await living.counts(), job)).toEqual(nothing);
      expect(held.calls).toHaveLength(1);
    });
  });

  describe('the counts', () => {
    it('report waiting, active, delayed and failed jobs by name', async () => {
      const [busy, slow, idle] = [aJob(), aJob({ backoffMs: 600_000 }), aJob()];
      const queue = await queues.open([busy, slow, idle]);
      const held = aHeldHandler();
      const handler = aHandler(async (id) => {
        if (id === 'dead') return dead;
        return id === 'again' ? retry : held.run('', {}, id);
      });
      await queue.work(handler.run);
      await Promise.all(['busy-1', 'busy-2', 'busy-3'].map((id) => queue.enqueue(busy.name, {}, id)));
      await Promise.all(['dead', 'again'].map((id) => queue.enqueue(slow.name, {}, id)));
      await waitFor(async () => countsOf(await queue.counts(), slow)['delayed'] === 1);
      await waitFor(async () => countsOf(await queue.counts(), slow)['failed'] === 1);
      await waitFor(() => held.running === 1);
      const counts = await queue.counts();
      expect(counts).toHaveLength(12);
      expect(countsOf(counts, busy)).toEqual({ ...nothing, active: 1, waiting: 2 });
      expect(countsOf(counts, slow)).toEqual({ ...nothing, delayed: 1, failed: 1 });
      expect(countsOf(counts, idle)).toEqual(nothing);
    });
  });

  describe('draining', () => {
    it('waits for the running job and starts no other', async () => {
      const job = aJob();
      const queue = await queues.open([job]);
      const events: string[] = [];
      const held = aHeldHandler();
      await queue.work(async (name, payload, id) => {
        const outcome = await held.run(name, payload, id);
        events.push(`${id} ended`);
        return outcome;
      });
      await queue.enqueue(job.name, {}, 'first');
      await queue.enqueue(job.name, {}, 'second');
      await waitFor(() => held.running === 1);
      const drained = queue.drain().then(() => events.push('drained'));
      held.letGo();
      await drained;
      expect(events).toEqual(['first ended', 'drained']);
      expect(countsOf(await queue.counts(), job)).toEqual({ ...nothing, waiting: 1 });
    });
  });

  describe('a worker', () => {
    it('that is killed has its job run by another worker, no matter how many workers died before', async () => {
      const job = aJob();
      const queue = await queues.open([job]);
      await queue.enqueue(job.name, { run_id: 'r-1' }, 'orphan');
      for (let died = 0; died < 2; died += 1) {
        const { child, output } = queues.startWorker([job], 'hang');
        await waitFor(() => output().includes('running orphan'));
        await kill(child);
      }
      const handler = aHandler();
      await queue.work(handler.run);
      await waitFor(() => handler.calls.length > 0);
      expect(handler.calls).toMatchObject([{ payload: { run_id: 'r-1' }, id: 'orphan' }]);
    });

    it('that freezes for longer than its lock has its job run by another worker, and does no harm when it continues', async () => {
      const job = aJob();
      const queue = await queues.open([job]);
      const { child, output } = queues.startWorker([job], 'hold');
      await queue.enqueue(job.name, {}, 'taken-over');
      await waitFor(() => output().includes('running taken-over'));
      child.kill('SIGSTOP');
      const handler = aHandler();
      await queue.work(handler.run);
      await waitFor(async () => {
        expect(handler.calls).toHaveLength(1);
        expect(countsOf(await queue.counts(), job)).toEqual(nothing);
        return true;
      });
      child.kill('SIGCONT');
      child.stdin?.write('go on');
      await waitFor(() => output().includes('closed'));
      expect(countsOf(await queue.counts(), job)).toEqual(nothing);
      expect(handler.calls).toHaveLength(1);
    });

    it('keeps its job while the worker is alive, no matter how long the job takes', async () => {
      const job = aJob();
      const [queue, replica] = [await queues.open([job]), await queues.open([job])];
      const handler = aHeldHandler();
      await Promise.all([queue.work(handler.run), replica.work(handler.run)]);
      await queue.enqueue(job.name, {}, 'long');
      await waitFor(() => handler.running === 1);
      const [started = 0] = handler.calls.map(({ at }) => at);
      await waitFor(() => Date.now() - started > 2.5 * limits.lostAfterMs);
      expect(handler.calls).toHaveLength(1);
      handler.letGo();
    });

    it('leaves nothing open when the queue is closed, so that its process ends by itself', async () => {
      const job = aJob();
      const queue = await queues.open([job]);
      await queue.enqueue(job.name, {}, 'only');
      const { child, output } = queues.startWorker([job], 'leave');
      await waitFor(() => child.exitCode !== null);
      expect({ code: child.exitCode, output: output() }).toEqual({
        code: 0,
        output: 'running only\nclosed\n',
      });
    });
  });
}
