import { describe, expect, it } from 'vitest';
import { rateFor } from '../../../../../src/live/rules/sampling/decision.ts';

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

  it.each([-0.1, 1.1, Number.NaN])('is refused when it is %s', (rate) => {
    expect(() => rateFor({}, { rate, segments: {} })).toThrow(RangeError);
    expect(() => rateFor({ a: 'b' }, { rate: 0.5, segments: { 'a=b': rate } })).toThrow(RangeError);
  });
});
