/** A job queue that only records enqueued jobs. */
import type { FailedJob, JobQueue, QueueCount } from '../../src/platform/queue/job-queue.ts';

export interface EnqueuedJob {
  readonly job: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly id: string;
}

export class MemoryJobQueue implements JobQueue {
  readonly jobs: EnqueuedJob[] = [];
  queueCounts: readonly QueueCount[] = [];
  /** While this error is set, enqueueing rejects with this error. */
  failure: Error | null = null;

  enqueue(job: string, payload: Readonly<Record<string, unknown>>, id: string): Promise<void> {
    if (this.failure !== null) return Promise.reject(this.failure);
    if (!this.jobs.some((known) => known.job === job && known.id === id)) this.jobs.push({ job, payload, id });
    return Promise.resolve();
  }

  work(): Promise<void> {
    return Promise.reject(new Error('this queue only remembers'));
  }

  counts(): Promise<readonly QueueCount[]> {
    return Promise.resolve(this.queueCounts);
  }

  failures(): Promise<readonly FailedJob[]> {
    return Promise.resolve([]);
  }

  problems(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  running(): readonly string[] {
    return [];
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
