import { expect, it } from 'vitest';
import { hasSlowedDown } from '../../../../../src/index/truth/rules/probe-estimates.ts';

const times = (count: number, latency: number): number[] => Array.from({ length: count }, () => latency);

it('sees a store that takes five times as long as it did, and lets one slow call be', () => {
  expect(hasSlowedDown([...times(8, 100), ...times(5, 600)])).toBe(true);
  expect(hasSlowedDown([...times(12, 100), 5000])).toBe(false);
  expect(hasSlowedDown([...times(8, 100), ...times(5, 400)])).toBe(false);
});

it('does not mind where nobody is kept waiting, nor a store that always was slow', () => {
  expect(hasSlowedDown([...times(8, 1), ...times(5, 200)])).toBe(false);
  expect(hasSlowedDown(times(20, 3000))).toBe(false);
  expect(hasSlowedDown(times(9, 3000))).toBe(false);
});
