/** Reads the data for the status page and for a pipeline's overview. */
import { type Context, onReplica } from '../../core/context.ts';
import { deploymentsWithin } from '../../golden/edge/pages/golden-reads.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { isOverviewSeries } from '../../measures/shown-measures.ts';
import { pageOf, type Query } from '../console/http/visit.ts';
import type { TimeRange } from '../console/links.ts';
import { openIncidentOf, verdictsWorstFirst } from './pipeline-status.ts';
import { readQuality } from './quality-charts.ts';
import { readStatus, readStatuses } from './read-status.ts';

const PAGE_SIZE = 10;

/** Reads the pipelines whose name contains the filter, worst first, and the charts of the pipelines on this page. */
export async function readStatusPage(context: Context, query: Query, range: TimeRange) {
  const now = context.clock.now();
  const [statuses, open, silences] = await Promise.all([
    readStatuses(onReplica(context)),
    context.db.incidents.open(),
    context.db.silences.endingAfter(now),
  ]);
  const wanted = (query['filter'] ?? '').trim();
  const found = verdictsWorstFirst
    .flatMap((state) => statuses.filter((status) => status.state === state))
    .filter(({ pipeline }) => pipeline.toLowerCase().includes(wanted.toLowerCase()));
  const page = Math.min(pageOf(query), Math.max(1, Math.ceil(found.length / PAGE_SIZE)));
  const cards = found.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE).map(async (status) => {
    const [quality, [last]] = await Promise.all([
      readQuality(context, status, range),
      context.db.incidents.list({ pipeline: status.pipeline, limit: 1 }),
    ]);
    const silenced = silences.find((one) => one.pipeline === status.pipeline && one.startsAt <= now) ?? null;
    return { status, incident: openIncidentOf(status, open), last: last ?? null, quality, silenced };
  });
  return {
    cards: await Promise.all(cards),
    states: statuses.map(({ state }) => state),
    filter: wanted,
    found: found.length,
    page,
    pageSize: PAGE_SIZE,
    range,
  };
}

const MAX_INCIDENTS = 20;
const MAX_EARLIER = 6;
const MAX_TRANSITIONS = 1000;

export async function readOverviewPage(context: Context, pipeline: WatchedPipeline, range: TimeRange) {
  const { name } = pipeline;
  const { db, reads } = context;
  const { from, until } = range;
  const [status, silences, incidents, within, transitions] = await Promise.all([
    readStatus(onReplica(context), pipeline),
    db.silences.endingAfter(context.clock.now(), name),
    db.incidents.list({ pipeline: name, limit: MAX_EARLIER + 1 }),
    db.incidents.list({ pipeline: name, during: range, limit: MAX_INCIDENTS }),
    db.checks.transitions({ pipeline: name, since: from, until, limit: MAX_TRANSITIONS }),
  ]);
  const series = status.measurements.filter(isOverviewSeries);
  const segments = [...new Set(series.map(({ segment }) => segment))];
  const [quality, deployments, trends] = await Promise.all([
    readQuality(context, status, range),
    deploymentsWithin(context, name, from, until),
    Promise.all(
      segments.map(async (segment) => {
        const measures = series.flatMap((one) => (one.segment === segment ? [one.measure] : []));
        return [segment, await reads.measurements.trends({ pipeline: name, segment, measures }, from, until)] as const;
      }),
    ),
  ]);
  return {
    status,
    /** Silences that are current or planned. */
    silences,
    incident: openIncidentOf(
      status,
      incidents.filter(({ closedAt }) => closedAt === null),
    ),
    /** Closed incidents, newest first. */
    earlier: incidents.filter(({ closedAt }) => closedAt !== null).slice(0, MAX_EARLIER),
    within,
    transitions,
    quality,
    /** Deployments within the range, oldest first. */
    deployments,
    /** Points of the charts, keyed by segment and measure. */
    trends: new Map(trends),
    range,
    now: context.clock.now(),
  };
}
