import { expect, it } from 'vitest';
import { type Arrival, estimateLag } from '../../../../../src/index/truth/rules/probe-estimates.ts';

/**
 * The arrival of a change, as detected by checks that run every quarter of an hour on one day. A change that is not
 * detected by the end of the day counts as not arrived.
 */
const followed = (changedAt: number, seconds: number): Arrival => {
  const found = 900 * Math.ceil((changedAt + seconds) / 900);
  return found <= 86_400
    ? { weight: 1, hasArrived: true, after: Math.max(0, found - 900 - changedAt), by: found - changedAt }
    : { weight: 1, hasArrived: false, after: 86_400 - changedAt, by: 86_400 - changedAt };
};
const changes = (count: number, seconds: (place: number) => number): Arrival[] =>
  Array.from({ length: count }, (_, place) => followed((60_000 * place) / count, seconds(place)));

it('estimates an interval that contains an arrival between two checks', () => {
  const quick = estimateLag(
    changes(200, () => 300),
    0.95,
  );
  expect(quick.bounds?.low).toBeLessThanOrEqual(300);
  expect(quick.bounds?.high).toBeGreaterThanOrEqual(300);
  expect(quick.value).toBeLessThanOrEqual(900);
});

it('returns the lower bound if there are too few changes or arrivals for an upper bound', () => {
  const few = estimateLag(
    changes(30, () => 1800),
    0.95,
  );
  expect(few.bounds).toBeNull();
  expect(few.value).toBeLessThanOrEqual(1800);
  expect(few.value).toBeGreaterThanOrEqual(900);
  const stuck = estimateLag(
    changes(200, (place) => (place % 5 === 0 ? Number.POSITIVE_INFINITY : 1800)),
    0.95,
  );
  expect(stuck).toEqual({ value: 86_400, bounds: null });
});

it('returns a value within its interval for any mix of arrivals and waiting changes', () => {
  for (let count = 100; count < 130; count += 1) {
    const { value, bounds } = estimateLag(
      changes(count, (place) => ((place * 7919) % 97) * 800),
      0.5,
    );
    if (bounds === null) continue;
    expect(bounds.low).toBeLessThanOrEqual(value);
    expect(bounds.high).toBeGreaterThanOrEqual(value);
  }
});
