/**
 * Reads the data for a pipeline's weekly report: golden sets and scores, incidents, coverage, topics, and deployments.
 */
import { type FloorCheck, ofKind } from '../../checks/rules/golden-checks.ts';
import type { Context } from '../../core/context.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import type { TimeSpan } from '../../core/time.ts';
import { goldenSegment } from '../../golden/rules/golden-set.ts';
import { REPRESENTATIVENESS } from '../../golden/sets/live-mix.ts';
import { findPipeline, type WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { showsTextOf } from '../console/shows-text.ts';

interface ReportScope extends TimeSpan {
  readonly pipeline: string;
}

export type WeeklyReport = Awaited<ReturnType<typeof readWeeklyReport>>;

export type ReportedSet = WeeklyReport['sets'][number];

/** An uncovered topic. `texts` contains the texts of the topic's example queries, keyed by query id. */
export type ReportedTopic = WeeklyReport['topics'][number];

export const reportedMeasures = ['query_density', 'query_uncovered_ratio'] as const;

const MAX_RUNS = 1_000;
const MAX_TOPICS = 20;
const MAX_LISTED = 1_000;

/** @throws RecalldError pipeline_unknown */
export async function readWeeklyReport(context: Context, scope: ReportScope) {
  const { pipeline, from, until } = scope;
  const watched = findPipeline(context.pipelines, pipeline);
  const showsText = showsTextOf(context, pipeline);
  const plan = context.densityPlans.find((one) => one.pipeline === pipeline) ?? null;
  const [sets, incidents, density, uncovered, events, state, topics, deployments] = await Promise.all([
    Promise.all(watched.golden.map(({ set }) => readSet(context, watched, scope, set))),
    context.db.incidents.list({ pipeline, during: { from, until }, limit: MAX_LISTED }),
    context.db.measurements.series({ pipeline, measure: 'query_density', segment: ALL_SEGMENT }, from, until),
    context.db.measurements.series({ pipeline, measure: 'query_uncovered_ratio', segment: ALL_SEGMENT }, from, until),
    context.db.density.watch.events({ pipeline, limit: MAX_LISTED }),
    context.db.density.watch.find(pipeline),
    readTopics(context, scope, showsText),
    context.db.live.deployments.list({ pipeline, since: from, limit: MAX_LISTED }),
  ]);
  const isFull = (list: readonly unknown[]): boolean => list.length === MAX_LISTED;
  return {
    pipeline,
    from,
    until,
    showsText,
    sets,
    /** Newest first. */
    incidents,
    density: {
      /** True if query density is configured and has a baseline. */
      isWatched: plan !== null && state?.state.phase.kind === 'watching',
      /** Points of the charts, keyed by measure, oldest first. */
      series: { query_density: density, query_uncovered_ratio: uncovered },
      /** Newest first. */
      events: events.filter(({ occurredAt }) => occurredAt >= from && occurredAt < until),
      /** Budget of false pages; null if density is not configured. */
      budget: plan?.budget ?? null,
    },
    topics,
    /** Oldest first. */
    deployments: deployments.filter(({ occurredAt }) => occurredAt < until).toReversed(),
    /** Lists that were cut off at the limit; empty if the report is complete. */
    truncated: [
      ...(isFull(incidents) ? (['incidents'] as const) : []),
      ...(isFull(events) && (events.at(-1)?.occurredAt ?? from) > from ? (['density events'] as const) : []),
      ...(isFull(deployments) ? (['deployments'] as const) : []),
    ],
  };
}

async function readSet(
  context: Context,
  { name, checks }: WatchedPipeline,
  { from, until }: TimeSpan,
  goldenSet: string,
) {
  const [version, runs, representativeness] = await Promise.all([
    context.db.golden.sets.latest(goldenSet),
    context.db.golden.runReads.history({ pipeline: name, goldenSet, from, until, limit: MAX_RUNS }),
    context.db.measurements.series(
      { pipeline: name, measure: REPRESENTATIVENESS, segment: goldenSegment(goldenSet) },
      from,
      until,
    ),
  ]);
  const last = runs.findLast(({ status }) => status === 'completed');
  return {
    goldenSet,
    /** The latest version; null before the first import. */
    version,
    /** Oldest first. */
    runs,
    /** The last completed run in the period; null if there is none. */
    last: last === undefined ? null : await readLast(context, last.runId),
    /** The last measurement in the period; null if there is none. */
    representativeness: representativeness.at(-1) ?? null,
    /** Checks that set a minimum score, keyed by measure and cutoff. */
    floors: new Map<string, FloorCheck>(ofKind(checks, 'floor').map((floor) => [floor.measure, floor])),
  };
}

async function readLast(context: Context, runId: string) {
  const [run, scores, comparisons] = await Promise.all([
    context.db.golden.runs.find(runId),
    context.db.golden.runs.scores(runId),
    context.db.golden.runs.comparisons(runId),
  ]);
  if (run === null) return null;
  /** `baseline` is the comparison with the pinned baseline; null if none is pinned. */
  return { run, scores, baseline: comparisons.find(({ kind }) => kind === 'baseline') ?? null };
}

/** Returns topics that were seen before the end of the period and are still open, largest excess first. */
async function readTopics(context: Context, { pipeline, until }: ReportScope, showsText: boolean) {
  const topics = await context.db.density.topics.list({
    pipeline,
    states: ['open', 'acknowledged'],
    limit: MAX_TOPICS,
  });
  return Promise.all(
    topics
      .filter(({ firstSeen }) => firstSeen < until)
      .map(async (topic) => {
        const [windows, texts] = await Promise.all([
          context.db.density.topics.windows(topic.id),
          showsText ? context.db.density.topics.texts(pipeline, topic.examples) : new Map<string, string>(),
        ]);
        return { topic, windows, texts };
      }),
  );
}
