/** Draws many samples of populations that are fully known and holds the estimates against the truth. */
import { describe, expect, it } from 'vitest';
import { hajekProportion } from '../../../../src/core/sampling/bounded-mean.ts';
import { decide, inclusionProbability, type SamplingTraits } from '../../../../src/core/sampling/decision.ts';
import {
  type EstimateOutcome,
  hajekMean,
  hajekRatio,
  horvitzThompsonTotal,
} from '../../../../src/core/sampling/estimate.ts';
import { aPolicy, aQuery, uniforms } from './builders.ts';

interface Member {
  readonly session: number;
  /** Probability that the session's draw keeps it, without upstream. */
  readonly local: number;
  readonly upstream: number;
  readonly probability: number;
  readonly value: number;
  readonly isBad: number;
  /** 1 / queries of its session. */
  readonly share: number;
}

const policy = aPolicy({
  rates: { rate: 0.2, segments: { 'tenant=big': 0.1, 'tenant=vip': 0.6 } },
  alwaysKeep: [{ kind: 'error' }, { kind: 'zero_results' }],
});

/** Sessions of 1 to 8 queries whose values are alike, in tenants of unequal rates, with failures that are kept. */
function population(seed: number, sessions: number, upstreamOf: (session: number) => number): Member[] {
  const uniform = uniforms(seed);
  const members: Member[] = [];
  for (let session = 0; session < sessions; session++) {
    const tenant = ['big', 'vip', 'other'][session % 3] ?? 'other';
    const count = 1 + Math.floor(uniform() ** 2 * 8);
    // Tenants differ in level, so that an unweighted mean is wrong.
    const level = { big: 0.3, vip: 0.8, other: 0.5 }[tenant] ?? 0;
    const mood = level + 0.3 * (uniform() - 0.5);
    for (let i = 0; i < count; i++) {
      const isFailure = uniform() < 0.05;
      const query: SamplingTraits = aQuery({
        segments: { tenant },
        outcome: isFailure ? 'error' : 'ok',
        upstreamProbability: upstreamOf(session),
      });
      const probability = inclusionProbability(query, policy, 0);
      const value = isFailure ? 0 : mood + 0.2 * (uniform() - 0.5);
      members.push({
        session,
        local: probability / query.upstreamProbability,
        upstream: query.upstreamProbability,
        probability,
        value,
        isBad: value < 0.35 ? 1 : 0,
        share: 1 / count,
      });
    }
  }
  return members;
}

type Upstream = 'none' | 'by session' | 'by query';

/** One sample: a draw per session, and upstream a draw of its own per session or per query. */
function draw(members: readonly Member[], uniform: () => number, upstream: Upstream): Member[] {
  const kept: Member[] = [];
  let session = -1;
  let local = 0;
  let above = 0;
  for (const member of members) {
    if (member.session !== session) {
      session = member.session;
      local = uniform();
      above = uniform();
    }
    if (upstream === 'by query') above = uniform();
    if (local < member.local && above < member.upstream) kept.push(member);
  }
  return kept;
}

const estimands = [
  {
    name: 'total',
    truth: (all: readonly Member[]) => all.reduce((sum, m) => sum + m.value, 0),
    estimate: (kept: readonly Member[]) => horvitzThompsonTotal(kept.map(asSample), { isComplete: false }),
  },
  {
    name: 'number of queries',
    truth: (all: readonly Member[]) => all.length,
    estimate: (kept: readonly Member[]) =>
      horvitzThompsonTotal(
        kept.map((m) => ({ ...asSample(m), value: 1 })),
        { isComplete: false },
      ),
  },
  {
    name: 'mean over queries',
    truth: (all: readonly Member[]) => all.reduce((sum, m) => sum + m.value, 0) / all.length,
    estimate: (kept: readonly Member[]) => hajekMean(kept.map(asSample), { isComplete: false }),
  },
  {
    name: 'mean over sessions',
    truth: (all: readonly Member[]) =>
      all.reduce((sum, m) => sum + m.share * m.value, 0) / all.reduce((sum, m) => sum + m.share, 0),
    estimate: (kept: readonly Member[]) =>
      hajekRatio(
        kept.map((m) => ({ ...asSample(m), numerator: m.share * m.value, denominator: m.share })),
        { isComplete: false },
      ),
  },
  {
    name: 'share of bad queries',
    truth: (all: readonly Member[]) => all.filter((m) => m.isBad === 1).length / all.length,
    estimate: (kept: readonly Member[]) =>
      hajekProportion(
        kept.map((m) => ({ ...asSample(m), value: m.isBad })),
        { isComplete: false },
      ),
  },
];

