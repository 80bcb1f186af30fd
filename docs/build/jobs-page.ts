/** docs/reference/jobs.md: every job, with its maximum attempts and its time limit. */
import { jobCatalogue } from '../../src/app/jobs.ts';
import type { JobDefinition } from '../../src/platform/queue/job-queue.ts';
import { code, generatedPage, type Page, table } from './page.ts';

export function jobsPage(): Page {
  const rows = jobCatalogue.map((job) => [
    code(job.name),
    job.does,
    job.cron === null ? 'on request' : code(job.cron),
    `${job.concurrency}`,
    attemptsOf(job),
    duration(job.timeoutMs / 1000),
    duration(job.retainSeconds),
  ]);
  return generatedPage(
    'docs/reference/jobs.md',
    ['src/app/jobs.ts'],
    [
      '# Jobs',
      'Each job has a BullMQ queue with the same name, in PostgreSQL or Redis. Delivery is at least once: if a worker dies, another worker runs the job again, so jobs are idempotent. Payloads contain ids, never query text.',
      'If recalld cannot enqueue a scheduled start, it retries until the next start is due, and then counts the missed start in `recalld_ticks_given_up_total`. After an outage, each job starts only once, no matter how many starts it missed.',
      'The config sets the schedule of each golden set (`cron`). At each scheduled time, recalld creates a golden run and a `run-golden-set` job.',
      table(
        [
          'Job',
          'What it does',
          'Starts (UTC)',
          'Concurrent jobs per process',
          'Attempts',
          'Time limit',
          'Kept after the end',
        ],
        rows,
      ),
    ],
  );
}

function attemptsOf({ attempts, backoffMs }: JobDefinition<never>): string {
  if (attempts === 1) return '1';
  const delays = Array.from({ length: attempts - 1 }, (_, retry) => duration((backoffMs / 1000) * 2 ** retry));
  return `${attempts}, after delays of ${delays.slice(0, -1).join(', ')} and ${delays.at(-1) ?? ''}`;
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
