/** Reads the data for the page of an incident. */

import type { Context } from '../../../../core/context.ts';
import { percentage } from '../../../../core/format.ts';
import type { GoldenQuery, RetrievedDocument } from '../../../../core/model.ts';
import { DAY_MS, HOUR_MS } from '../../../../core/time.ts';
import type { ListedQuery, QueryView } from '../../../../golden/rules/listed-queries.ts';
import type { GoldenRun } from '../../../../golden/rules/run.ts';
import { readRunTable } from '../../../../golden/runs/run-summary.ts';
import { showsTextOf } from '../../../../report/console/shows-text.ts';
import type { Incident } from '../../rules/incident.ts';
import { readIncidentChart } from '../incident-chart.ts';
import { findIncident } from '../routes.ts';

export type IncidentPageData = Awaited<ReturnType<typeof readIncidentPage>>;

/** @throws RecalldError incident_unknown */
export async function readIncidentPage(context: Context, id: string) {
  const { db, receivers, clock } = context;
  const incident = await findIncident(context, id);
  const [lastGood, chart, golden, live, messages, notes, silences, reliability] = await Promise.all([
    incident.referenceRunId === null ? null : db.golden.runs.find(incident.referenceRunId),
    readIncidentChart(context, incident, clock.now()),
    readGoldenQueries(context, incident),
    readLiveQueries(context, incident),
    db.notifications.messages(id),
    db.live.annotations.of('incident', [id]),
    db.silences.endingAfter(clock.now(), incident.pipeline),
    db.incidents.reliability(null),
  ]);
  const lastGoodAt = lastGood?.finishedAt ?? null;
  return {
    incident,
    /** End of the last good run; null if there is none. */
    lastGoodAt,
    deployments: await readDeployments(context, incident, lastGoodAt),
    chart,
    /** Golden queries affected by the incident, worst first; null if no run shows such queries. */
    golden,
    /** Live queries affected by the incident; null if none are known, or if texts may not be shown. */
    live,
    messages: messages.map(({ receiver, ...message }) => ({
      ...message,
      /** The receiver; null if it was removed from the config. */
      receiver: receivers.find((one) => one.id === receiver) ?? null,
    })),
    notes: notes.get(id) ?? [],
    silences,
    now: clock.now(),
    reliability,
  };
}

const MAX_DEPLOYMENTS = 3;

/**
 * Maximum number of deployments to read, including those after the start of the incident, which the result excludes.
 */
const MAX_READ = 100;

/**
 * Returns the latest deployments, newest first, after the last good run and before the incident. Includes changes that
 * the probes at the start of the incident detected, because these changes happened before the incident.
 */
async function readDeployments({ db }: Context, incident: Incident, lastGoodAt: Date | null) {
  const { pipeline, openedAt, confirmedAt } = incident;
  const since = lastGoodAt ?? new Date(openedAt.getTime() - DAY_MS);
  const later = await db.live.deployments.list({ pipeline, since, limit: MAX_READ });
  return later
    .filter(({ source, occurredAt }) => occurredAt <= (source === 'detected' ? (confirmedAt ?? openedAt) : openedAt))
    .slice(0, MAX_DEPLOYMENTS);
}

const MAX_QUERIES = 3;

const MAX_RANKS = 3;

export type ShownQuery = Awaited<ReturnType<typeof shownQuery>>;

/**
 * Returns the queries whose scores dropped most. If no score dropped, returns the queries that failed or, if none
 * failed, the queries that lost all their results.
 */
