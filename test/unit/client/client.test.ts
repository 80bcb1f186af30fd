import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isSampled } from '../../../src/client/client.ts';

const keys = Array.from({ length: 20_000 }, (_, i) => `session-${i}`);

it.each([0.01, 0.1, 0.5, 0.9])('sampling keeps a share of %d of the keys', (rate) => {
  const share = keys.filter((key) => isSampled(key, rate)).length / keys.length;
  // The maximum difference is five standard deviations of a binomial share.
  expect(Math.abs(share - rate)).toBeLessThan(5 * Math.sqrt((rate * (1 - rate)) / keys.length));
});

const rate = fc.double({ min: 0, max: 1, noNaN: true });

it('sampling keeps a sampled key at every higher rate', () => {
  fc.assert(
    fc.property(fc.string(), rate, rate, (key, a, b) => {
      const atRates = [Math.min(a, b), Math.max(a, b)].map((each) => isSampled(key, each));
      expect(atRates).not.toEqual([true, false]);
    }),
  );
});

it('sampling keeps every key at rate 1 and none at rate 0', () => {
  fc.assert(
    fc.property(fc.string(), (key) => {
      expect([isSampled(key, 1), isSampled(key, 0)]).toEqual([true, false]);
    }),
  );
});

const sha256Fraction = (key: string) => createHash('sha256').update(key).digest().readUInt32BE(0) / 2 ** 32;

it('sampling is independent of a sampler that uses SHA-256, so that the two shares multiply', () => {
  const both = keys.filter((key) => isSampled(key, 0.5) && sha256Fraction(key) < 0.5).length / keys.length;
  expect(Math.abs(both - 0.25)).toBeLessThan(5 * Math.sqrt((0.25 * 0.75) / keys.length));
});
