/** Samples fully known populations many times and compares the estimates with the true values. */
import { describe, expect, it } from 'vitest';
import { type ClickRateOutcome, queryRate } from '../../../../../src/live/rules/feedback/click-rates.ts';
import { decide, type SamplingTraits } from '../../../../../src/live/rules/sampling/decision.ts';
import {
  type EstimateOutcome,
  horvitzThompsonTotal,
  type SampledValue,
} from '../../../../../src/live/rules/sampling/estimate.ts';
import { moments } from '../../../../../src/math/stats/descriptive.ts';
import { uniforms } from '../../../../support/uniforms.ts';
import { aPolicy, aQuery } from './builders.ts';

interface Member {
  readonly session: number;
  /** Sampling probability of the session, without the upstream sampling. */
  readonly local: number;
  readonly upstream: number;
  readonly probability: number;
  readonly value: number;
  readonly isBad: number;
}

const policy = aPolicy({
  rate: 0.2,
  segments: { 'tenant=big': 0.1, 'tenant=vip': 0.6 },
  always_keep: ['error', 'zero_results'],
});

/**
 * Returns sessions of 1 to 8 correlated queries. Sampling rates differ between tenants; all failed queries are sampled.
 */
function population(seed: number, sessions: number, upstreamOf: (session: number) => number): Member[] {
  const uniform = uniforms(seed);
  const members: Member[] = [];
  for (let session = 0; session < sessions; session++) {
    const tenant = ['big', 'vip', 'other'][session % 3] ?? 'other';
    const count = 1 + Math.floor(uniform() ** 2 * 8);
    // Tenants have different mean values, so that an unweighted mean is wrong.
    const level = { big: 0.3, vip: 0.8, other: 0.5 }[tenant] ?? 0;
    const mood = level + 0.3 * (uniform() - 0.5);
    for (let i = 0; i < count; i++) {
      const isFailure = uniform() < 0.05;
      const query: SamplingTraits = aQuery({
        segments: { tenant },
        outcome: isFailure ? 'error' : 'ok',
        upstreamProbability: upstreamOf(session),
      });
      const probability = decide(query, policy, 0).probability;
      const value = isFailure ? 0 : mood + 0.2 * (uniform() - 0.5);
      members.push({
        session,
        local: probability / query.upstreamProbability,
        upstream: query.upstreamProbability,
        probability,
        value,
        isBad: value < 0.35 ? 1 : 0,
      });
    }
  }
  return members;
}

type Upstream = 'none' | 'by session' | 'by query';

/**
 * Returns the indices of the members in one simulated sample. The simulation draws one random number per session for
 * the local decision, and an independent number per session or per query for the upstream decision.
 */
function draw(members: readonly Member[], uniform: () => number, upstream: Upstream): number[] {
  const kept: number[] = [];
  let session = -1;
  let local = 0;
  let above = 0;
  for (const [index, member] of members.entries()) {
    if (member.session !== session) {
      session = member.session;
      local = uniform();
      above = uniform();
    }
    if (upstream === 'by query') above = uniform();
    if (local < member.local && above < member.upstream) kept.push(index);
  }
  return kept;
}

/** A quantity of the population, and how to estimate it from a sample. */
interface Estimand {
  readonly name: string;
  readonly truth: (all: readonly Member[]) => number;
  /**
   * Prepares a population, and returns a function that estimates the quantity from the sampled members, given by index.
   */
  readonly estimator: (all: readonly Member[]) => (kept: readonly number[]) => EstimateOutcome | ClickRateOutcome;
}

const sampled = { isComplete: false };

function pick<T>(all: readonly T[], indices: readonly number[]): T[] {
  const picked: T[] = [];
  for (const index of indices) {
    const member = all[index];
    if (member !== undefined) picked.push(member);
  }
  return picked;
}

function ofValues(
  value: (member: Member) => number,
  estimate: (samples: readonly SampledValue[], window: typeof sampled) => EstimateOutcome,
): Estimand['estimator'] {
  return (all) => {
    const samples = all.map((m) => ({ cluster: m.session, probability: m.probability, value: value(m) }));
    return (kept) => estimate(pick(samples, kept), sampled);
  };
}

const estimands: readonly Estimand[] = [
  {
    name: 'total',
    truth: (all) => sum(all, (m) => m.value),
    estimator: ofValues((m) => m.value, horvitzThompsonTotal),
  },
  {
    name: 'number of queries',
    truth: (all) => all.length,
    estimator: ofValues(() => 1, horvitzThompsonTotal),
  },
  {
    name: 'share of bad queries',
    truth: (all) => sum(all, (m) => m.isBad) / all.length,
    estimator: (all) => {
      const samples = all.map((m) => ({ cluster: m.session, probability: m.probability, isBad: m.isBad === 1 }));
      return (kept) => queryRate(pick(samples, kept), ({ isBad }) => isBad);
    },
  },
];

function sum(members: readonly Member[], of: (member: Member) => number): number {
  return members.reduce((total, member) => total + of(member), 0);
}

interface Tally {
  /** Share of samples whose interval contains the true value. */
  readonly coverage: number;
  /** Mean error divided by the standard deviation of the error. */
  readonly bias: number;
  /** Mean error divided by its standard error; by chance alone, rarely above 4 or below -4. */
  readonly biasZ: number;
}

