/** Reads the data for the status, overview and deployments pages. */
import { type Context, onReplica } from '../../core/context.ts';
import { trendKey } from '../../golden/sql/score-trends.ts';
import { findPipeline, type WatchedPipeline } from '../../golden/watched-pipeline.ts';
import type { Measure } from '../../math/ir/metric-key.ts';
import type { Query } from '../console/http/visit.ts';
import { type TimeRange, within } from '../console/links.ts';
import { openIncidentOf, type PipelineStatus } from './pipeline-status.ts';
import { readStatus, readStatuses } from './read-status.ts';

const MAX_DEPLOYMENTS = 200;

/** @throws RecalldError pipeline_unknown */
export async function readDeploymentsPage(context: Context, query: Query, range: TimeRange) {
  const { from, until } = range;
  const pipeline = chosen(context, query);
  const { annotations, deployments: table } = context.db.live;
  const found = await table.list({
    since: from,
    limit: MAX_DEPLOYMENTS,
    ...(pipeline === null ? {} : { pipeline }),
  });
  const deployments = found.filter(({ occurredAt }) => occurredAt <= until);
  const ids = deployments.map(({ id }) => id);
  return {
    pipeline,
    pipelines: context.pipelines.map(({ name }) => name),
    deployments,
    notes: await annotations.of('deployment', ids),
    address: within(range, '/deployments', { pipeline }),
  };
}

/** Returns the pipeline that the query string selects; null for all. @throws RecalldError pipeline_unknown */
export function chosen({ pipelines }: Context, { pipeline = '' }: Query): string | null {
  return pipeline === '' ? null : findPipeline(pipelines, pipeline).name;
}

/** Enough points for a sparkline, which is 96 pixels wide. */
const MAX_POINTS = 60;
const TREND: Measure = 'ndcg';
const MAX_INCIDENTS = 6;

export async function readStatusPage(context: Context, range: TimeRange) {
  const [statuses, open] = await Promise.all([readStatuses(onReplica(context)), context.db.incidents.open()]);
  const trends = await readTrends(context, statuses, range);
  return statuses.map((status) => ({
    status,
    diagnosis: openIncidentOf(status, open),
    trends: trends(status),
  }));
}

export async function readOverviewPage(context: Context, pipeline: WatchedPipeline, range: TimeRange) {
  const [status, incidents] = await Promise.all([
    readStatus(onReplica(context), pipeline),
    context.db.incidents.list({ pipeline: pipeline.name, limit: MAX_INCIDENTS }),
  ]);
  const [trends, notes] = await Promise.all([
    readTrends(context, [status], range),
    context.db.live.annotations.of(
      'deployment',
      status.deployments.map(({ id }) => id),
    ),
  ]);
  return {
    status,
    diagnosis: openIncidentOf(
      status,
      incidents.filter(({ closedAt }) => closedAt === null),
    ),
    /** Closed incidents, newest first. */
    earlier: incidents.filter(({ closedAt }) => closedAt !== null),
    /** Keyed by golden set. */
    trends: trends(status),
    /** Keyed by deployment id. */
    notes,
  };
}

/** Reads the latest scores of all golden sets. Returns a lookup by pipeline. */
async function readTrends({ reads }: Context, statuses: readonly PipelineStatus[], { from, until }: TimeRange) {
  const sets = statuses.flatMap(({ pipeline, golden }) => golden.map(({ goldenSet }) => ({ pipeline, goldenSet })));
  const latest = await reads.golden.runReads.latestScores(sets, { from, until, measure: TREND, limit: MAX_POINTS });
  return ({ pipeline, golden }: PipelineStatus) =>
    new Map(golden.map(({ goldenSet }) => [goldenSet, latest.get(trendKey({ pipeline, goldenSet })) ?? []]));
}
