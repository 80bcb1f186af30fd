import { readDensityVerdict } from '../../../checks/check-store.ts';
import { type Context, onReplica } from '../../../core/context.ts';
import { groupBy } from '../../../core/group-by.ts';
import { ALL_SEGMENT } from '../../../core/model.ts';
import { describeDensity } from '../../../density/describe-density.ts';
import { readComplaintsInTime } from '../../../density/edge/complaints-reads.ts';
import { densityLevels } from '../../../density/edge/sections.ts';
import { deploymentsWithin } from '../../../golden/edge/pages/golden-reads.ts';
import type { WatchedPipeline } from '../../../golden/watched-pipeline.ts';
import { distributions } from '../../../report/console/charts/distribution-chart.tsx';
import type { TimeRange } from '../../../report/console/links.ts';
import { showsTextOf } from '../../../report/console/shows-text.ts';
import { readStatus } from '../../../report/status/read-status.ts';
import { type EpisodeStep, episodeSteps, splitByPause, tallyEpisode } from '../../rules/episodes.ts';
import type { WindowStep } from '../../sql/live-windows.ts';
import { summarizeAllFeedback } from '../live-routes.ts';

export const trafficCharts = ['zero_results_ratio', 'error_ratio'] as const;
export const feedbackCharts = ['feedback_positive_ratio', 'clicked_query_ratio'] as const;

const BINS = 40;
const MAX_TOPICS = 20;
const MAX_BUCKETS = 96;
/** Maximum number of isolation violations on the page; `GET /v1/isolation-violations` lists all. */
const MAX_VIOLATIONS = 50;
const COMPLAINT_DAYS = 14;
const MAX_EPISODES = 10;
const READ_EPISODES = 100;
/** Longest range of the feedback summary, which reads all feedback in the range. */
const MAX_FEEDBACK_MS = 7 * 86_400_000;

export async function readDensityPage(
  context: Context,
  pipeline: string,
  range: TimeRange,
  looksForComplaints: boolean,
) {
  const { db, reads } = context;
  const { topics: table } = db.density;
  const { from, until } = range;
  const showsText = showsTextOf(context, pipeline);
  const [density, trends, [diagnosis], topics, deployments] = await Promise.all([
    describeDensity(
      context,
      { pipeline, segment: ALL_SEGMENT, from: until, until },
      await readDensityVerdict(context, pipeline),
    ),
    reads.measurements.trends({ pipeline, segment: ALL_SEGMENT, measures: Object.keys(densityLevels) }, from, until),
    db.incidents.list({ pipeline, during: { from: until, until }, limit: 1 }),
    table.list({ pipeline, states: ['open', 'acknowledged'], limit: MAX_TOPICS }),
    deploymentsWithin(context, pipeline, from, until),
  ]);
  // The list is empty once the baseline queries have been deleted.
  const similarities =
    density.baseline === null ? [] : await reads.density.baselines.similarities(pipeline, density.baseline.version);
  const baseline = similarities.length === 0 ? null : similarities;
  const [low, high] = [baseline?.[0], baseline?.[baseline.length - 1]];
  const [current, shown] = await Promise.all([
    reads.live.trafficReads.coverage({
      pipeline,
      from,
      until,
      within: low === undefined || high === undefined ? null : [low, high],
      bins: BINS,
    }),
    Promise.all(
      topics.map(async (topic) => {
        const [windows, texts] = await Promise.all([
          table.windows(topic.id),
          showsText ? table.texts(pipeline, topic.examples) : new Map<string, string>(),
        ]);
        return { topic, windows, texts };
      }),
    ),
  ]);
  return {
    density,
    trends,
    /** Incident that was open at the end of the range; null if there was none. */
    diagnosis: diagnosis ?? null,
    /** Distributions of the live queries in the range and of the baseline queries; null if there are neither. */
    distributions: distributions(baseline, current, BINS),
    currentQueries: current?.queries ?? 0,
    topics: shown,
    complaints: looksForComplaints ? await readComplaintsInTime(context, pipeline, COMPLAINT_DAYS, true) : null,
    showsText,
    deployments,
  };
}

