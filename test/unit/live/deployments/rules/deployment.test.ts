import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fingerprintOf, traitChanges } from '../../../../../src/live/deployments/rules/deployment.ts';

const traits = fc.dictionary(fc.string(), fc.string());

describe('the fingerprint of a component', () => {
  it('does not depend on the order of its traits', () => {
    fc.assert(
      fc.property(traits, (some) => {
        const reversed = Object.fromEntries(Object.entries(some).toReversed());
        expect(fingerprintOf(reversed)).toBe(fingerprintOf(some));
      }),
    );
  });

  it('changes with every value and every name', () => {
    const before = fingerprintOf({ index: 'hnsw', m: '16' });
    expect(before).toMatch(/^[0-9a-f]{12}$/);
    expect(fingerprintOf({ index: 'hnsw', m: '32' })).not.toBe(before);
    expect(fingerprintOf({ index: 'hnsw' })).not.toBe(before);
    expect(fingerprintOf({ index: 'hnsw', n: '16' })).not.toBe(before);
  });
});

describe('the changes of traits', () => {
  it('have their old and new values', () => {
    expect(traitChanges({ index: 'hnsw', m: '16', metric: 'l2' }, { index: 'hnsw', m: '32', ef: '40' })).toEqual([
      { trait: 'ef', before: null, after: '40' },
      { trait: 'm', before: '16', after: '32' },
      { trait: 'metric', before: 'l2', after: null },
    ]);
  });

  it('are empty exactly when the fingerprints are equal', () => {
    fc.assert(
      fc.property(traits, traits, (a, b) => {
        expect(traitChanges(a, b).length === 0).toBe(fingerprintOf(a) === fingerprintOf(b));
      }),
    );
  });
});
