import { expect, it } from 'vitest';
import { hasSlowedDown } from '../../../../../src/index/truth/rules/probe-estimates.ts';

const times = (count: number, latency: number): number[] => Array.from({ length: count }, () => latency);

it('detects a store that takes five times as long, but not a single slow call', () => {
  expect(hasSlowedDown([...times(8, 100), ...times(5, 600)])).toBe(true);
  expect(hasSlowedDown([...times(12, 100), 5000])).toBe(false);
  expect(hasSlowedDown([...times(8, 100), ...times(5, 400)])).toBe(false);
});

it('ignores fast calls and a store that was always slow', () => {
  expect(hasSlowedDown([...times(8, 1), ...times(5, 200)])).toBe(false);
  expect(hasSlowedDown(times(20, 3000))).toBe(false);
  expect(hasSlowedDown(times(9, 3000))).toBe(false);
});
