/** What do people ask that the store does not cover? Looked for every hour, and at once when an alarm is raised. */
import type { LocatedTopic } from '../../core/drift/topics/find-topics.ts';
import {
  concernedSegments,
  distinctExamples,
  nearestChunks,
} from '../../core/drift/topics/topic-evidence.ts';
import { absorbedTopics, matchTopics, type TopicMatch } from '../../core/drift/topics/topic-identity.ts';
import { labelTopic } from '../../core/drift/topics/topic-label.ts';
import type { SeenTopic } from '../../core/drift/topics/uncovered-topic.ts';
import { drawn } from '../../core/stats/draw.ts';
import { wilsonInterval } from '../../core/stats/wilson.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DensityBaselines, KeptQueries, StoredBaseline } from '../../ports/density-baselines.ts';
import type { DensityCompute } from '../../ports/density-compute.ts';
import type { DensityStates, WatchingPhase } from '../../ports/density-states.ts';
import type { Logger } from '../../ports/telemetry.ts';
import type { TopicLook, UncoveredTopics } from '../../ports/uncovered-topics.ts';
import { findLostChunks } from './lost-chunks.ts';
import type { DensityPlan } from './plan.ts';
import { type ReadTrafficDeps, readTraffic, type Traffic } from './read-traffic.ts';
import { topicPeriod } from './topic-period.ts';

export interface LookForTopicsDeps extends ReadTrafficDeps {
  readonly states: Pick<DensityStates, 'find' | 'events'>;
  readonly baselines: Pick<DensityBaselines, 'find' | 'kept'>;
  readonly topics: Pick<UncoveredTopics, 'latestLooks' | 'known' | 'record' | 'closeUnseen' | 'texts'>;
  readonly compute: Pick<DensityCompute, 'findTopics'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly plans: readonly DensityPlan[];
  newTopicId(): string;
}

const HOUR_MS = 3_600_000;
/** A topic that no look showed for so long closes by itself. */
const CLOSE_AFTER_MS = 24 * HOUR_MS;
const MOST_QUERIES = 20_000;
/** Texts that a label is made of, on either side. */
const MOST_TEXTS = 500;
const CONFIDENCE = 0.95;
const SEED = 1;

/** How often topics are looked for: every window, of shorter ones every hour. */
export function lookEveryMs({ windowMs }: Pick<DensityPlan, 'windowMs'>): number {
  return Math.max(windowMs, HOUR_MS);
}

/**
 * Looks for uncovered topics in every pipeline where that is due. Any number of workers may do it at once and at any
 * time: of two looks after the same one, one is stored, so that a topic keeps its identity.
 *
 * @throws the first failure, after all pipelines were tried; the reason of `signal` when it aborts
 */
