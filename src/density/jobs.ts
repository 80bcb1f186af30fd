/** How well vector stores cover what people ask. */

import { z } from 'zod';
import type { Context } from '../core/context.ts';
import { attemptEach, forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import { defineCronJob, defineJob, type JobDefinition } from '../platform/queue/job-queue.ts';
import { detectUncoveredTopics } from './detect-uncovered-topics.ts';
import { evaluateDensity } from './evaluate-density.ts';
import { admitLiveQueries, measureCoverage, ROUND_MS } from './measure-coverage.ts';
import { askAgain } from './search-store.ts';

/** So many workers at most share the work of a minute. */
const MAX_LANES = 64;

export const measureQueryCoverageJob: JobDefinition<Context> = defineJob({
  name: 'measure-query-coverage',
  does: 'Searches the vector store for sampled live queries and keeps how near their best chunks are. Of more than can be searched it admits a random part; while there is enough to do it calls one more worker after another.',
  payload: z.strictObject({
    /** Of the workers of this minute; the first one has none. */
    lane: z.int().min(1).optional(),
    round_ends_at: z.iso.datetime().optional(),
  }),
  concurrency: 1,
  attempts: 1,
  backoffMs: 1000,
  timeoutMs: 120_000,
  retainSeconds: 600,
  cron: '5 * * * * *',
  async handle(context: Context, { lane = 0, round_ends_at: known }, signal) {
    const { queue, clock } = context;
    if (lane === 0) await admitLiveQueries(context);
    const endsAt = known === undefined ? new Date(clock.now().getTime() + ROUND_MS) : new Date(known);
    const requestHelper = async (): Promise<void> => {
      if (lane + 1 >= MAX_LANES) return;
      const round = endsAt.toISOString();
      const id = `${measureQueryCoverageJob.name}-${round.replaceAll(':', '')}-${lane + 1}`;
      await queue.enqueue(measureQueryCoverageJob.name, { lane: lane + 1, round_ends_at: round }, id);
    };
    await measureCoverage(context, { endsAt, requestHelper }, signal);
  },
});

const evaluateDensityJob = defineCronJob({
  name: 'evaluate-density',
  does: 'Learns the baselines of query density, closes windows of live queries against them, raises alarms, and asks a hundred queries of the baseline again every hour.',
  cron: '35 * * * * *',
  timeoutMs: 900_000,
  async handle(context: Context, signal) {
    await attemptEach(
      [
        () => evaluateDensity(context, signal),
        () => forEachPipeline(context.densityPlans, signal, (plan) => askAgain(context, plan, signal)),
      ],
      signal,
    );
  },
});

const findUncoveredTopicsJob = defineCronJob({
  name: 'find-uncovered-topics',
  does: 'Looks in the latest live queries for topics that the vector store does not cover, every hour and when an alarm is raised.',
  cron: '55 * * * * *',
  timeoutMs: 600_000,
  handle: (context: Context, signal) => detectUncoveredTopics(context, signal),
});

export const densityJobs: readonly JobDefinition<Context>[] = [
  measureQueryCoverageJob,
  evaluateDensityJob,
  findUncoveredTopicsJob,
];
