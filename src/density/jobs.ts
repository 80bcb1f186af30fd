import { z } from 'zod';
import type { Context } from '../core/context.ts';
import { attemptEach, forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import { defineCronJob, defineJob, type JobDefinition } from '../platform/queue/job-queue.ts';
import { detectUncoveredTopics } from './detect-uncovered-topics.ts';
import { evaluateDensity } from './evaluate-density.ts';
import { admitLiveQueries, measureCoverage, ROUND_MS } from './measure-coverage.ts';
import { replayBaselineQueries } from './search-store.ts';

/** Maximum number of workers that share the work of one minute. */
const MAX_LANES = 64;

export const measureQueryCoverageJob: JobDefinition<Context> = defineJob({
  name: 'measure-query-coverage',
  does: 'Searches the vector store with sampled live queries, and stores the similarity of their nearest chunks. If there are more queries than the search budget allows, measures only a random share of them. Enqueues jobs for further workers while queries are waiting.',
  payload: z.strictObject({
    /** Index of the worker within this minute; absent for the first worker, whose index is 0. */
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
    await measureCoverage(context, endsAt, requestHelper, signal);
  },
});

const evaluateDensityJob = defineCronJob({
  name: 'evaluate-density',
  does: 'Learns density baselines, compares windows of live queries with the baselines, fires alerts, and replays 100 baseline queries every hour.',
  cron: '35 * * * * *',
  timeoutMs: 900_000,
  async handle(context: Context, signal) {
    await attemptEach(
      [
        () => evaluateDensity(context, signal),
        () => forEachPipeline(context.densityPlans, signal, (plan) => replayBaselineQueries({ context, plan, signal })),
      ],
      signal,
    );
  },
});

const findUncoveredTopicsJob = defineCronJob({
  name: 'find-uncovered-topics',
  does: 'Every hour, and when an alert fires, searches recent live queries for topics that the vector store does not cover.',
  cron: '55 * * * * *',
  timeoutMs: 600_000,
  handle: (context: Context, signal) => detectUncoveredTopics(context, signal),
});

export const densityJobs: readonly JobDefinition<Context>[] = [
  measureQueryCoverageJob,
  evaluateDensityJob,
  findUncoveredTopicsJob,
];
