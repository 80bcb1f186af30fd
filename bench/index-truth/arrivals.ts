/** Simulates when changed documents arrive in a store. recalld looks up the changes in each round. */
import type { Arrival } from '../../src/index/truth/rules/probe-estimates.ts';
import { normalQuantile } from '../../src/math/stats/distributions.ts';
import type { RandomNumbers } from '../random-numbers.ts';

const DAY = 86_400;
/** Seconds between two rounds. */
const ROUND = 900;
/** The time until a change arrives is log-normal; its 95th percentile is five times the median. */
const SPREAD = Math.log(5) / 1.6448536269514722;

/** A day of changes, all or some of which recalld tracks. */
export interface ArrivalWorld {
  readonly world: string;
  readonly changes: number;
  /** Median time until a change arrives, in seconds. */
  readonly median: number;
  /** Share that never arrives. */
  readonly never: number;
  /** Seconds between two runs of the ingestion; 0 if it runs continuously. */
  readonly batch: number;
  /**
   * Number of additional changes that one read of the manifest finds and that arrive in one batch; recalld tracks 200
   * of them.
   */
  readonly burst: number;
}

const steady = { median: 3600, never: 0, batch: 0, burst: 0 } as const;

export const lagWorlds: readonly ArrivalWorld[] = [
  { world: '30 changes', changes: 30, ...steady },
  { world: '200 changes', changes: 200, ...steady },
  { world: '1000 changes', changes: 1000, ...steady },
  { world: '200 changes, faster than the interval between rounds', changes: 200, ...steady, median: 300 },
  { world: '200 changes, median delay of 20 hours', changes: 200, ...steady, median: 20 * 3600 },
  { world: '200 changes, ingested every two hours', changes: 200, ...steady, batch: 7200 },
  { world: '200 changes, 0.5 % never arrive', changes: 200, ...steady, never: 0.005 },
  { world: '200 changes, 2 % never arrive', changes: 200, ...steady, never: 0.02 },
  { world: '200 changes, 10 % never arrive', changes: 200, ...steady, never: 0.1 },
  { world: '200 changes, and a batch of 5000 of which 200 are tracked', changes: 200, ...steady, burst: 5000 },
];

const FOLLOWED = 200;

export interface Change {
  /** Second of the day. */
  readonly at: number;
  /** Seconds until the change arrives; Infinity if it never arrives. */
  readonly takes: number;
}

/** Generates the changes of a day, and computes the true quantile of the time until a change arrives. */
export function changesOfDay(
  world: ArrivalWorld,
  quantile: number,
  random: RandomNumbers,
): { readonly changes: readonly Change[]; readonly truth: number } {
  const changes = Array.from({ length: world.changes }, () => change(world, DAY * random.uniform(), random));
  return { changes, truth: truthOf(world, quantile, changes) };
}

/**
 * Returns what the rounds until `now` have observed about a change: bounds on the time until it arrived, or how long
 * they have waited for it.
 */
function seen({ at, takes }: Change, weight: number, now: number): Arrival {
  const last = ROUND * Math.floor(now / ROUND);
  const first = ROUND * Math.ceil(at / ROUND);
  const found = Math.max(first, ROUND * Math.ceil((at + takes) / ROUND));
  if (found <= last) return { weight, hasArrived: true, after: Math.max(0, found - ROUND - at), by: found - at };
  const waited = Math.max(0, last - at);
  return { weight, hasArrived: false, after: waited, by: waited };
}

/**
 * Generates the changes of a day that recalld tracks, as recalld observes them. Also computes the true quantile of the
 * time until a change arrives: from the changes of that day in a world with a burst, otherwise from the population.
 */
export function followedDay(
  world: ArrivalWorld,
  quantile: number,
  random: RandomNumbers,
): { readonly arrivals: readonly Arrival[]; readonly truth: number } {
  const { changes: own } = changesOfDay(world, quantile, random);
  const burst = Array.from({ length: world.burst }, () => change(world, DAY / 4, random));
  const followed = burst.slice(0, FOLLOWED);
  const arrivals = [
    ...own.map((one) => seen(one, 1, DAY)),
    ...followed.map((one) => seen(one, burst.length / followed.length, DAY)),
  ];
  return { arrivals, truth: truthOf(world, quantile, [...own, ...burst]) };
}

function change({ median, never, batch }: ArrivalWorld, at: number, random: RandomNumbers): Change {
  if (random.uniform() < never) return { at, takes: Number.POSITIVE_INFINITY };
  if (batch === 0) return { at, takes: median * Math.exp(SPREAD * random.normal()) };
  // The change arrives at the end of the next ingestion run, which takes a tenth of the interval between runs.
  return { at, takes: batch * Math.ceil(at / batch) + batch / 10 - at };
}

function truthOf({ median, never, batch, burst }: ArrivalWorld, quantile: number, changes: readonly Change[]): number {
  const share = quantile / (1 - never);
  if (burst > 0)
    return changes.map(({ takes }) => takes).toSorted((a, b) => a - b)[Math.ceil(quantile * changes.length) - 1] ?? 0;
  if (share >= 1) return Number.POSITIVE_INFINITY;
  return batch === 0 ? median * Math.exp(SPREAD * normalQuantile(share)) : batch * (share + 0.1);
}

/**
 * @param usual 95th percentile of the time until a change arrives, in seconds
 * @param stopsAt time in seconds after which no change arrives; null if changes never stop arriving
 */
export function stream(
  {
    days,
    changesPerDay,
    usual,
    stopsAt,
  }: { readonly days: number; readonly changesPerDay: number; readonly usual: number; readonly stopsAt: number | null },
  random: RandomNumbers,
): (now: number) => readonly Arrival[] {
  const changes = Array.from({ length: days * changesPerDay }, (): Change => {
    const at = days * DAY * random.uniform();
    const takes = (usual / 5) * Math.exp(SPREAD * random.normal());
    return { at, takes: stopsAt !== null && at + takes > stopsAt ? Number.POSITIVE_INFINITY : takes };
  }).toSorted((a, b) => a.at - b.at);
  return (now) => changes.filter(({ at }) => at > now - DAY && at <= now).map((one) => seen(one, 1, now));
}
