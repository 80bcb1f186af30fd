import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decide,
  rateFor,
  sampleArrival,
  samplingHash,
  samplingUnit,
} from '../../../../../src/live/rules/sampling/decision.ts';
import { closeSample } from '../../../../support/sampling-oracle.ts';
import { aPolicy, aQuery } from './builders.ts';

const rates = { rate: 0.1, segments: { 'tenant=acme': 0.5, 'language=de': 0.01, 'tenant=quiet': 0 } };

describe('the rate of a query', () => {
  it.each([
    ['the rate of the pipeline without segments', {}, 0.1],
    ['the rate of the pipeline when no entry matches', { tenant: 'other', language: 'en' }, 0.1],
    ['the rate of a segment above that of the pipeline', { tenant: 'acme' }, 0.5],
    ['the rate of a segment below that of the pipeline', { language: 'de' }, 0.01],
    ['the largest of several that match', { language: 'de', tenant: 'acme' }, 0.5],
    ['the largest of several in any order', { tenant: 'acme', language: 'de' }, 0.5],
    ['zero when its only segment is switched off', { tenant: 'quiet' }, 0],
  ])('is %s', (_name, segments, expected) => {
    expect(rateFor(segments, rates)).toBe(expected);
  });
});

const everyRule = {
  always_keep: ['error', 'zero_results', 'negative_feedback'],
  low_similarity_below: 0.4,
} as const;

const sessionId = fc.string({ minLength: 1 });
const rate = fc.integer({ min: 0, max: 1000 }).map((perMille) => perMille / 1000);
const level = fc.integer({ min: 0, max: 4 });

function withRate(value: number) {
  return aPolicy({ rate: value });
}

describe('the decision on a live query', () => {
  it.each([
    ['a failed retrieval', { outcome: 'error' }, 'error'],
    ['a retrieval that timed out', { outcome: 'timeout' }, 'error'],
    ['a result without documents', { outcome: 'empty' }, 'zero_results'],
    ['a query that a user disliked', { hasNegativeFeedback: true }, 'negative_feedback'],
    ['a query whose best document is dissimilar', { similarity: 0.39 }, 'low_similarity'],
    ['a query that matches two rules, for the first of them,', { outcome: 'error', similarity: 0 }, 'error'],
  ] as const)('samples %s with probability 1 at any rate and level', (_name, traits, reason) => {
    const policy = aPolicy({ rate: 0, ...everyRule });
    expect(decide(aQuery(traits), policy, 20)).toMatchObject({ isSampled: true, probability: 1, reason });
  });

  it.each([
    ['an ordinary result', {}],
    ['a similarity at the threshold', { similarity: 0.4 }],
    ['a similarity that is unknown', { similarity: null }],
  ])('leaves %s to the rate', (_name, traits) => {
    const policy = aPolicy({ rate: 0, ...everyRule });
    const decision = decide(aQuery(traits), policy, 0);
    expect(decision).toMatchObject({ isSampled: false, probability: 0, reason: 'not_sampled' });
  });

  it('does not sample an error without a rule', () => {
    expect(decide(aQuery({ outcome: 'error' }), withRate(0), 0).isSampled).toBe(false);
  });

  it('multiplies the probability by that of upstream sampling, even for rules', () => {
    const policy = aPolicy({ rate: 0.5, ...everyRule });
    const ordinary = aQuery({ upstreamProbability: 0.1 });
    expect(decide(ordinary, policy, 1).probability).toBeCloseTo(0.025, 15);
    expect(decide({ ...ordinary, outcome: 'empty' }, policy, 1).probability).toBe(0.1);
  });

  it('selects the same queries whatever the upstream sampling', () => {
    const kept = (upstreamProbability: number) =>
      Array.from({ length: 100 }, (_, i) => aQuery({ sessionId: `s${i}`, upstreamProbability }))
        .filter((query) => decide(query, withRate(0.5), 0).isSampled)
        .map(({ sessionId }) => sessionId);
    expect(kept(0.1)).toEqual(kept(1));
    expect(kept(1).length).toBeGreaterThan(20);
  });

  it('gives a query that matches a rule only later the same probability', () => {
    const policy = aPolicy(everyRule);
    const atOnce = decide(aQuery({ hasNegativeFeedback: true }), policy, 3);
    const before = decide(aQuery(), policy, 3);
    const after = decide({ ...aQuery(), hasNegativeFeedback: true }, policy, 3);
    expect(after).toEqual(atOnce);
    expect([before.hash, before.rateProbability]).toEqual([atOnce.hash, atOnce.rateProbability]);
  });

  it('samples all at rate 1 and none at rate 0', () => {
    fc.assert(
      fc.property(sessionId, (id) => {
        expect(decide(aQuery({ sessionId: id }), withRate(1), 0)).toMatchObject({
          isSampled: true,
          probability: 1,
        });
        expect(decide(aQuery({ sessionId: id }), withRate(0), 0)).toMatchObject({
          isSampled: false,
          probability: 0,
        });
      }),
    );
  });

  it('samples a session as a whole or not at all', () => {
    fc.assert(
      fc.property(sessionId, fc.array(fc.string(), { minLength: 2 }), rate, level, (id, queries, p, l) => {
        const kept = queries.map((query) => decide(aQuery({ id: query, sessionId: id }), withRate(p), l).isSampled);
        expect(new Set(kept).size).toBe(1);
      }),
    );
  });

  it('never drops a session when its rate rises or its level drops', () => {
    fc.assert(
      fc.property(sessionId, rate, rate, level, level, (id, r1, r2, l1, l2) => {
        const query = aQuery({ sessionId: id });
        const low = decide(query, withRate(Math.min(r1, r2)), Math.max(l1, l2));
        const high = decide(query, withRate(Math.max(r1, r2)), Math.min(l1, l2));
        expect(low.isSampled && !high.isSampled).toBe(false);
      }),
    );
  });
});