async function readGoldenQueries(context: Context, { runId, referenceRunId, pipeline, timeline }: Incident) {
  const { runs } = context.db.golden;
  const [run, reference] = await Promise.all([
    runId === null ? null : runs.find(runId),
    referenceRunId === null ? null : runs.find(referenceRunId),
  ]);
  if (run === null || run.answersDeletedAt !== null) return null;
  // An incident that affects only live queries is not visible in golden queries.
  if (timeline.every(({ goldenSet }) => goldenSet === null)) return null;
  const isComparable = run.status === 'completed' && reference?.status === 'completed';
  const against = isComparable && reference.answersDeletedAt === null ? reference : null;
  const key = { measure: 'ndcg', k: Math.max(...run.settings.cutoffs) } as const;
  const views: readonly QueryView[] = against === null ? ['failed'] : ['regressed', 'failed', 'newly_empty'];
  for (const view of views) {
    const { page, total } = await readRunTable(context, run, against, view, key, 0, MAX_QUERIES);
    if (total === 0) continue;
    const isShown = showsTextOf(context, pipeline);
    const queries = await Promise.all(page.map((one) => shownQuery(context, run, against, one, isShown)));
    return { run, against, view, queries, total, measure: `nDCG@${key.k}` };
  }
  return null;
}

async function shownQuery(
  { reads }: Context,
  run: GoldenRun,
  against: GoldenRun | null,
  { query, score, before }: ListedQuery,
  isShown: boolean,
) {
  const [now, earlier] = await Promise.all([
    reads.golden.runReads.answer(run.id, query.id),
    against === null ? null : reads.golden.runReads.answer(against.id, query.id),
  ]);
  return {
    id: query.id,
    text: isShown ? query.text : null,
    score,
    before,
    outcome: now?.outcome ?? null,
    ranks: relevantRanks(query.judgments, earlier?.documents ?? [], now?.documents ?? []).slice(0, MAX_RANKS),
  };
}

function rankIn(documents: readonly RetrievedDocument[], id: string): number | null {
  const index = documents.findIndex((one) => one.id === id);
  return index < 0 ? null : index + 1;
}

/**
 * Returns the relevant documents that are in either result list, with their ranks, in the order of their earlier ranks.
 */
export function relevantRanks(
  judgments: GoldenQuery['judgments'],
  before: readonly RetrievedDocument[],
  now: readonly RetrievedDocument[],
) {
  const last = Number.POSITIVE_INFINITY;
  return judgments
    .filter(({ grade }) => grade > 0)
    .map(({ documentId }) => ({ documentId, before: rankIn(before, documentId), now: rankIn(now, documentId) }))
    .filter((one) => one.before !== null || one.now !== null)
    .toSorted((a, b) => (a.before ?? last) - (b.before ?? last) || (a.now ?? last) - (b.now ?? last));
}

/**
 * Returns queries of the largest uncovered topic, or the live queries whose best document has the lowest grade. Returns
 * null if the incident concerns neither, or if texts may not be shown.
 */
async function readLiveQueries(context: Context, incident: Incident) {
  const { pipeline, cause, timeline, openedAt, closedAt } = incident;
  const { db, clock } = context;
  if (!showsTextOf(context, pipeline)) return null;
  if (cause === 'uncovered_topic') {
    const { topics } = db.density;
    const [topic] = await topics.list({ pipeline, states: ['open', 'acknowledged', 'closed'], limit: 1 });
    if (topic === undefined) return null;
    const texts = await topics.texts(pipeline, topic.examples);
    const lead = `Queries about the largest uncovered topic, ${percentage(topic.trafficShare)} of the traffic.`;
    return { lead, page: 'density', texts: [...texts.values()].slice(0, MAX_QUERIES) } as const;
  }
  if (!timeline.some(({ measured }) => measured?.measure.startsWith('live_'))) return null;
  const from = new Date(openedAt.getTime() - WINDOW_MS);
  const window = { pipeline, from, until: closedAt ?? clock.now() };
  const worst = await db.judging.judged.worstGraded(window, MAX_QUERIES);
  const texts = worst.map(({ text }) => text);
  return {
    lead: 'Live queries with the worst results, ranked by the grade of their best document.',
    page: 'judge',
    texts,
  } as const;
}

/** How far before the incident live queries are also read, because the failing measure includes these queries. */
const WINDOW_MS = 3 * HOUR_MS;
