/**
 * Simulates minutes of traffic on several replicas under the cap, and compares the samples with the guarantees of the
 * sampling.
 */
import { describe, expect, it } from 'vitest';
import {
  type MinuteLoad,
  type SamplingDecision,
  type SamplingTraits,
  sampleArrival,
} from '../../../../../src/live/rules/sampling/decision.ts';
import { horvitzThompsonTotal } from '../../../../../src/live/rules/sampling/estimate.ts';
import { moments } from '../../../../../src/math/stats/descriptive.ts';
import { closeSample, closingLevel } from '../../../../support/sampling-oracle.ts';
import { uniforms } from '../../../../support/uniforms.ts';
import { aPolicy, aQuery } from './builders.ts';

interface Arrival {
  readonly query: SamplingTraits;
  readonly minute: number;
  /** Position among the arrivals of its minute, in [0, 1). */
  readonly position: number;
  readonly atArrival: SamplingDecision;
  readonly atClosing: SamplingDecision;
}

const CAP = 60;
const REPLICAS = 3;
const policy = aPolicy({
  rate: 0.5,
  segments: { 'tenant=vip': 1 },
  always_keep: ['zero_results'],
  budget: CAP / REPLICAS,
});

/** Queries per minute: a cold start with a burst, low traffic, growing traffic, a gap, and very few queries. */
const traffic = [800, 300, 120, 400, 900, 0, 40];

/** Returns the same queries in every replication, except for the session ids and their random numbers. */
function replicate(replication: number): Arrival[] {
  const uniform = uniforms(99);
  const loads = new Map<number, MinuteLoad>();
  return traffic.flatMap((count, minute) => {
    const taken = Array.from({ length: count }, (_, i) => {
      const session = Math.floor((uniform() * count) / 3);
      const query = aQuery({
        id: `${minute}-${i}`,
        sessionId: `${replication}-${minute}-${session}`,
        segments: session % 4 === 0 ? { tenant: 'vip' } : {},
        outcome: uniform() < 0.02 ? 'empty' : 'ok',
      });
      const replica = Math.floor(uniform() * REPLICAS);
      const { decision, load } = sampleArrival(query, policy, loads.get(replica) ?? null, minute);
      loads.set(replica, load);
      return { query, minute, position: i / count, atArrival: decision, level: load.level };
    });
    const closing = closingLevel([...loads.values()].filter((load) => load.minute === minute));
    return taken.map((arrival) => ({
      ...arrival,
      atClosing: closeSample(arrival.atArrival, arrival.level, closing),
    }));
  });
}

const REPLICATIONS = 60;
const replications = Array.from({ length: REPLICATIONS }, (_, i) => replicate(i));

function isOrdinary({ query }: Arrival): boolean {
  return query.outcome === 'ok';
}

/** Mean over replications with its standard error. */
function average(of: (arrivals: readonly Arrival[]) => number): { mean: number; error: number } {
  const { mean, standardDeviation } = moments(replications.map(of));
  return { mean, error: standardDeviation / Math.sqrt(REPLICATIONS) };
}

function estimatedQueries(arrivals: readonly Arrival[], at: 'atArrival' | 'atClosing'): number {
  const samples = arrivals
    .map((arrival) => arrival[at])
    .filter((decision) => decision.isSampled)
    .map(({ hash, probability }) => ({ cluster: hash, probability, value: 1 }));
  const outcome = horvitzThompsonTotal(samples, { isComplete: false });
  if (outcome.kind !== 'estimate') throw new Error('A replication had too few samples.');
  return outcome.value;
}

/** Mean position of the sampled ordinary queries within the first minute. */
function positionOfSampled(at: 'atArrival' | 'atClosing') {
  return average((arrivals) => {
    const kept = arrivals.filter((a) => a.minute === 0 && isOrdinary(a) && a[at].isSampled);
    return kept.reduce((sum, { position }) => sum + position, 0) / kept.length;
  });
}

describe('minutes under the cap', () => {
  it.each(['atArrival', 'atClosing'] as const)(
    'yield an unbiased estimate of the number of queries from the probabilities %s',
    (at) => {
      const { mean, error } = average((arrivals) => estimatedQueries(arrivals, at));
      const truth = traffic.reduce((sum, count) => sum + count, 0);
      expect(Math.abs(mean - truth)).toBeLessThan(4 * error);
      expect(error / truth).toBeLessThan(0.03);
    },
  );

  it('have at most the cap of samples on average after closing, even in bursts and cold starts', () => {
    for (const minute of traffic.keys()) {
      const { mean, error } = average(
        (arrivals) => arrivals.filter((a) => a.minute === minute && isOrdinary(a) && a.atClosing.isSampled).length,
      );
      expect(mean, `minute ${minute}`).toBeLessThan(CAP + 4 * error);
    }
  });

  it('have one probability for all queries of the same rate after closing, on every replica', () => {
    const arrivals = replicate(0).filter(isOrdinary);
    for (const minute of traffic.keys()) {
      const ofMinute = arrivals.filter((a) => a.minute === minute && a.query.segments['tenant'] === undefined);
      const probabilities = new Set(ofMinute.map(({ atClosing }) => atClosing.rateProbability));
      expect(probabilities.size, `minute ${minute}`).toBe(ofMinute.length === 0 ? 0 : 1);
    }
  });

  it('favor early queries only before closing', () => {
    const closed = positionOfSampled('atClosing');
    expect(Math.abs(closed.mean - 0.5)).toBeLessThan(4 * closed.error);
    expect(positionOfSampled('atArrival').mean).toBeLessThan(0.4);
  });

  it('sample sessions as a whole after closing, across all replicas', () => {
    const sessions = new Map<string, Set<boolean>>();
    for (const arrivals of replications.slice(0, 5)) {
      for (const { query, atClosing } of arrivals.filter(isOrdinary)) {
        const session = query.sessionId ?? '';
        sessions.set(session, (sessions.get(session) ?? new Set()).add(atClosing.isSampled));
      }
    }
    expect(sessions.size).toBeGreaterThan(1000);
    expect([...sessions.values()].filter((kept) => kept.size > 1)).toEqual([]);
  });

  it('sample every query without results, even in the worst minute', () => {
    const empty = replications.flat().filter(({ query }) => query.outcome === 'empty');
    expect(empty.length).toBeGreaterThan(100);
    expect(empty.every(({ atClosing }) => atClosing.isSampled && atClosing.probability === 1)).toBe(true);
  });
});