/**
 * Draws many samples from several populations, and returns a tally for each estimand. All estimands use the same
 * samples, and each tally covers all populations, which reduces the influence of chance.
 */
function simulate(options: {
  sessions: number;
  replications: number;
  upstream: Upstream;
  upstreamOf: (session: number) => number;
  /** Returns the member with the values that the estimators get; by default, its true values. */
  seen?: (member: Member) => Member;
}): Map<string, Tally> {
  const runs = estimands.map((estimand) => ({ ...estimand, covered: 0, errors: [] as number[] }));
  for (const seed of populationSeeds) {
    const members = population(seed, options.sessions, options.upstreamOf);
    const uniform = uniforms(seed + 1);
    const samples = Array.from({ length: options.replications }, () => draw(members, uniform, options.upstream));
    for (const run of runs) {
      const target = run.truth(members);
      const estimate = run.estimator(options.seen === undefined ? members : members.map(options.seen));
      for (const kept of samples) {
        const outcome = estimate(kept);
        if (outcome.kind === 'insufficient_data') throw new Error('A draw had too few samples.');
        run.errors.push(outcome.value - target);
        if (outcome.low <= target && target <= outcome.high) run.covered++;
      }
    }
  }
  return new Map(
    runs.map(({ name, covered, errors }) => {
      const { mean, standardDeviation } = moments(errors);
      const bias = mean / standardDeviation;
      return [name, { coverage: covered / errors.length, bias, biasZ: bias * Math.sqrt(errors.length) }];
    }),
  );
}

const populationSeeds = [1, 3, 5, 7];

/**
 * Returns the names of estimates whose error is larger than chance can explain. Totals are unbiased. The bias of a
 * ratio is of the order 1 / sessions, which is small relative to the standard deviation of the ratio.
 */
function biased(tallies: ReadonlyMap<string, Tally>): string[] {
  const totals = new Set(['total', 'number of queries']);
  return namesOf(tallies, ({ bias, biasZ }, name) => Math.abs(bias) > 0.2 || (totals.has(name) && Math.abs(biasZ) > 4));
}

function namesOf(tallies: ReadonlyMap<string, Tally>, isMeant: (tally: Tally, name: string) => boolean): string[] {
  return [...tallies].filter(([name, tally]) => isMeant(tally, name)).map(([name]) => name);
}

/**
 * The interval of a share estimates the share in all of the service's traffic, of which the window is only a sample.
 * The interval therefore contains the window's share in more than 95 % of cases.
 */
function hasNominalCoverage({ coverage }: Tally, name: string): boolean {
  return coverage > 0.93 && (coverage < 0.97 || name === 'share of bad queries');
}

describe('estimates over samples', { timeout: 30_000 }, () => {
  const every = estimands.map(({ name }) => name);

  it('have intervals that contain the true value in 95 % of samples, with unequal rates and all failures sampled', () => {
    const tallies = simulate({ sessions: 500, replications: 200, upstream: 'none', upstreamOf: () => 1 });
    expect(biased(tallies)).toEqual([]);
    expect(namesOf(tallies, hasNominalCoverage)).toEqual(every);
  });

  it('have 95 % coverage if half of the sessions are subject to upstream sampling', () => {
    const tallies = simulate({
      sessions: 500,
      replications: 100,
      upstream: 'by session',
      upstreamOf: (session) => (session % 2 === 0 ? 0.5 : 1),
    });
    expect(biased(tallies)).toEqual([]);
    expect(namesOf(tallies, hasNominalCoverage)).toEqual(every);
  });

  it('have at least 93 % coverage if queries are sampled upstream one by one', () => {
    const tallies = simulate({
      sessions: 500,
      replications: 100,
      upstream: 'by query',
      upstreamOf: () => 0.5,
    });
    expect(biased(tallies)).toEqual([]);
    expect(namesOf(tallies, ({ coverage }) => coverage > 0.93)).toEqual(every);
  });

  it('are wrong with equal weights, which proves that these tests depend on the weights', () => {
    const tallies = simulate({
      sessions: 500,
      replications: 20,
      upstream: 'none',
      upstreamOf: () => 1,
      seen: (member) => ({ ...member, probability: 0.2 }),
    });
    expect(biased(tallies)).toContain('share of bad queries');
    expect(namesOf(tallies, ({ coverage }) => coverage < 0.7)).toContain('share of bad queries');
  });
});

describe('estimates from samples that the real hash selects', () => {
  it('have intervals that contain the true share with the nominal probability', () => {
    const replications = 400;
    const sessions = 120;
    const members = population(7, sessions, () => 1);
    const target = members.reduce((sum, m) => sum + m.isBad, 0) / members.length;
    let covered = 0;
    for (let replication = 0; replication < replications; replication++) {
      const kept = new Map<number, ReturnType<typeof decide>>();
      const samples = [];
      for (const member of members) {
        const query = aQuery({ sessionId: `${replication}-${member.session}` });
        const decision = kept.get(member.session) ?? decide(query, aPolicy({ rate: 0.4 }), 0);
        kept.set(member.session, decision);
        if (decision.isSampled)
          samples.push({ cluster: decision.hash, probability: decision.probability, isBad: member.isBad === 1 });
      }
      const outcome = queryRate(samples, ({ isBad }) => isBad);
      if (outcome.kind === 'rate' && outcome.low <= target && target <= outcome.high) covered++;
    }
    expect(covered / replications).toBeGreaterThan(0.92);
  });
});
