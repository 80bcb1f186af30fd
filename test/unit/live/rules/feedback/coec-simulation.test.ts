/** Simulates users who click with known probabilities, so that the true values of the click measures are known. */
import { describe, expect, it } from 'vitest';
import { type ClickedQuery, clickThroughRate } from '../../../../../src/live/rules/feedback/click-rates.ts';
import {
  type BaselineCtr,
  baselineCtr,
  clicksOverExpectedClicks,
} from '../../../../../src/live/rules/feedback/clicks-over-expected-clicks.ts';
import { uniforms } from '../../../../support/uniforms.ts';

/** Probability of a click at ranks 1 to 10. */
const CHANCES = [0.3, 0.15, 0.1, 0.07, 0.05, 0.04, 0.03, 0.02, 0.015, 0.01];

interface Traffic {
  readonly sessions: number;
  /** Draws the number of documents shown for a query; always 10 by default. */
  readonly shown?: (uniform: () => number) => number;
  /** Factor by which the click probabilities `CHANCES` are multiplied. */
  readonly lift?: number;
  /** Returns the inclusion probability of queries by a satisfied (true) or dissatisfied (false) user; default: 1. */
  readonly keep?: (isContent: boolean) => number;
}

/**
 * Returns sessions of 1 to 5 queries; satisfied users click almost twice as often as usual, and dissatisfied users
 * rarely click.
 */
function traffic(uniform: () => number, { sessions, shown, lift = 1, keep }: Traffic): ClickedQuery[] {
  const queries: ClickedQuery[] = [];
  for (let cluster = 0; cluster < sessions; cluster++) {
    const draw = uniform();
    const isContent = uniform() < 0.5;
    const mood = isContent ? 1.8 : 0.2;
    const probability = keep?.(isContent) ?? 1;
    const count = 1 + Math.floor(uniform() * 5);
    for (let i = 0; i < count; i++) {
      const depth = shown?.(uniform) ?? 10;
      const clickedRanks: number[] = [];
      for (let rank = 1; rank <= depth; rank++) {
        if (uniform() < mood * lift * (CHANCES[rank - 1] ?? 0)) clickedRanks.push(rank);
      }
      if (draw < probability) queries.push({ cluster, probability, shown: depth, clickedRanks });
    }
  }
  return queries;
}

function referenceOf(uniform: () => number, base: Traffic): BaselineCtr {
  const reference = baselineCtr(traffic(uniform, base));
  if (reference.kind !== 'baseline') throw new Error('The baseline had too little data.');
  return reference;
}

const BASELINES = 15;
const WINDOWS = 20;

/**
 * Simulates windows, with a new baseline for every twenty windows. Returns the mean of COEC, the coverage of its
 * intervals, and the mean raw CTR.
 */
function simulate(seed: number, base: Traffic, window: Traffic) {
  const uniform = uniforms(seed);
  const truth = window.lift ?? 1;
  const values: number[] = [];
  let covered = 0;
  let raw = 0;
  for (let i = 0; i < BASELINES; i++) {
    const reference = referenceOf(uniform, base);
    for (let j = 0; j < WINDOWS; j++) {
      const queries = traffic(uniform, window);
      const coec = clicksOverExpectedClicks(queries, reference);
      const ctr = clickThroughRate(queries, 10);
      if (coec.kind !== 'coec' || ctr.kind !== 'rate') throw new Error('A window had too little data.');
      values.push(coec.value);
      raw += ctr.value;
      if (coec.low <= truth && truth <= coec.high) covered++;
    }
  }
  const n = values.length;
  return { mean: values.reduce((sum, value) => sum + value, 0) / n, coverage: covered / n, raw: raw / n };
}

/** Queries of satisfied users are sampled; those of dissatisfied users are always selected. */
const keep = (isContent: boolean): number => (isContent ? 0.25 : 1);
const fewShown = (): number => 3;
const anyShown = (uniform: () => number): number => 1 + Math.floor(uniform() * 10);

describe('clicks over expected clicks, by simulation', () => {
  it.each<[string, Traffic, Traffic]>([
    ['with the click rate of the baseline', { sessions: 600 }, { sessions: 150 }],
    ['with few sessions', { sessions: 600 }, { sessions: 15 }],
    ['with as many sessions as the baseline', { sessions: 200 }, { sessions: 200 }],
    ['with half the click rate', { sessions: 600 }, { sessions: 150, lift: 0.5 }],
    ['in which fewer documents are shown', { sessions: 600 }, { sessions: 150, shown: fewShown }],
    ['in which a varying number of documents is shown', { sessions: 1500, shown: anyShown }, { sessions: 150 }],
  ])('are unbiased, and their intervals contain the true value in 95 % of windows %s', (_what, base, window) => {
    const { mean, coverage } = simulate(11, base, window);
    // With 300 windows and 15 baselines, chance cannot explain results beyond these limits.
    expect(Math.abs(mean / (window.lift ?? 1) - 1)).toBeLessThan(0.03);
    expect(coverage).toBeGreaterThan(0.92);
    expect(coverage).toBeLessThan(0.98);
  });

  it('are unbiased in a sample with too many dissatisfied users', () => {
    const { mean, coverage } = simulate(12, { sessions: 800, keep }, { sessions: 200, keep });
    expect(Math.abs(mean - 1)).toBeLessThan(0.03);
    expect(coverage).toBeGreaterThan(0.92);
    expect(coverage).toBeLessThan(0.98);
    // Without weights, a window sampled this way looks worse than a fully sampled baseline.
    const uniform = uniforms(13);
    const reference = referenceOf(uniform, { sessions: 1500 });
    const sampled = traffic(uniform, { sessions: 1500, keep });
    const unweighted = sampled.map((query) => ({ ...query, probability: 1 }));
    expect(clicksOverExpectedClicks(sampled, reference)).toMatchObject({ value: expect.closeTo(1, 0) });
    const biased = clicksOverExpectedClicks(unweighted, reference);
    expect(biased.kind === 'coec' && biased.high).toBeLessThan(0.8);
  });

  it('depend on how often users click, but, unlike the raw CTR, not on how many documents are shown', () => {
    const ten = simulate(14, { sessions: 600 }, { sessions: 100 });
    const three = simulate(14, { sessions: 600 }, { sessions: 100, shown: fewShown });
    const less = simulate(14, { sessions: 600 }, { sessions: 100, lift: 0.7 });
    expect(Math.abs(three.mean / ten.mean - 1)).toBeLessThan(0.03);
    expect(three.raw / ten.raw).toBeGreaterThan(2);
    expect(Math.abs(less.mean / ten.mean - 0.7)).toBeLessThan(0.03);
  });

  it('are reproducible', () => {
    const twice = [1, 2].map(() => {
      const uniform = uniforms(16);
      const reference = referenceOf(uniform, { sessions: 300 });
      return clicksOverExpectedClicks(traffic(uniform, { sessions: 50 }), reference);
    });
    expect(twice[0]).toEqual(twice[1]);
  });
});