export async function readTrafficPage(context: Context, watched: WatchedPipeline, range: TimeRange) {
  const { reads } = context;
  const pipeline = watched.name;
  const { from, until } = range;
  const lengthMs = until.getTime() - from.getTime();
  const bucketSeconds = 60 * Math.max(1, Math.ceil(lengthMs / 60_000 / MAX_BUCKETS));
  const feedbackFrom = new Date(Math.max(from.getTime(), until.getTime() - MAX_FEEDBACK_MS));
  const [status, buckets, series, [feedback], deployments, isolation, episodes] = await Promise.all([
    readStatus(onReplica(context), watched),
    reads.live.trafficReads.buckets({ pipeline, from, until, bucketSeconds }),
    reads.measurements.trends(
      { pipeline, segment: ALL_SEGMENT, measures: [...trafficCharts, ...feedbackCharts] },
      from,
      until,
    ),
    summarizeAllFeedback(onReplica(context), pipeline, { from: feedbackFrom, until }),
    deploymentsWithin(context, pipeline, from, until),
    readIsolation(onReplica(context), watched, range),
    readWorstEpisodes(context, pipeline, range),
  ]);
  if (feedback === undefined) throw new Error(`the pipeline ${pipeline} has no feedback summary`);
  return {
    pipeline,
    buckets,
    bucketSeconds,
    series,
    latest: status.measurements,
    checks: status.checks,
    feedback,
    /** True if the range is longer than the period that the feedback summary covers. */
    isFeedbackCut: feedbackFrom > from,
    deployments,
    isolation,
    episodes,
    from,
    until,
  };
}

/**
 * Returns the episodes with the largest number of useless retrievals. A retrieval is useless if it repeats an earlier
 * one or returns no new document. Examines only the longest episodes with at least two retrievals. In hash mode, the
 * queries have no texts.
 */
async function readWorstEpisodes(context: Context, pipeline: string, { from, until }: TimeRange) {
  const idleMs = context.livePlans.find((plan) => plan.pipeline === pipeline)?.idleMs ?? 0;
  const showsText = showsTextOf(context, pipeline);
  const steps = await context.reads.live.windows.longestEpisodes({ pipeline, from, until }, READ_EPISODES);
  const worst = [...groupBy(steps, ({ episode }) => episode)]
    .flatMap(([id, own]) => splitByPause(own, idleMs).map((part) => describeEpisode(id, part, showsText)))
    .filter(({ wasted }) => wasted > 0)
    .toSorted((a, b) => b.wasted - a.wasted || b.startedAt.getTime() - a.startedAt.getTime())
    .slice(0, MAX_EPISODES);
  const queryIds = worst.flatMap((episode) => episode.steps.map((step) => step.id));
  const citations = await context.reads.live.windows.citations(pipeline, queryIds, from);
  return worst.map((episode) => {
    const own = new Set(episode.steps.map((step) => step.id));
    const cited = citations.flatMap(({ queryId, documentId }) => (own.has(queryId) ? [documentId] : []));
    return { ...episode, cited: new Set(cited) };
  });
}

function describeEpisode(id: string, retrievals: readonly WindowStep[], showsText: boolean) {
  const steps: readonly EpisodeStep<WindowStep>[] = episodeSteps(retrievals).map((step) =>
    showsText ? step : { ...step, text: null, originalText: null },
  );
  return {
    id,
    startedAt: retrievals[0]?.occurredAt ?? new Date(0),
    originalText: steps.find(({ originalText }) => originalText !== null)?.originalText ?? null,
    steps,
    tally: tallyEpisode(steps),
    wasted: steps.filter(isWasted).length,
  };
}

export function isWasted({ repeats, newDocumentIds }: EpisodeStep): boolean {
  return repeats !== null || newDocumentIds.length === 0;
}

/** Returns the results of each isolation rule in the range, with the latest violations; null if there are no rules. */
async function readIsolation(
  { db }: Context,
  { name: pipeline, isolation }: WatchedPipeline,
  { from, until }: TimeRange,
) {
  if (isolation.length === 0) return null;
  const during = { from, until };
  const [summaries, violations] = await Promise.all([
    db.live.isolation.summaries(during, pipeline),
    db.live.isolation.list({ pipeline, during, limit: MAX_VIOLATIONS }),
  ]);
  const rules = isolation.map(({ name: rule }) => ({
    rule,
    found: summaries.find((one) => one.rule === rule) ?? null,
  }));
  return { rules, violations };
}
