/** Every hour, and when an alert fires, searches for topics that users ask about but the store does not cover. */

import type { Context } from '../core/context.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import { wilsonInterval } from '../math/stats/intervals.ts';
import { drawn } from '../math/stats/random.ts';
import { forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import type { RetainedQueries, StoredBaseline } from './baselines-table.ts';
import type { CoveragePeriod } from './coverage-reads.ts';
import type { DensityPlan, DensityRun } from './plan.ts';
import type { LocatedTopic } from './rules/find-topics.ts';
import {
  concernedSegments,
  distinctExamples,
  isOneByLabel,
  labelTopic,
  nearestChunks,
} from './rules/topic-description.ts';
import { absorbedTopics, matchTopics, type SeenTopic, type TopicMatch } from './rules/uncovered-topic.ts';
import type { WatchingPhase } from './rules/watch-state.ts';
import { findLostChunks } from './search-store.ts';
import type { TopicSearch } from './topics-table.ts';
import { readTraffic, sessionsOf, type Traffic, timeOf } from './traffic.ts';

const CLOSE_AFTER_MS = DAY_MS;
const MAX_QUERIES = 20_000;
/** Maximum number of the topic's texts, and of other texts, from which a topic's label is derived. */
const MAX_TEXTS = 500;
const CONFIDENCE = 0.95;
const SEED = 1;

/** Interval between searches: one window, but at least one hour. */
export function searchIntervalMs({ windowMs }: DensityPlan): number {
  return Math.max(windowMs, HOUR_MS);
}

/**
 * Searches for uncovered topics in every pipeline whose search is due. Several workers may run this function
 * concurrently. If two workers search at the same time, only one of the two results is stored, so that each topic keeps
 * its id.
 *
 * @throws the errors of forEachPipeline
 */
export async function detectUncoveredTopics(context: Context, signal: AbortSignal): Promise<void> {
  const searches = await context.db.density.topics.latestSearches();
  const latest = new Map(searches.map((search) => [search.pipeline, search.until]));
  await forEachPipeline(context.densityPlans, signal, (plan) =>
    detectIn({ context, plan, signal }, latest.get(plan.pipeline) ?? null),
  );
}

async function detectIn(run: DensityRun, latest: Date | null): Promise<void> {
  const { context, plan, signal } = run;
  const { pipeline } = plan;
  const { db } = context;
  const stored = await db.density.watch.find(pipeline);
  if (stored?.state.phase.kind !== 'watching') return;
  const { phase, closedMs, sinceMs } = stored.state;
  if (!isDue(plan, phase, closedMs, latest)) return;
  const baseline = await db.density.baselines.find(pipeline, phase.baselineVersion);
  if (baseline === null) return;
  const scoredSince = timeOf(sinceMs);
  const period = await topicPeriod(context, phase, { pipeline, closedMs, scoredSince });
  const traffic = await readTraffic(context, period, MAX_QUERIES, baseline.storeMean, signal);
  const [tail, sample] = await Promise.all(
    (['tail', 'sample'] as const).map((role) => db.density.baselines.retained(pipeline, phase.baselineVersion, role)),
  );
  if (tail === undefined || sample === undefined) return;
  const input = { traffic, baseline: topicBaseline(baseline, tail, sample) };
  const found = await context.compute.run('findTopics', input, signal);
  const search: TopicSearch = {
    ...period,
    baselineVersion: phase.baselineVersion,
    sessions: found.kind === 'topics' ? found.sessions : sessionsOf(traffic.tally),
    lacking: found.kind === 'topics' ? null : found.of,
  };
  if (found.kind === 'insufficient_data') {
    await db.density.topics.record(search, { seen: [], parts: new Map() }, latest);
    return;
  }
  const known = await db.density.topics.known(pipeline);
  const named = await nameTopics(context, pipeline, found.topics, traffic);
  const matches = matchTopics(named, known);
  const seen = await describe(run, matches, { search, traffic, sample });
  const absorbed = absorbedTopics(matches, known);
  const parts = new Map([...absorbed].map(([id, index]) => [id, seen[index]?.id ?? id]));
  if (!(await db.density.topics.record(search, { seen, parts }, latest))) return;
  for (const [index, { id, trafficShare, excessPoints, cause }] of seen.entries()) {
    if (matches[index]?.known === null) {
      const fields = { pipeline, topic: id, traffic_share: trafficShare, excess_points: excessPoints, cause };
      context.logger.info('found a new uncovered topic', fields);
    }
  }
  const before = new Date(search.until.getTime() - CLOSE_AFTER_MS);
  await db.density.topics.closeUnseen(pipeline, before, context.clock.now());
}

function isDue(plan: DensityPlan, { alerts }: WatchingPhase, closedMs: number, latest: Date | null): boolean {
  if (latest === null) return true;
  const latestMs = latest.getTime();
  if (closedMs >= latestMs + searchIntervalMs(plan)) return true;
  return Object.values(alerts).some(({ incident }) => incident !== null && incident.raisedMs > latestMs);
}

function topicBaseline({ baseline, tailSessions }: StoredBaseline, tail: RetainedQueries, sample: RetainedQueries) {
  const { regions, scores } = baseline;
  const queries = tail.queries.map(({ id, session, surprise }, row) => ({ id, row, session, surprise }));
  const side = { vectors: tail.vectors, tail: queries, sessions: tailSessions };
  return { regions, scores, tail: side, sample: sample.vectors };
}

type NamedTopic = Awaited<ReturnType<typeof nameTopics>>[number];

/** Labels topics. Drops a topic if neither its vectors nor its words show that its queries share one subject. */
async function nameTopics({ db }: Context, pipeline: string, found: readonly LocatedTopic[], traffic: Traffic) {
  if (found.length === 0) return [];
  const own = new Set(found.flatMap(({ members }) => members));
  const others = traffic.covered.map(({ id }) => id).filter((id) => !own.has(id));
  const background = await db.density.topics.texts(pipeline, drawn(others, MAX_TEXTS, SEED));
  const named = [];
  for (const topic of found) {
    const texts = await db.density.topics.texts(pipeline, topic.members.slice(0, MAX_TEXTS));
    const label = labelTopic([...texts.values()], [...background.values()]);
    const isTopic = topic.subjects === 'one' || isOneByLabel([...texts.values()], label);
    if (isTopic) named.push({ ...topic, label, texts });
  }
  return named;
}

async function describe(
  run: DensityRun,
  matches: readonly TopicMatch<NamedTopic>[],
  { search, traffic, sample }: { search: TopicSearch; traffic: Traffic; sample: RetainedQueries },
): Promise<SeenTopic[]> {
  const { context, plan } = run;
  const { pipeline } = plan;
  const covered = new Map(traffic.covered.map((query) => [query.id, query]));
  const described: SeenTopic[] = [];
  for (const { found: one, known } of matches) {
    const members = one.members.flatMap((id) => covered.get(id) ?? []);
    const before = one.baselineRows.flatMap((row) => sample.queries[row] ?? []);
    const lost = one.cause === 'lost_content' ? await findLostChunks(run, before) : null;
    const share = wilsonInterval(Math.min(1, one.trafficShare), one.current / one.trafficShare, CONFIDENCE);
    described.push({
      ...one,
      id: known ?? context.newTopicId(),
      pipeline,
      windowEnd: search.until,
      sessions: one.current,
      shareLow: share.low,
      shareHigh: share.high,
      examples: distinctExamples(one.examples, one.members, one.texts),
      nearest: nearestChunks(members.map(({ nearest }) => nearest)),
      segments: concernedSegments(
        members.map(({ segments }) => segments),
        traffic.covered.map(({ segments }) => segments),
        plan.segmentKeys,
      ),
      lostChunks: lost?.ids ?? [],
      ...(await context.db.density.topics.judged(pipeline, one.members)),
    });
  }
  return described;
}

/**
 * Possible lengths of the search period: whole days, so that queries typical of a time of day are not mistaken for a
 * topic.
 */
const LENGTHS_DAYS = [1, 2, 4, 7] as const;
/** Minimum number of sessions: enough to find a topic with 5 % of the traffic. */
const MIN_SESSIONS = 500;
/** Minimum number of sessions while an alert is firing: enough to measure the size of a drop. */
const MIN_SESSIONS_FIRING = 200;
const MAX_EVENTS = 20;

/**
 * Chooses the shortest recent period with 500 sessions: at most 7 days, excluding the baseline period. While an alert
 * is firing, chooses the period since the drop if that period is shorter than a day and contains 200 sessions, because
 * a longer period would dilute a topic that is only a few hours old.
 */
async function topicPeriod(
  context: Context,
  phase: WatchingPhase,
  { pipeline, closedMs, scoredSince }: Pick<CoveragePeriod, 'pipeline' | 'scoredSince'> & { readonly closedMs: number },
): Promise<CoveragePeriod> {
  const earliestMs = Math.min(phase.untilMs, closedMs);
  const fell = await dropStart(context, pipeline, phase);
  const starts = [
    ...(fell === null || fell <= closedMs - DAY_MS ? [] : [{ startMs: fell, enough: MIN_SESSIONS_FIRING }]),
    ...LENGTHS_DAYS.map((days) => ({ startMs: closedMs - days * DAY_MS, enough: MIN_SESSIONS })),
  ];
  let period = periodFrom(closedMs);
  for (const { startMs, enough } of starts) {
    period = periodFrom(Math.max(startMs, earliestMs));
    const sessions = sessionsOf(await context.db.density.coverage.tally(period));
    if (startMs <= earliestMs || sessions >= enough) break;
  }
  return period;

  function periodFrom(startMs: number): CoveragePeriod {
    return { pipeline, from: new Date(startMs), until: new Date(closedMs), scoredSince };
  }
}

/**
 * Returns the start of the drop that the firing alert reported. If two alerts are firing, returns the later start.
 * Returns null if no alert is firing or no start is known.
 */
async function dropStart({ db }: Context, pipeline: string, { alerts }: WatchingPhase): Promise<number | null> {
  const raised = Object.values(alerts).flatMap(({ incident }) => incident?.raisedMs ?? []);
  if (raised.length === 0) return null;
  const events = await db.density.watch.events({ pipeline, limit: MAX_EVENTS });
  const since = events.flatMap(({ kind, occurredAt, details }) => {
    const isOpen = (kind === 'page' || kind === 'ticket') && raised.includes(occurredAt.getTime());
    const { since: start } = details;
    return isOpen && typeof start === 'string' ? [Date.parse(start)] : [];
  });
  return since.length === 0 ? null : Math.max(...since);
}
