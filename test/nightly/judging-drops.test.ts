import { expect, it } from 'vitest';
import { measureDrops } from '../../bench/judging-drops.ts';

it('the quick simulation reports changes of the judge as such, and only other changes as drops', {
  timeout: 120_000,
}, () => {
  const { quiet, changed } = measureDrops({ quick: true, scale: 1, seed: null }, () => undefined);
  expect(quiet.map(({ unrest }) => unrest)).toEqual(['none', 'weekends and days']);
  expect(changed.length).toBe(10);
  for (const { change, judge, everCalled } of changed) {
    const isOfJudge = change.startsWith('the judge grades');
    // Each case has only two streams; docs/explanation/calibration/judging.md contains the published numbers.
    expect([change, judge.share > 0]).toEqual([change, isOfJudge]);
    expect([change, everCalled.share > 0]).toEqual([change, !isOfJudge]);
  }
});