function asSample({ session, probability, value }: Member) {
  return { cluster: session, probability, value };
}

interface Tally {
  readonly coverage: number;
  /** Mean error in units of its own standard error: beyond +-4 is bias. */
  readonly biasZ: number;
  readonly relativeBias: number;
}

function simulate(
  members: readonly Member[],
  { truth, estimate }: (typeof estimands)[number],
  options: { replications: number; seed: number; upstream: Upstream },
): Tally {
  const uniform = uniforms(options.seed);
  const target = truth(members);
  let covered = 0;
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < options.replications; i++) {
    const outcome: EstimateOutcome = estimate(draw(members, uniform, options.upstream));
    if (outcome.kind !== 'estimate') throw new Error('A replication had too few samples.');
    const error = outcome.value - target;
    sum += error;
    squares += error * error;
    if (outcome.low <= target && target <= outcome.high) covered++;
  }
  const n = options.replications;
  const bias = sum / n;
  return {
    coverage: covered / n,
    biasZ: bias / Math.sqrt((squares / n - bias * bias) / n),
    relativeBias: bias / target,
  };
}

describe.each(estimands)('the estimated $name over samples', (estimand) => {
  it('equals the truth within its bounds in 95 % of draws, with unequal rates and failures always kept', () => {
    const members = population(1, 500, () => 1);
    const tally = simulate(members, estimand, { replications: 1500, seed: 2, upstream: 'none' });
    expect(Math.abs(tally.biasZ)).toBeLessThan(4);
    expect(Math.abs(tally.relativeBias)).toBeLessThan(0.005);
    expect(tally.coverage).toBeGreaterThan(0.93);
    expect(tally.coverage).toBeLessThan(0.97);
  });

  it('also when whole sessions were sampled upstream', () => {
    const members = population(3, 700, (session) => (session % 2 === 0 ? 0.5 : 1));
    const tally = simulate(members, estimand, { replications: 1000, seed: 4, upstream: 'by session' });
    expect(Math.abs(tally.biasZ)).toBeLessThan(4);
    expect(tally.coverage).toBeGreaterThan(0.93);
    expect(tally.coverage).toBeLessThan(0.97);
  });

  it('and in no fewer when queries were sampled upstream one by one', () => {
    const members = population(5, 700, () => 0.5);
    const tally = simulate(members, estimand, { replications: 1000, seed: 6, upstream: 'by query' });
    expect(Math.abs(tally.biasZ)).toBeLessThan(4);
    expect(tally.coverage).toBeGreaterThan(0.93);
  });
});

describe('an unweighted mean of the same samples', () => {
  it('is wrong, so that the weights are what the tests above measure', () => {
    const members = population(1, 500, () => 1).map((m) => ({ ...m, probability: 0.2 }));
    const mean = estimands.find(({ name }) => name === 'mean over queries');
    if (mean === undefined) throw new Error('There is no such estimand.');
    const tally = simulate(members, mean, { replications: 300, seed: 2, upstream: 'none' });
    expect(Math.abs(tally.biasZ)).toBeGreaterThan(20);
    expect(tally.coverage).toBeLessThan(0.5);
  });
});

describe('estimates over decisions by the real hash', () => {
  it('cover the truth as often as they say', () => {
    const replications = 400;
    const sessions = 120;
    const members = population(7, sessions, () => 1);
    const target = members.reduce((sum, m) => sum + m.value, 0) / members.length;
    let covered = 0;
    for (let replication = 0; replication < replications; replication++) {
      const kept = new Map<number, ReturnType<typeof decide>>();
      const samples = [];
      for (const member of members) {
        const query = aQuery({ sessionId: `${replication}-${member.session}` });
        const decision =
          kept.get(member.session) ?? decide(query, aPolicy({ rates: { rate: 0.4, segments: {} } }), 0);
        kept.set(member.session, decision);
        if (decision.kept)
          samples.push({ cluster: decision.hash, probability: decision.probability, value: member.value });
      }
      const outcome = hajekMean(samples, { isComplete: false });
      if (outcome.kind === 'estimate' && outcome.low <= target && target <= outcome.high) covered++;
    }
    expect(covered / replications).toBeGreaterThan(0.92);
    expect(covered / replications).toBeLessThan(0.98);
  });
});
