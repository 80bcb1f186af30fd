import { expect, it } from 'vitest';
import { measureDrops } from '../../../bench/judging-drops.ts';

it('plays quiet streams and changes of retriever, traffic and judge with the code that decides', {
  timeout: 120_000,
}, () => {
  const { quiet, changed } = measureDrops(true, 1, () => undefined);
  expect(quiet.map(({ unrest }) => unrest)).toEqual(['none', 'weekends and days']);
  expect(changed.length).toBe(10);
  for (const { change, judge, everCalled } of changed) {
    const isOfJudge = change.startsWith('the judge grades');
    expect([change, judge.share]).toEqual([change, isOfJudge ? 1 : 0]);
    if (isOfJudge) expect([change, everCalled.share]).toEqual([change, 0]);
  }
});
