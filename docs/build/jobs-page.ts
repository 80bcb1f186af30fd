/** docs/reference/jobs.md: every job, how often it is tried and how long it may take. */
import { jobCatalogue } from '../../src/app/jobs.ts';
import type { JobDefinition } from '../../src/platform/queue/job-queue.ts';
import { code, generatedPage, type Page, table } from './page.ts';

export function jobsPage(): Page {
  const rows = jobCatalogue.map((job) => [
    code(job.name),
    job.does,
    job.cron === null ? 'when it is asked for' : code(job.cron),
    `${job.concurrency}`,
    attemptsOf(job),
    duration(job.timeoutMs / 1000),
    duration(job.retainSeconds),
  ]);
  return generatedPage(
    'docs/reference/jobs.md',
    ['src/jobs'],
    [
      '# Jobs',
      'Each job has a queue of its own name on BullMQ, in PostgreSQL or in Redis. Delivery is at least once: a job whose worker dies is given to another, so every job may run twice and its effects count once. Payloads hold ids, never the text of a query.',
      'A start that cannot be put into its queue is tried again until the next one of the job is due, and then given up and counted in `recalld_ticks_given_up_total`; after an outage each job starts once.',
      'Golden sets are not scheduled here but by `cron` in the config: a tick makes a golden run and a `run-golden-set` job for it.',
      table(
        [
          'Job',
          'What it does',
          'Starts (UTC)',
          'At a time, per process',
          'Attempts',
          'Longest run',
          'Kept after its end',
        ],
        rows,
      ),
    ],
  );
}

function attemptsOf({ attempts, backoffMs }: JobDefinition<never>): string {
  return attempts === 1
    ? '1'
    : `${attempts}, the first retry after ${duration(backoffMs / 1000)}, then twice as long each time`;
}

function duration(seconds: number): string {
  for (const [unit, size] of [
    ['h', 3600],
    ['min', 60],
  ] as const) {
    if (seconds >= size && seconds % size === 0) return `${seconds / size} ${unit}`;
  }
  return `${seconds} s`;
}
