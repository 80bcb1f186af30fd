/** Simulates one monitored pipeline: its baseline, 90 days without a change, and the same pipeline with a change. */

import type { AlertLevel } from '../../src/density/rules/alert.ts';
import { embeddingCanary } from '../../src/density/rules/measurement-change.ts';
import { type Matrix, meanDirection, rowOf, selectRows } from '../../src/math/vector/matrix.ts';
import { type RandomNumbers, randomNumbers } from '../random-numbers.ts';
import { BASELINE_HOURS, baselineOf, type MonitoredHour, POOL_HOURS, startMonitor } from './monitor.ts';
import { type Memory, memoryOf, type Reading, readAlert } from './reading.ts';
import { noChange, type Traffic, type TrafficChange, traffic, type Unrest } from './traffic.ts';
import { otherModel, type Scores, scoresOn, type World } from './world.ts';

export type Scenario =
  | { readonly kind: 'uncovered'; readonly topic: string; readonly share: number }
  | { readonly kind: 'new and held'; readonly share: number }
  | { readonly kind: 'deleted'; readonly share: number }
  | { readonly kind: 'topic mix'; readonly spread: number }
  | { readonly kind: 'other model' };

/** A scenario whose queries are measured without a change, and again after each change of the store or model. */
export interface MeasuredWorld {
  readonly world: World;
  readonly scores: Scores;
  /** Mean vector of the chunks, as it was stored with the baseline. */
  readonly storeMean: Float64Array;
  readonly changed: Map<string, Pick<Change, 'vectors' | 'scores' | 'missing'>>;
}

export interface QuietResult {
  readonly alerts: Readonly<Record<AlertLevel, number>>;
  readonly sessionsPerHour: number;
  readonly overdispersion: number;
}

export interface ChangeResult {
  /**
   * Number of hours, and number of queries, from the change to the alert; null if no alert fired in the simulated days.
   */
  readonly delays: Readonly<Record<AlertLevel, { readonly hours: number; readonly queries: number } | null>>;
  /** Density of all traffic, from the change to the first alert of either level, or to the end if no alert fired. */
  readonly density: number;
  /** Explanation of the first alert of either level; null if no alert fired. */
  readonly reading: Reading | null;
  /** Hour in which the canary detected another model; null if the canary detected none. */
  readonly canaryHours: number | null;
}

export interface Pipeline {
  readonly memory: Memory;
  readonly measured: MeasuredWorld;
  readonly volume: number;
  readonly seed: number;
  readonly unrest: Unrest | undefined;
}

const DAY = 24;
const CANARY_QUESTIONS = 20;
/**
 * Minimum number of hours of monitored traffic before the change. The weekday of the change differs between streams.
 */
const LEAD_HOURS = 24;

export function measureWorld(world: World): MeasuredWorld {
  const storeMean = meanDirection(world.store);
  return { world, scores: scoresOn(world.store, world.vectors, storeMean), storeMean, changed: new Map() };
}

/** Simulates two weeks of traffic and builds the baseline from it. */
export function startPipeline(measured: MeasuredWorld, volume: number, seed: number, unrest?: Unrest): Pipeline {
  const { world, scores } = measured;
  const live = trafficOf({ measured, volume, seed, unrest }, 0);
  const hours = Array.from({ length: BASELINE_HOURS }, (_, hour) => live.hour(hour, noChange));
  const baseline = baselineOf(hours, world.vectors, scores);
  const asked = hours.flatMap((hour) => hour.map(({ question }) => question));
  return { memory: memoryOf(baseline, world, asked, scores, seed), measured, volume, seed, unrest };
}

/** Simulates traffic without a change: only seasons, bots, news and slow drift of topic popularity. */
export function watchQuiet(pipeline: Pipeline, days: number): QuietResult {
  const { memory, measured } = pipeline;
  const live = trafficOf(pipeline, 1);
  const monitor = startMonitor(memory.baseline, BASELINE_HOURS);
  const alerts = { page: 0, ticket: 0 };
  let sessions = 0;
  for (let hour = 0; hour < days * DAY; hour++) {
    const closed = monitor.close(live.hour(BASELINE_HOURS + hour, noChange), measured.world.vectors, measured.scores);
    sessions += closed.sessions;
    for (const level of ['page', 'ticket'] as const) if (closed.events[level]?.kind === 'raised') alerts[level]++;
  }
  return { alerts, sessionsPerHour: sessions / (days * DAY), overdispersion: memory.baseline.global.phi };
}

