/** What the pages of live traffic and its coverage are made from. */

import type { ConsoleDeps, ConsolePipeline } from '../../../app/console/console-api.ts';
import { ALL_SEGMENT } from '../../../core/model.ts';
import { densityLevels } from '../../../density/edge/sections.ts';
import { deploymentsWithin } from '../../../golden/edge/pages/golden-reads.ts';
import { distributions } from '../../../report/console/charts/distribution-chart.tsx';
import type { TimeRange } from '../../../report/console/links.ts';

/** Measures of live traffic that have a chart. */
export const trafficCharts = ['zero_results_ratio', 'error_ratio', 'clicked_query_ratio'] as const;

const BINS = 40;
const MAX_TOPICS = 20;
const MAX_BUCKETS = 96;
const COMPLAINT_DAYS = 14;
/** Summing up feedback reads all of it. */
const MAX_FEEDBACK_MS = 7 * 86_400_000;

export async function readDensityPage(
  deps: ConsoleDeps,
  { name: pipeline, showsText }: ConsolePipeline,
  range: TimeRange,
  looksForComplaints: boolean,
) {
  const { from, until } = range;
  const [density, trends, [diagnosis], topics, deployments] = await Promise.all([
    deps.describeDensity({ pipeline, segment: ALL_SEGMENT, from: until, until }),
    deps.measurements.trends({ pipeline, segment: ALL_SEGMENT, measures: Object.keys(densityLevels) }, from, until),
    deps.incidents.list({ pipeline, during: { from: until, until }, limit: 1 }),
    deps.topics.list({ pipeline, states: ['open', 'acknowledged'], limit: MAX_TOPICS }),
    deploymentsWithin(deps, pipeline, from, until),
  ]);
  const reference =
    density.baseline === null ? null : await deps.referenceSimilarities(pipeline, density.baseline.version);
  const [low, high] = [reference?.[0], reference?.[reference.length - 1]];
  const [current, shown] = await Promise.all([
    deps.trafficReads.coverage({
      pipeline,
      from,
      until,
      within: low === undefined || high === undefined ? null : [low, high],
      bins: BINS,
    }),
    Promise.all(
      topics.map(async (topic) => {
        const [windows, texts] = await Promise.all([
          deps.topics.windows(topic.id),
          showsText ? deps.topics.texts(pipeline, topic.examples) : new Map<string, string>(),
        ]);
        return { topic, windows, texts };
      }),
    ),
  ]);
  return {
    density,
    trends,
    /** Of the pipeline, at the end of the range; null while nothing was in alarm. */
    diagnosis: diagnosis ?? null,
    /** Of live queries within the range against the reference; null while neither has a query. */
    distributions: distributions(reference, current, BINS),
    currentQueries: current?.queries ?? 0,
    topics: shown,
    /** Null: nobody looked. */
    complaints: looksForComplaints ? await deps.readComplaints(pipeline, COMPLAINT_DAYS, true) : null,
    showsText,
    deployments,
  };
}

export async function readTrafficPage(deps: ConsoleDeps, { name: pipeline }: ConsolePipeline, range: TimeRange) {
  const { from, until } = range;
  const lengthMs = until.getTime() - from.getTime();
  const bucketSeconds = 60 * Math.max(1, Math.ceil(lengthMs / 60_000 / MAX_BUCKETS));
  const feedbackFrom = new Date(Math.max(from.getTime(), until.getTime() - MAX_FEEDBACK_MS));
  const [status, buckets, series, [feedback], deployments] = await Promise.all([
    deps.readStatus(pipeline),
    deps.trafficReads.buckets({ pipeline, from, until, bucketSeconds }),
    deps.measurements.trends({ pipeline, segment: ALL_SEGMENT, measures: trafficCharts }, from, until),
    deps.summarizeFeedback(pipeline, { from: feedbackFrom, until }),
    deploymentsWithin(deps, pipeline, from, until),
  ]);
  if (feedback === undefined) throw new Error('a pipeline of the config has no summary of its feedback');
  return {
    pipeline,
    buckets,
    bucketSeconds,
    series,
    /** The latest of every segment. */
    latest: status.measurements,
    feedback,
    /** Whether the time is longer than feedback is summed up over. */
    isFeedbackCut: feedbackFrom > from,
    deployments,
    from,
    until,
  };
}
