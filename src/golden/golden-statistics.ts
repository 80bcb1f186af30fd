/** Computes scores and comparisons of golden runs, in worker threads or in the calling thread. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { GoldenQuery } from '../core/model.ts';
import type { MetricKey } from '../math/ir/metric-key.ts';
import type { ThreadPool } from '../platform/threads/thread-pool.ts';
import {
  type BaselineStatistics,
  type ComparedSide,
  differencesOf,
  pairRuns,
  type RunDifference,
  runsOfPair,
} from './rules/compare-golden-runs.ts';
import { compareRuns, type RunsToCompare } from './rules/compare-runs.ts';
import { groupBySegment, type Segment } from './rules/golden-set.ts';
import type { QueryAnswer, RunSettings, RunStages } from './rules/run.ts';
import { averagePairs, measureReruns, type Reruns, type ScoredPair } from './rules/run-noise.ts';
import {
  measuresOf,
  type QueryScores,
  type RunMetricKey,
  runMetricKeys,
  type ScoringSettings,
  scoreQueries,
  scoringOf,
  segmentsToScore,
  summarizeSegments,
} from './rules/score-run.ts';
import { type StagedQuery, summarizeStages } from './rules/stages.ts';
import { type ComparisonSettings, storedComparison } from './rules/verdict.ts';

/** Results of two retrievers for the same queries, requested at about the same time. */
export interface AnsweredPair {
  readonly before: readonly QueryAnswer[];
  readonly after: readonly QueryAnswer[];
  readonly relevanceLevel: number;
}

export const goldenTasks = {
  summarizeSegments: (input: { perQuery: QueryScores; segments: readonly Segment[] }) =>
    summarizeSegments(input.perQuery, input.segments),
  summarizeStages: (input: { queries: readonly StagedQuery[]; k: number }) => summarizeStages(input.queries, input.k),
  compareRuns: (input: { runs: RunsToCompare; settings: ComparisonSettings }) =>
    compareRuns(input.runs, input.settings),
  measureReruns: (input: {
    keys: readonly MetricKey[];
    runs: readonly (readonly Float64Array[])[];
    segments: readonly Segment[];
  }) => measureReruns(input.keys, input.runs, input.segments),
} as const;

/**
 * Number of queries that are scored per turn of the event loop; a turn takes a few milliseconds for 100 results per
 * query.
 */
const QUERIES_PER_TURN = 250;

/**
 * Runs bootstraps and randomization tests in worker threads. Scores queries in this thread, 250 at a time, because
 * copying the results to another thread would take as long as scoring.
 */
