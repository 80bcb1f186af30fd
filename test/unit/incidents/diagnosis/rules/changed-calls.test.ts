import { array, assert, boolean, constantFrom, property, record } from 'fast-check';
import { expect, it } from 'vitest';
import { changedCalls, type TimedCall } from '../../../../../src/incidents/diagnosis/rules/changed-calls.ts';

/** 40 calls; the first `changed` calls have changed results and take `now` milliseconds, the others 30. */
const calls = (changed: number, now: number): TimedCall[] =>
  Array.from({ length: 40 }, (_, at) => ({ isChanged: at < changed, before: 30, now: at < changed ? now : 30 }));

it('finds that the calls with changed results became slower', () => {
  const found = changedCalls(calls(12, 500));
  expect(found).toMatchObject({ changed: 12, unchanged: 28, slower: 1 });
  expect(found?.z).toBeGreaterThan(5);
});

it('finds that the calls with changed results became faster, as if they came from a cache', () => {
  expect(changedCalls(calls(12, 2))).toMatchObject({ slower: 0 });
});

it('finds no relation if all calls take equally long', () => {
  expect(changedCalls(calls(12, 30))).toMatchObject({ slower: 0.5, z: 0 });
});

it('ignores slow queries that take as long as before', () => {
  const long = calls(12, 30).map((call) => (call.isChanged ? { ...call, before: 900, now: 900 } : call));
  expect(changedCalls(long)).toMatchObject({ slower: 0.5, z: 0 });
});

it('needs five calls of each kind', () => {
  expect(changedCalls(calls(4, 500))).toBeNull();
  expect(changedCalls(calls(36, 500))).toBeNull();
  expect(changedCalls(calls(5, 500))).not.toBeNull();
});

it('counts a tie as half a pair, and corrects the variance for ties', () => {
  // In 23.5 of 25 pairs, the call with changed results slowed down more; three ties of two give 3 * (8 - 2) = 18.
  const slowdowns = [1, 2, 5, 4, 4, 1, 2, 3, 6, 7];
  const isChanged = [false, false, true, false, true, false, false, true, true, true];
  const found = changedCalls(
    slowdowns.map((by, at) => ({ isChanged: isChanged[at] ?? false, before: 0, now: 100 * by })),
  );
  expect(found?.slower).toBeCloseTo(23.5 / 25, 10);
  expect(found?.z).toBeCloseTo((23.5 - 12.5) / Math.sqrt((25 / 12) * (11 - 18 / 90)), 10);
});

it('mirrors the probability if calls with changed and unchanged results are swapped', () => {
  const call = record({ isChanged: boolean(), before: constantFrom(10, 30, 90), now: constantFrom(10, 30, 90, 500) });
  assert(
    property(array(call, { minLength: 20, maxLength: 60 }), (some) => {
      const found = changedCalls(some);
      const swapped = changedCalls(some.map((one) => ({ ...one, isChanged: !one.isChanged })));
      expect(found?.slower ?? 0.5).toBeCloseTo(1 - (swapped?.slower ?? 0.5), 9);
      expect(found?.z ?? 0).toBeCloseTo(-(swapped?.z ?? 0), 9);
    }),
  );
});