export async function lookForTopics(deps: LookForTopicsDeps, signal: AbortSignal): Promise<void> {
  const latest = new Map((await deps.topics.latestLooks()).map((look) => [look.pipeline, look.until]));
  const failures: unknown[] = [];
  for (const plan of deps.plans) {
    try {
      await lookAt(deps, plan, latest.get(plan.pipeline) ?? null, signal);
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

async function lookAt(
  deps: LookForTopicsDeps,
  plan: DensityPlan,
  latest: Date | null,
  signal: AbortSignal,
): Promise<void> {
  const { pipeline } = plan;
  const stored = await deps.states.find(pipeline);
  if (stored?.state.phase.kind !== 'watching') return;
  const { phase, closedMs, sinceMs } = stored.state;
  if (!isDue(plan, phase, closedMs, latest)) return;
  const baseline = await deps.baselines.find(pipeline, phase.baselineVersion);
  if (baseline === null) return;
  const scoredSince = sinceMs === null ? null : new Date(sinceMs);
  const period = await topicPeriod(deps, plan, phase, { closedMs, scoredSince });
  const { regions } = baseline.baseline;
  const settings = { most: MOST_QUERIES, columns: regions.count === 0 ? null : regions.columns };
  const traffic = await readTraffic(deps, period, settings, signal);
  const [tail, sample] = await Promise.all(
    (['tail', 'sample'] as const).map((role) => deps.baselines.kept(pipeline, phase.baselineVersion, role)),
  );
  if (tail === undefined || sample === undefined) return;
  const found = await deps.compute.findTopics(traffic, topicBaseline(baseline, tail, sample), signal);
  const look: TopicLook = {
    ...period,
    baselineVersion: phase.baselineVersion,
    sessions:
      found.kind === 'topics'
        ? found.sessions
        : traffic.tally.chances.reduce((sum, { sessions }) => sum + sessions, 0),
    lacking: found.kind === 'topics' ? null : found.of,
  };
  if (found.kind === 'insufficient_data') {
    await deps.topics.record(look, { seen: [], parts: new Map() }, latest);
    return;
  }
  const known = await deps.topics.known(pipeline);
  const matches = matchTopics(found.topics, known);
  const seen = await describe(deps, plan, matches, { look, traffic, sample }, signal);
  const absorbed = absorbedTopics(matches, known);
  const parts = new Map([...absorbed].map(([id, index]) => [id, seen[index]?.id ?? id]));
  if (!(await deps.topics.record(look, { seen, parts }, latest))) return;
  for (const [index, { id, trafficShare, excessPoints, cause }] of seen.entries()) {
    if (matches[index]?.known === null) {
      const fields = { pipeline, topic: id, traffic_share: trafficShare, excess_points: excessPoints, cause };
      deps.logger.info('people ask about a topic that the store does not cover', fields);
    }
  }
  const before = new Date(look.until.getTime() - CLOSE_AFTER_MS);
  await deps.topics.closeUnseen(pipeline, before, deps.clock.now());
}

function isDue(plan: DensityPlan, { alarms }: WatchingPhase, closedMs: number, latest: Date | null): boolean {
  if (latest === null) return true;
  const latestMs = latest.getTime();
  if (closedMs >= latestMs + lookEveryMs(plan)) return true;
  return Object.values(alarms).some(({ incident }) => incident !== null && incident.raisedMs > latestMs);
}

function topicBaseline({ baseline, tailSessions }: StoredBaseline, tail: KeptQueries, sample: KeptQueries) {
  const { regions, scores } = baseline;
  const queries = tail.queries.map(({ id, session, surprise }, row) => ({ id, row, session, surprise }));
  return {
    regions,
    scores,
    tail: { vectors: tail.vectors, queries, sessions: tailSessions },
    sample: sample.vectors,
  };
}

/** What is known of each topic that was found, under the id that it had before or a new one. */
async function describe(
  deps: LookForTopicsDeps,
  plan: DensityPlan,
  matches: readonly TopicMatch<LocatedTopic>[],
  { look, traffic, sample }: { look: TopicLook; traffic: Traffic; sample: KeptQueries },
  signal: AbortSignal,
): Promise<SeenTopic[]> {
  if (matches.length === 0) return [];
  const { pipeline } = plan;
  const covered = new Map(traffic.covered.map((query) => [query.id, query]));
  const own = new Set(matches.flatMap(({ found }) => found.members));
  const others = traffic.covered.map(({ id }) => id).filter((id) => !own.has(id));
  const background = await deps.topics.texts(pipeline, drawn(others, MOST_TEXTS, SEED));
  const described: SeenTopic[] = [];
  for (const { found: one, known } of matches) {
    const members = one.members.flatMap((id) => covered.get(id) ?? []);
    const before = one.baselineRows.flatMap((row) => sample.queries[row] ?? []);
    const lost = one.cause === 'lost_content' ? await findLostChunks(deps, plan, before, signal) : null;
    const texts = await deps.topics.texts(pipeline, one.members.slice(0, MOST_TEXTS));
    const share = wilsonInterval(Math.min(1, one.trafficShare), one.current / one.trafficShare, CONFIDENCE);
    described.push({
      id: known ?? deps.newTopicId(),
      pipeline,
      label: labelTopic([...texts.values()], [...background.values()]),
      centroid: one.centroid,
      cause: one.cause,
      windowEnd: look.until,
      sessions: one.current,
      trafficShare: one.trafficShare,
      shareLow: share.low,
      shareHigh: share.high,
      excessPoints: one.excessPoints,
      density: one.density,
      adjustedP: one.adjustedP,
      dominantRegion: one.dominantRegion,
      examples: distinctExamples(one.examples, one.members, texts),
      nearest: nearestChunks(members.map(({ nearest }) => nearest)),
      segments: concernedSegments(
        members.map(({ segments }) => segments),
        traffic.covered.map(({ segments }) => segments),
        plan.segmentKeys,
      ),
      lostChunks: lost?.ids ?? [],
    });
  }
  return described;
}
