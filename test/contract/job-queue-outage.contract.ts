/** Requirements that the job queue must meet on every backend when the backend becomes unavailable. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { JobQueue, JobSpec } from '../../src/platform/queue/job-queue.ts';
import { aHandler, aHeldHandler, aJob, type TestBackend, useQueues } from '../support/job-queue.ts';
import { recordLog } from '../support/log.ts';
import { waitFor } from '../support/wait-for.ts';

const unreachable = { name: 'RecalldError', code: 'queue_unreachable', retryable: true };

export function describeJobQueueOutages(backend: () => TestBackend): void {
  const queues = useQueues(backend);

  describe('a store that goes down', () => {
    it('makes enqueueing fail, and work resumes by itself when the store is back', async () => {
      const job = aJob();
      const queue = await queues.open([job]);
      const handler = aHandler();
      await queue.work(handler.run);
      await queue.enqueue(job.name, {}, 'before');
      await waitFor(() => handler.calls.length === 1);

      await backend().goDown();
      await expect(queue.enqueue(job.name, {}, 'during')).rejects.toMatchObject(unreachable);
      await expect(queue.counts()).rejects.toBeInstanceOf(Error);

      await backend().comeBack();
      await enqueueEventually(queue, job, 'after');
      await waitFor(() => handler.calls.some(({ id }) => id === 'after'));
      expect(handler.calls.some(({ id }) => id === 'during')).toBe(false);
    });

    it('makes opening the queue fail', async () => {
      await backend().goDown();
      await expect(queues.open([aJob()])).rejects.toMatchObject(unreachable);
    });

    it('is logged only a few times', async () => {
      const log = recordLog();
      const queue = await queues.open([aJob()], log.logger);
      await queue.work(aHandler().run);
      await backend().goDown();
      await outageOf(2000);
      expect(log.entries.length).toBeGreaterThan(0);
      expect(log.entries.length).toBeLessThan(10);
    });
  });

  describe('a store that stops responding', () => {
    it('makes enqueueing fail, and work resumes by itself when the store responds again', async () => {
      const job = aJob();
      const queue = await queues.open([job]);
      const handler = aHandler();
      await queue.work(handler.run);
      await backend().fallSilent();
      await expect(queue.enqueue(job.name, {}, 'during')).rejects.toMatchObject(unreachable);
      await backend().comeBack();
      await enqueueEventually(queue, job, 'after');
      expect(await waitFor(() => handler.calls.some(({ id }) => id === 'after'))).toBe(true);
    });
  });

  describe('a queue closes', () => {
    const cases: [string, () => Promise<void>][] = [
      ['is down', () => backend().goDown()],
      [
        'has been down for a while',
        async () => {
          await backend().goDown();
          await outageOf(1500);
        },
      ],
      ['no longer responds', async () => backend().fallSilent()],
      [
        'is back, but some connections have not recovered',
        async () => {
          await backend().goDown();
          await outageOf(2500);
          await backend().comeBack();
        },
      ],
    ];

    it.each(cases)('even if its store %s', async (_, happens) => {
      const queue = await queues.open([aJob()]);
      await queue.work(aHandler().run);
      await happens();
      await expect(queue.close()).resolves.toBeUndefined();
    });

    it('even if the end of a job cannot be reported to its store', async () => {
      const job = aJob();
      const queue = await queues.open([job]);
      const handler = aHeldHandler();
      await queue.work(handler.run);
      await queue.enqueue(job.name, {}, 'cut-off');
      await waitFor(() => handler.running === 1);
      await backend().goDown();
      const closed = queue.close();
      handler.letGo();
      await expect(closed).resolves.toBeUndefined();
    });
  });
}

/** The length of the outage matters, because clients wait longer and longer before they reconnect. */
async function outageOf(ms: number): Promise<void> {
  await delay(ms);
}

async function enqueueEventually(queue: JobQueue, job: JobSpec, id: string): Promise<void> {
  await waitFor(async () => {
    await queue.enqueue(job.name, {}, id);
    return true;
  });
}
