import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { samplingHash, samplingUnit } from '../../../../../src/live/rules/sampling/decision.ts';

describe('the sampling unit', () => {
  it.each([
    ['its session when it has one', { id: 'q', sessionId: 's', traceId: 't' }, { kind: 'session', id: 's' }],
    ['its trace without a session', { id: 'q', sessionId: null, traceId: 't' }, { kind: 'trace', id: 't' }],
    ['itself with neither', { id: 'q', sessionId: null, traceId: null }, { kind: 'query', id: 'q' }],
    [
      'its trace when the session is blank',
      { id: 'q', sessionId: ' ', traceId: 't' },
      { kind: 'trace', id: 't' },
    ],
    ['itself when both are blank', { id: 'q', sessionId: '', traceId: '\t' }, { kind: 'query', id: 'q' }],
  ] as const)('of a query is %s', (_name, query, unit) => {
    expect(samplingUnit(query)).toEqual(unit);
  });
});

describe('the sampling hash', () => {
  it('is the first 53 bits of SHA-256, so that another implementation agrees', () => {
    const digest = createHash('sha256')
      .update('["recalld/sampling/v1","support-docs","session","s1"]')
      .digest();
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

  it('keeps kinds, pipelines and their borders apart', () => {
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

  it('is uniform over session ids that differ little', () => {
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
