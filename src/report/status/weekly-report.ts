/** Reads the data for a pipeline's weekly report: scores, incidents and causes, coverage, golden sets and pages. */
import { ofKind } from '../../checks/rules/golden-checks.ts';
import type { Context } from '../../core/context.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import type { FalsePageBudget } from '../../density/rules/alert.ts';
import type { TopicWindow, UncoveredTopic } from '../../density/rules/uncovered-topic.ts';
import type { DensityEvent } from '../../density/watch-table.ts';
import type { StoredComparison } from '../../golden/rules/compare-golden-runs.ts';
import { type GoldenSetVersion, goldenSegment } from '../../golden/rules/golden-set.ts';
import type { GoldenRun, SegmentScore } from '../../golden/rules/run.ts';
import { REPRESENTATIVENESS } from '../../golden/sets/live-mix.ts';
import type { HistoricRun } from '../../golden/sql/run-results.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import type { Incident } from '../../incidents/diagnosis/rules/incident.ts';
import type { Deployment } from '../../live/deployments/rules/deployment.ts';
import type { Measurement } from '../../measures/rules/measurement.ts';

interface ReportScope {
  readonly pipeline: WatchedPipeline;
  readonly from: Date;
  /** End of the period, exclusive. */
  readonly until: Date;
  /** True if query texts may be read. */
  readonly showsText: boolean;
}

export interface ReportedSet {
  readonly goldenSet: string;
  /** The latest version; null before the first import. */
  readonly version: GoldenSetVersion | null;
  /** Oldest first. */
  readonly runs: readonly HistoricRun[];
  /** The last completed run in the period; null if there is none. */
  readonly last: {
    readonly run: GoldenRun;
    readonly scores: readonly SegmentScore[];
    /** Comparison with the pinned baseline; null if no baseline is pinned. */
    readonly baseline: StoredComparison | null;
  } | null;
  /** The last measurement in the period; null if there is none. */
  readonly representativeness: Measurement | null;
  /** Thresholds from the config, by measure and cut-off. */
  readonly floors: ReadonlyMap<string, number>;
}

export interface ReportedTopic {
  readonly topic: UncoveredTopic;
  /** Oldest first. */
  readonly windows: readonly TopicWindow[];
  /** Texts of the example queries, by query id. */
  readonly texts: ReadonlyMap<string, string>;
}

export interface WeeklyReport {
  readonly pipeline: string;
  readonly from: Date;
  readonly until: Date;
  readonly showsText: boolean;
  readonly sets: readonly ReportedSet[];
  /** Newest first. */
  readonly incidents: readonly Incident[];
  readonly density: {
    /** True if query density is configured and has a baseline. */
    readonly isWatched: boolean;
    /** Points by measure, oldest first. */
    readonly series: Readonly<Record<ReportedMeasure, readonly Measurement[]>>;
    /** Newest first. */
    readonly events: readonly DensityEvent[];
    /** Budget for false pages; null if density is not configured. */
    readonly budget: FalsePageBudget | null;
  };
  /**
   * Topics that were first seen before the end of the period and are still open, largest excess of traffic over the
   * baseline first.
   */
  readonly topics: readonly ReportedTopic[];
  /** Oldest first. */
  readonly deployments: readonly Deployment[];
  /** Lists that were cut off at the limit; empty if the report is complete. */
  readonly truncated: readonly ('incidents' | 'density events' | 'deployments')[];
}

export const reportedMeasures = ['query_density', 'query_uncovered_ratio'] as const;

type ReportedMeasure = (typeof reportedMeasures)[number];

const MAX_RUNS = 1_000;
const MAX_TOPICS = 20;
/** Maximum length of each list. */
const MAX_LISTED = 1_000;

export async function readWeeklyReport(context: Context, request: ReportScope): Promise<WeeklyReport> {
  const { from, until, showsText } = request;
  const pipeline = request.pipeline.name;
  const plan = context.densityPlans.find((one) => one.pipeline === pipeline) ?? null;
  const [sets, incidents, density, uncovered, events, state, topics, deployments] = await Promise.all([
    Promise.all(request.pipeline.golden.map(({ set }) => readSet(context, request, set))),
    context.db.incidents.list({ pipeline, during: { from, until }, limit: MAX_LISTED }),
    context.db.measurements.series({ pipeline, measure: 'query_density', segment: ALL_SEGMENT }, from, until),
    context.db.measurements.series({ pipeline, measure: 'query_uncovered_ratio', segment: ALL_SEGMENT }, from, until),
    context.db.density.watch.events({ pipeline, limit: MAX_LISTED }),
    context.db.density.watch.find(pipeline),
    readTopics(context, request),
    context.db.live.deployments.list({ pipeline, since: from, limit: MAX_LISTED }),
  ]);
  const isFull = (list: readonly unknown[]): boolean => list.length === MAX_LISTED;
  return {
    pipeline,
    from,
    until,
    showsText,
    sets,
    incidents,
    density: {
      isWatched: plan !== null && state?.state.phase.kind === 'watching',
      series: { query_density: density, query_uncovered_ratio: uncovered },
      events: events.filter(({ occurredAt }) => occurredAt >= from && occurredAt < until),
      budget: plan?.budget ?? null,
    },
    topics,
    deployments: deployments.filter(({ occurredAt }) => occurredAt < until).toReversed(),
    truncated: [
      ...(isFull(incidents) ? (['incidents'] as const) : []),
      ...(isFull(events) && (events.at(-1)?.occurredAt ?? from) > from ? (['density events'] as const) : []),
      ...(isFull(deployments) ? (['deployments'] as const) : []),
    ],
  };
}

async function readSet(
  context: Context,
  { pipeline, from, until }: ReportScope,
  goldenSet: string,
): Promise<ReportedSet> {
  const [version, runs, representativeness] = await Promise.all([
    context.db.golden.sets.latest(goldenSet),
    context.db.golden.runReads.history({ pipeline: pipeline.name, goldenSet, from, until, limit: MAX_RUNS }),
    context.db.measurements.series(
      { pipeline: pipeline.name, measure: REPRESENTATIVENESS, segment: goldenSegment(goldenSet) },
      from,
      until,
    ),
  ]);
  const last = runs.findLast(({ status }) => status === 'completed');
  return {
    goldenSet,
    version,
    runs,
    last: last === undefined ? null : await readLast(context, last.runId),
    representativeness: representativeness.at(-1) ?? null,
    floors: new Map(ofKind(pipeline.checks, 'floor').map(({ measure, below }) => [measure, below])),
  };
}

async function readLast(context: Context, runId: string): Promise<ReportedSet['last']> {
  const [run, scores, comparisons] = await Promise.all([
    context.db.golden.runs.find(runId),
    context.db.golden.runs.scores(runId),
    context.db.golden.runs.comparisons(runId),
  ]);
  if (run === null) return null;
  return { run, scores, baseline: comparisons.find(({ kind }) => kind === 'baseline') ?? null };
}

async function readTopics(
  context: Context,
  { pipeline: { name: pipeline }, until, showsText }: ReportScope,
): Promise<ReportedTopic[]> {
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