/** Simulates a day or more of traffic, then a change, then the days after the change. */
export function watchChange(pipeline: Pipeline, scenario: Scenario, number: number, days: number): ChangeResult {
  const { memory, measured, seed } = pipeline;
  const live = trafficOf(pipeline, 2 + number);
  const change = changeOf(pipeline, scenario, number);
  const first = BASELINE_HOURS + (seed % 7) * DAY;
  const onset = first + LEAD_HOURS + (seed % DAY);
  const monitor = startMonitor(memory.baseline, first);
  const recent: MonitoredHour[] = [];
  const delays: Record<AlertLevel, { hours: number; queries: number } | null> = { page: null, ticket: null };
  let reading: Reading | null = null;
  let queries = 0;
  let surprise = 0;
  let sessions = 0;
  for (let hour = first; hour < onset + days * DAY && !(delays.page && delays.ticket); hour++) {
    const isAfter = hour >= onset;
    const asked = live.hour(hour, isAfter ? change.traffic : noChange);
    const [vectors, scores] = isAfter ? [change.vectors, change.scores] : [measured.world.vectors, measured.scores];
    const closed = monitor.close(asked, vectors, scores);
    recent.push(closed);
    if (recent.length > POOL_HOURS) recent.shift();
    if (!isAfter) continue;
    queries += asked.length;
    surprise -= closed.sessions * Math.log(closed.density ?? 1);
    sessions += closed.sessions;
    for (const level of ['ticket', 'page'] as const) {
      const event = closed.events[level];
      if (delays[level] !== null || event?.kind !== 'raised') continue;
      delays[level] = { hours: hour - onset + 1, queries };
      // Includes the hours before the change in which the e-value was already accumulating.
      const measured = recent.filter(({ startMs }) => startMs >= event.size.startMs);
      reading ??= readAlert(memory, measured, vectors, scores, change.missing, randomNumbers(seed + number));
    }
  }
  return {
    delays,
    density: Math.exp(-surprise / Math.max(1, sessions)),
    reading,
    canaryHours: canaryNames(memory, measured.world.vectors, change.vectors) ? 1 : null,
  };
}

interface Change {
  readonly traffic: TrafficChange;
  readonly vectors: Matrix;
  readonly scores: Scores;
  readonly missing: ReadonlySet<number>;
}

function changeOf({ measured, seed }: Pipeline, scenario: Scenario, number: number): Change {
  const { world, scores, storeMean } = measured;
  const random = randomNumbers(seed * 31 + number);
  const same: Change = { traffic: noChange, vectors: world.vectors, scores, missing: new Set() };
  switch (scenario.kind) {
    case 'uncovered': {
      const topics = world.uncovered.filter(({ kind }) => kind === scenario.topic);
      const topic = topics[random.below(topics.length)]?.topic ?? 0;
      const added = { topic, share: scenario.share };
      return { ...same, traffic: { ...noChange, added }, missing: new Set([topic]) };
    }
    case 'new and held': {
      const topic = world.unasked[random.below(world.unasked.length)] ?? 0;
      return { ...same, traffic: { ...noChange, added: { topic, share: scenario.share } } };
    }
    case 'deleted': {
      const variant = seed % VARIANTS;
      return {
        ...same,
        ...once(measured.changed, `deleted ${scenario.share} ${variant}`, () => {
          const missing = topicsWorth(world, scenario.share, randomNumbers(variant));
          const kept = [...world.chunkTopics.keys()].filter((row) => !missing.has(world.chunkTopics[row] ?? -1));
          return {
            missing,
            vectors: world.vectors,
            scores: scoresOn(selectRows(world.store, kept), world.vectors, storeMean),
          };
        }),
      };
    }
    case 'topic mix': {
      const factors = Float64Array.from(world.asked, () => Math.exp(scenario.spread * random.normal()));
      return { ...same, traffic: { ...noChange, factors } };
    }
    case 'other model':
      return {
        ...same,
        ...once(measured.changed, 'other model', () => {
          const vectors = otherModel(world.vectors, randomNumbers(1));
          return { missing: new Set(), vectors, scores: scoresOn(world.store, vectors, storeMean) };
        }),
      };
  }
}

/**
 * Number of variants of lost content per scenario. All streams share the variants, because measuring one variant takes
 * seconds.
 */
const VARIANTS = 3;

function once<Value>(known: Map<string, Value>, key: string, make: () => Value): Value {
  const value = known.get(key) ?? make();
  known.set(key, value);
  return value;
}

/** Returns random topics whose total share of the traffic is as close as possible to `share`. */
function topicsWorth({ asked, chunkTopics }: World, share: number, random: RandomNumbers): Set<number> {
  const held = new Set(chunkTopics);
  const chosen = new Set<number>();
  let sum = 0;
  for (let tries = 0; tries < 1_000 && sum < share * 0.9; tries++) {
    const one = asked[random.below(asked.length)];
    if (one === undefined || chosen.has(one.topic) || !held.has(one.topic)) continue;
    if (sum + one.share > share * 1.2) continue;
    chosen.add(one.topic);
    sum += one.share;
  }
  return chosen;
}

/** The embedding canary runs every hour, so it detects another model in the first hour. */
function canaryNames({ golden }: Memory, before: Matrix, after: Matrix): boolean {
  if (before === after) return false;
  const pairs = Array.from(golden.slice(0, CANARY_QUESTIONS), (question) => ({
    stored: rowOf(before, question),
    recomputed: rowOf(after, question),
  }));
  return embeddingCanary(pairs).verdict === 'changed';
}

function trafficOf(
  { measured: { world, scores }, volume, seed, unrest }: Omit<Pipeline, 'memory'>,
  part: number,
): Traffic {
  const people = randomNumbers(seed * 101 + part);
  return traffic(world, scores, volume, { people, path: randomNumbers(seed) }, unrest);
}
