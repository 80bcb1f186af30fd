/** Reads the data of the status, overview and deployments pages. */
import type { ConsoleDeps, ConsolePipeline } from '../../app/console/console-api.ts';
import { trendKey } from '../../golden/sql/score-trends.ts';
import type { Measure } from '../../math/ir/metric-key.ts';
import type { Query } from '../console/http/visit.ts';
import { type TimeRange, within } from '../console/links.ts';
import { openIncidentOf, type PipelineStatus } from './pipeline-status.ts';

const MAX_DEPLOYMENTS = 200;

/** @throws RecalldError pipeline_unknown */
export async function readDeploymentsPage(deps: ConsoleDeps, query: Query, range: TimeRange) {
  const { from, until } = range;
  const pipeline = chosen(deps, query);
  const found = await deps.deployments.list({
    since: from,
    limit: MAX_DEPLOYMENTS,
    ...(pipeline === null ? {} : { pipeline }),
  });
  const deployments = found.filter(({ occurredAt }) => occurredAt <= until);
  const ids = deployments.map(({ id }) => id);
  return {
    pipeline,
    pipelines: namesOf(deps),
    deployments,
    notes: await deps.annotations.of('deployment', ids),
    address: within(range, '/deployments', { pipeline }),
  };
}

/** Returns the pipeline that the query selects; null for all. @throws RecalldError pipeline_unknown */
export function chosen(deps: ConsoleDeps, { pipeline = '' }: Query): string | null {
  if (pipeline === '') return null;
  deps.assertPipeline(pipeline);
  return pipeline;
}

export function namesOf({ site }: ConsoleDeps): string[] {
  return site.pipelines.map(({ name }) => name);
}

/** Enough for a sparkline, which is 96 pixels wide. */
const MAX_POINTS = 60;
const TREND: Measure = 'ndcg';
const MAX_INCIDENTS = 6;

export async function readStatusPage(deps: ConsoleDeps, range: TimeRange) {
  const [statuses, open] = await Promise.all([deps.readStatuses(), deps.incidents.open()]);
  const trends = await readTrends(deps, statuses, range);
  return statuses.map((status) => ({
    status,
    diagnosis: openIncidentOf(status, open),
    trends: trends(status),
  }));
}

export async function readOverviewPage(deps: ConsoleDeps, { name }: ConsolePipeline, range: TimeRange) {
  const [status, incidents] = await Promise.all([
    deps.readStatus(name),
    deps.incidents.list({ pipeline: name, limit: MAX_INCIDENTS }),
  ]);
  const [trends, notes] = await Promise.all([
    readTrends(deps, [status], range),
    deps.annotations.of(
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

/** Reads the latest scores of all golden sets, and returns a lookup by pipeline. */
async function readTrends(deps: ConsoleDeps, statuses: readonly PipelineStatus[], { from, until }: TimeRange) {
  const sets = statuses.flatMap(({ pipeline, golden }) => golden.map(({ goldenSet }) => ({ pipeline, goldenSet })));
  const latest = await deps.runReads.latestScores(sets, { from, until, measure: TREND, limit: MAX_POINTS });
  return ({ pipeline, golden }: PipelineStatus) =>
    new Map(golden.map(({ goldenSet }) => [goldenSet, latest.get(trendKey({ pipeline, goldenSet })) ?? []]));
}