export function createGoldenStatistics(pool: Pick<ThreadPool<typeof goldenTasks>, 'run'>) {
  return {
    /**
     * Scores a run: means over all judged queries and over each segment. Failed queries, and queries without results,
     * count as 0.
     *
     * @param answers results of the queries, in any order; results of queries outside the set are ignored
     * @param dead ids of queries whose relevant documents are all superseded or deleted; the segment `alive` contains
     *   all other queries
     */
    async scoreRun(
      queries: readonly GoldenQuery[],
      answers: readonly QueryAnswer[],
      settings: RunSettings,
      dead: ReadonlySet<string>,
      signal: AbortSignal,
    ) {
      const perQuery = await scoreInTurns(queries, answers, scoringOf(queries, settings));
      const { segments, overflow } = segmentsToScore(queries, settings, dead);
      const scores = await pool.run('summarizeSegments', { perQuery, segments }, signal);
      return {
        scores,
        /** Number of segments that were merged into `other`. */
        segmentsOverflow: overflow,
      };
    },
    summarizeStages: (queries: readonly StagedQuery[], k: number, signal: AbortSignal): Promise<RunStages | null> =>
      pool.run('summarizeStages', { queries, k }, signal),
    /**
     * Compares a run with another run, metric by metric, for all queries together and for each segment.
     *
     * @param stale ids of queries to exclude; see `pairRuns`
     * @param known statistics of the baseline: noise, means over its reruns, and accepted differences
     * @returns null if the runs share no query or no cutoff
     */
    async compareRuns(
      baseline: ComparedSide,
      candidate: ComparedSide,
      stale: ReadonlySet<string>,
      known: BaselineStatistics,
      signal: AbortSignal,
    ): Promise<RunDifference[] | null> {
      const pair = pairRuns(baseline, candidate, stale);
      if (pair === null) return null;
      const before = await scoreInTurns(pair.queries, baseline.answers, pair.settings);
      const after = await scoreInTurns(pair.queries, candidate.answers, pair.settings);
      const runs = runsOfPair(pair, baseline, before, after, known);
      return differencesOf(pair, await pool.run('compareRuns', { runs, settings: storedComparison }, signal));
    },
    /**
     * Compares pairs of runs that have the same queries. The score of a query is its mean score over all pairs.
     *
     * @param pairs at least one
     */
    async comparePairs(
      queries: readonly GoldenQuery[],
      pairs: readonly AnsweredPair[],
      key: RunMetricKey,
      settings: ComparisonSettings,
      signal: AbortSignal,
    ) {
      const { scores, noise } = averagePairs(await scorePairs(queries, pairs, key));
      const { metrics } = await pool.run('compareRuns', { runs: { keys: [key], ...scores }, settings }, signal);
      const [metric] = metrics;
      if (metric === undefined) throw new RangeError('A comparison of runs needs exactly one metric.');
      return {
        metric,
        /** Standard deviation of a query's difference across the pairs; null for a single pair. */
        noise,
      };
    },
    /**
     * Measures retriever noise from runs of the same queries; see `measureReruns` in rules/run-noise.ts.
     *
     * @param runs query results, one array per run
     * @param settings shared by all runs
     */
    async measureReruns(
      queries: readonly GoldenQuery[],
      runs: readonly (readonly QueryAnswer[])[],
      settings: RunSettings,
      signal: AbortSignal,
    ): Promise<Reruns> {
      const keys = runMetricKeys(settings.cutoffs, measuresOf(queries));
      const { segments } = groupBySegment(queries, settings.segmentKeys, settings.maxSegments);
      const scored: (readonly Float64Array[])[] = [];
      for (const answers of runs) scored.push((await scoreInTurns(queries, answers, settings)).columns);
      return pool.run('measureReruns', { keys, runs: scored, segments }, signal);
    },
  };
}

/**
 * Golden statistics that are computed in the calling thread. Only commands use them, because a command has no other
 * work that a long computation could delay.
 */
export const statisticsOfCommands = createGoldenStatistics({
  run: async (task, input) => goldenTasks[task](input as never) as never,
});

async function scorePairs(
  queries: readonly GoldenQuery[],
  pairs: readonly AnsweredPair[],
  { measure, k }: RunMetricKey,
): Promise<ScoredPair[]> {
  const scored: ScoredPair[] = [];
  for (const { before, after, relevanceLevel } of pairs) {
    const by = { cutoffs: [k], relevanceLevel, measures: [measure] };
    const [baseline] = (await scoreInTurns(queries, before, by)).columns;
    const [candidate] = (await scoreInTurns(queries, after, by)).columns;
    if (baseline !== undefined && candidate !== undefined) scored.push({ baseline, candidate });
  }
  return scored;
}

/** Like `scoreQueries`, but yields to other work in the process between groups of queries. */
async function scoreInTurns(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  settings: ScoringSettings,
): Promise<QueryScores> {
  const { measures = measuresOf(queries) } = settings;
  const keys = runMetricKeys(settings.cutoffs, measures);
  const columns = keys.map(() => new Float64Array(queries.length));
  const answerOf = new Map(answers.map((answer) => [answer.queryId, answer]));
  for (let first = 0; first < queries.length; first += QUERIES_PER_TURN) {
    const part = queries.slice(first, first + QUERIES_PER_TURN);
    const answered = part.flatMap(({ id }) => answerOf.get(id) ?? []);
    for (const [column, scores] of scoreQueries(part, answered, { ...settings, measures }).columns.entries())
      columns[column]?.set(scores, first);
    await nextTurn();
  }
  return { keys, columns };
}

/**
 * Statistics of golden runs. The seeds are fixed, so that worker threads and the calling thread return the same digits.
 * In the daemon, bootstraps and randomization tests run in worker threads. Calls that run on worker threads reject with
 * the abort reason of `signal`, or with RecalldError overloaded if too many calls are already waiting.
 */
export type GoldenStatistics = ReturnType<typeof createGoldenStatistics>;
