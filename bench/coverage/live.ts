/**
 * Scenarios for the intervals of live measures: failures and clicks are correlated within a session, and only some
 * sessions are sampled.
 */
import {
  type ClickedQuery,
  clickedQueryRate,
  clickedReciprocalRank,
  clickThroughRate,
  queryRate,
} from '../../src/live/rules/feedback/click-rates.ts';
import { baselineCtr, clicksOverExpectedClicks } from '../../src/live/rules/feedback/clicks-over-expected-clicks.ts';
import { positiveRatio } from '../../src/live/rules/feedback/sentiment.ts';
import { calibrationOf, horvitzThompsonTotal } from '../../src/live/rules/sampling/estimate.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import { boundsOf, type Cell } from './cell.ts';

interface Traffic {
  readonly sessions: number;
  /** Share of all queries that fail. */
  readonly failing: number;
  /** Probability that a session is sampled; failed queries are always sampled. */
  readonly rate: number;
}

interface Query extends ClickedQuery {
  readonly hasFailed: boolean;
}

/**
 * Share of sessions that are prone to failures. These sessions contain all failed queries, and get half as many clicks
 * as other sessions.
 */
const PRONE = 0.2;
const SHOWN = 10;
/** Probability of a click, by rank. */
const clickChance = (rank: number): number => 0.25 / rank;

interface Window {
  readonly kept: readonly Query[];
  readonly arrived: number;
}

function draw({ sessions, failing, rate }: Traffic, { uniform, poisson }: RandomNumbers): Window {
  const kept: Query[] = [];
  const counted = { ok: 0, error: 0 };
  for (let cluster = 0; cluster < sessions; cluster++) {
    const isProne = uniform() < PRONE;
    const isKept = uniform() < rate;
    const interest = isProne ? 0.5 : 1.125;
    for (let query = 1 + poisson(3); query > 0; query--) {
      const hasFailed = isProne && uniform() < failing / PRONE;
      const clickedRanks = hasFailed
        ? []
        : Array.from({ length: SHOWN }, (_, at) => at + 1).filter((rank) => uniform() < interest * clickChance(rank));
      counted[hasFailed ? 'error' : 'ok']++;
      if (!isKept && !hasFailed) continue;
      kept.push({ cluster, probability: hasFailed ? 1 : rate, hasFailed, shown: hasFailed ? 0 : SHOWN, clickedRanks });
    }
  }
  const estimated = kept.reduce((sum, { hasFailed, probability }) => sum + (hasFailed ? 0 : 1 / probability), 0);
  const factors = calibrationOf({
    ok: { counted: counted.ok, estimated },
    error: { counted: counted.error, estimated: counted.error },
  });
  return {
    kept: kept.map((query) => ({ ...query, calibration: factors[query.hasFailed ? 'error' : 'ok'] })),
    arrived: counted.ok + counted.error,
  };
}

const worlds: readonly (Traffic & { readonly world: string })[] = [
  { world: '200 sessions, all sampled', sessions: 200, failing: 0.05, rate: 1 },
  { world: '3,000 sessions, all sampled', sessions: 3000, failing: 0.02, rate: 1 },
  { world: '2,000 sessions, a tenth sampled', sessions: 2000, failing: 0.05, rate: 0.1 },
  { world: '1,000 sessions, half sampled, a fifth of queries fail', sessions: 1000, failing: 0.2, rate: 0.5 },
];

type Estimand = (window: Window) => ReturnType<Cell['draw']>;

const shares: readonly (readonly [string, Estimand, (window: Window) => number])[] = [
  [
    'share that failed',
    ({ kept }) => boundsOf(queryRate(kept, ({ hasFailed }) => hasFailed)),
    valueOf((all) => queryRate(all, ({ hasFailed }) => hasFailed)),
  ],
  [
    'click-through ratio',
    ({ kept }) => boundsOf(clickThroughRate(kept, SHOWN)),
    valueOf((all) => clickThroughRate(all, SHOWN)),
  ],
  ['share of queries with a click', ({ kept }) => boundsOf(clickedQueryRate(kept)), valueOf(clickedQueryRate)],
  ['reciprocal rank of the click', ({ kept }) => boundsOf(clickedReciprocalRank(kept)), valueOf(clickedReciprocalRank)],
];

function valueOf(rate: (queries: readonly Query[]) => object & { readonly kind: string }): (window: Window) => number {
  return ({ kept }) => {
    const outcome = rate(kept);
    if (!('value' in outcome)) throw new Error('a large window has a value');
    return Number(outcome.value);
  };
}

function shareCells(random: RandomNumbers, many: number): Cell[] {
  return worlds.flatMap(({ world, ...traffic }) => {
    const large = draw({ ...traffic, sessions: many, rate: 1 }, random);
    return shares.map(([bound, estimand, truth]) => ({
      bound: `live ${bound} (sessions)`,
      world,
      truth: truth(large),
      draw: (drawn: RandomNumbers) => estimand(draw(traffic, drawn)),
    }));
  });
}

/**
 * Scenarios for the ratio of clicks to expected clicks. Each sample takes the expected clicks from a separate baseline
 * with the same kind of traffic, so the true ratio is 1.
 */
function coecCells(): Cell[] {
  return worlds.slice(0, 3).map(({ world, ...traffic }) => ({
    bound: 'clicks over expected clicks (gamma)',
    world,
    truth: 1,
    draw(random: RandomNumbers) {
      const reference = baselineCtr(draw({ ...traffic, sessions: 3 * traffic.sessions }, random).kept);
      if (reference.kind !== 'baseline') return null;
      return boundsOf(clicksOverExpectedClicks(draw(traffic, random).kept, reference));
    },
  }));
}

function volumeCells(): Cell[] {
  return worlds.slice(2).map(({ world, ...traffic }) => ({
    bound: 'number of live queries (Horvitz and Thompson)',
    world,
    truth: null,
    draw(random: RandomNumbers) {
      const { kept, arrived } = draw(traffic, random);
      const members = kept.map(({ cluster, probability }) => ({ cluster, probability, value: 1 }));
      const bounds = boundsOf(horvitzThompsonTotal(members, { isComplete: false }));
      return bounds === null ? null : { ...bounds, truth: arrived };
    },
  }));
}

function opinionCells(): Cell[] {
  return [0.5, 0.8, 0.95].flatMap((rate) =>
    [30, 100, 1000].map((n) => ({
      bound: 'share of positive feedback (Wilson)',
      world: `share ${rate} of ${n} ratings from ${n} users`,
      truth: rate,
      draw({ uniform }: RandomNumbers) {
        const positive = Array.from({ length: n }, uniform).filter((u) => u < rate).length;
        return boundsOf(positiveRatio({ positive, negative: n - positive }));
      },
    })),
  );
}

/** @param many number of sessions in the large window from which the true values are computed */
export function liveWorlds(random: RandomNumbers, many: number): readonly Cell[] {
  return [...shareCells(random, many), ...coecCells(), ...volumeCells(), ...opinionCells()];
}