describe('closing a minute', () => {
  it('gives every sample the decision of the closing level, in one step or two', () => {
    fc.assert(
      fc.property(
        sessionId,
        rate,
        fc.tuple(level, level, level).map((levels) => levels.toSorted((a, b) => a - b)),
        fc.constantFrom('ok', 'empty'),
        (id, p, [taken = 0, half = 0, closing = 0], outcome) => {
          const policy = aPolicy({ rate: p, ...everyRule });
          const query = aQuery({ sessionId: id, outcome, upstreamProbability: 0.3 });
          const direct = decide(query, policy, closing);
          const sample = decide(query, policy, taken);
          const halfway = closeSample(sample, taken, half);
          const inOneStep = sample.isSampled ? closeSample(sample, taken, closing) : { ...direct, isSampled: false };
          const inTwoSteps = halfway.isSampled ? closeSample(halfway, half, closing) : { ...direct, isSampled: false };
          expect(inOneStep).toEqual(direct);
          expect(inTwoSteps).toEqual(direct);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('a query as it arrives', () => {
  it('counts towards the cap by its rate', () => {
    const { load, decision } = sampleArrival(aQuery(), withRate(0.25), null, 7);
    expect(load).toEqual({ minute: 7, expected: 0.25, level: 0 });
    expect(decision).toEqual(decide(aQuery(), withRate(0.25), 0));
  });

  it('does not count if a rule selects it, so that an outage does not change the rate of other queries', () => {
    const policy = aPolicy({ ...everyRule, budget: 1 });
    const { load } = sampleArrival(aQuery({ outcome: 'error' }), policy, null, 7);
    expect(load).toEqual({ minute: 7, expected: 0, level: 0 });
  });

  it('is decided at the level that it causes', () => {
    const policy = aPolicy({ rate: 1, budget: 1 });
    const { load, decision } = sampleArrival(aQuery(), policy, { minute: 7, expected: 1, level: 0 }, 7);
    expect(load.level).toBe(1);
    expect(decision.probability).toBe(0.5);
  });
});

describe('the sampling unit', () => {
  it.each([
    [
      'its session when it has one',
      { id: 'q', sessionId: 's', episode: null, traceId: 't' },
      { kind: 'session', id: 's' },
    ],
    [
      'its trace without a session',
      { id: 'q', sessionId: null, episode: null, traceId: 't' },
      { kind: 'trace', id: 't' },
    ],
    [
      'itself without a session or trace',
      { id: 'q', sessionId: null, episode: null, traceId: null },
      { kind: 'query', id: 'q' },
    ],
    [
      'its trace when the session is blank',
      { id: 'q', sessionId: ' ', episode: null, traceId: 't' },
      { kind: 'trace', id: 't' },
    ],
    [
      'itself when the session and the trace are blank',
      { id: 'q', sessionId: '', episode: null, traceId: '\t' },
      { kind: 'query', id: 'q' },
    ],
    [
      'its episode without a session',
      { id: 'q', sessionId: null, episode: { id: 'e' }, traceId: 't' },
      { kind: 'episode', id: 'e' },
    ],
    [
      'its session rather than its episode',
      { id: 'q', sessionId: 's', episode: { id: 'e' }, traceId: null },
      { kind: 'session', id: 's' },
    ],
    [
      'its trace when the episode was derived from a span of the trace',
      { id: 'q', sessionId: null, episode: { id: 't-7' }, traceId: 't' },
      { kind: 'trace', id: 't' },
    ],
    [
      'itself when the episode is blank',
      { id: 'q', sessionId: null, episode: { id: ' ' }, traceId: null },
      { kind: 'query', id: 'q' },
    ],
  ] as const)('of a query is %s', (_name, query, unit) => {
    expect(samplingUnit(query)).toEqual(unit);
  });
});

describe('the sampling hash', () => {
  it('is the first 53 bits of SHA-256, so that other implementations can reproduce it', () => {
    const digest = createHash('sha256').update('["recalld/sampling/v1","support-docs","session","s1"]').digest();
    const expected = Number(digest.readBigUInt64BE(0) >> 11n) / 2 ** 53;
    expect(samplingHash('support-docs', { kind: 'session', id: 's1' })).toBe(expected);
  });

  it('never changes between releases, because stored samples rely on it', () => {
    expect(samplingHash('support-docs', { kind: 'session', id: 's1' })).toBe(0.5699971261734761);
  });

  it('lies in [0, 1) for any ids and is the same each time', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (pipeline, id) => {
        const hash = samplingHash(pipeline, { kind: 'trace', id });
        expect(hash).toBeGreaterThanOrEqual(0);
        expect(hash).toBeLessThan(1);
        expect(samplingHash(pipeline, { kind: 'trace', id })).toBe(hash);
      }),
    );
  });

  it('distinguishes kinds, pipelines and their boundaries', () => {
    const hashes = [
      samplingHash('p', { kind: 'session', id: '7' }),
      samplingHash('p', { kind: 'trace', id: '7' }),
      samplingHash('p', { kind: 'query', id: '7' }),
      samplingHash('r', { kind: 'session', id: '7' }),
      samplingHash('p","session', { kind: 'session', id: '7' }),
      samplingHash('p', { kind: 'session', id: 'session","7' }),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it('is uniform over similar session ids', () => {
    const counts = Array.from({ length: 20 }, () => 0);
    const n = 20_000;
    for (let i = 0; i < n; i++) {
      const cell = Math.floor(samplingHash('p', { kind: 'session', id: `user-${i}` }) * 20);
      counts[cell] = (counts[cell] ?? 0) + 1;
    }
    const chiSquare = counts.reduce((sum, count) => sum + (count - n / 20) ** 2 / (n / 20), 0);
    // The 99.9 % point of chi-square with 19 degrees of freedom.
    expect(chiSquare).toBeLessThan(43.82);
  });
});
