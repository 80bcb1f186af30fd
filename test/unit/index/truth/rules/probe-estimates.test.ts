import { describe, expect, it } from 'vitest';
import { isWrong } from '../../../../../src/index/truth/rules/findings.ts';
import {
  estimateShare,
  roundsSinceChange,
  sumBySegment,
  twoStageSample,
} from '../../../../../src/index/truth/rules/probe-estimates.ts';
import { uniforms } from '../../../../support/uniforms.ts';

describe('twoStageSample', () => {
  const sampleOf = async (found: readonly number[]) => {
    const asked: number[] = [];
    const seen = await twoStageSample(200, async (n) => {
      asked.push(n);
      return { tally: { n, found: found[asked.length - 1] ?? 0 } };
    });
    return { asked, tally: seen.tally };
  };

  it('samples once if nothing is found, otherwise takes a new sample five times as large', async () => {
    expect(await sampleOf([0])).toEqual({ asked: [200], tally: { n: 200, found: 0 } });
    expect(await sampleOf([1, 9])).toEqual({ asked: [200, 1000], tally: { n: 1000, found: 9 } });
  });

  it.each([0.005, 0.02, 0.1])('yields an interval that covers the true share %d as often as stated', async (truth) => {
    const uniform = uniforms(5);
    let held = 0;
    const draws = 2000;
    for (let draw = 0; draw < draws; draw += 1) {
      const { tally } = await twoStageSample(200, async (n) => {
        let found = 0;
        for (let document = 0; document < n; document += 1) if (uniform() < truth) found += 1;
        return { tally: { n, found } };
      });
      const share = estimateShare(tally, false);
      if (share !== null && share.ciLow <= truth && truth <= share.ciHigh) held += 1;
    }
    expect(held / draws).toBeGreaterThanOrEqual(0.93);
  });
});

describe('an alert on a lower bound above 0.5 %', () => {
  /** Returns the share of rounds with an alert, for a given true share of wrong documents. */
  const pages = async (truth: number): Promise<number> => {
    const uniform = uniforms(11);
    const rounds = 1000;
    let paged = 0;
    for (let round = 0; round < rounds; round += 1) {
      const { tally } = await twoStageSample(200, async (n) => {
        let found = 0;
        for (let document = 0; document < n; document += 1) if (uniform() < truth) found += 1;
        return { tally: { n, found } };
      });
      const share = estimateShare(tally, false);
      if (share !== null && isWrong(share)) paged += 1;
    }
    return paged / rounds;
  };

  it('fires in the first round when 2 % of documents are wrong, and rarely below the threshold', async () => {
    expect(await pages(0.02)).toBeGreaterThan(0.95);
    expect(await pages(0.1)).toBe(1);
    expect(await pages(0.001)).toBe(0);
    expect(await pages(0)).toBe(0);
  });
});

describe('estimateShare', () => {
  it('returns an interval for a sample, and the exact share if all documents were checked', () => {
    expect(estimateShare({ n: 0, found: 0 }, true)).toBeNull();
    expect(estimateShare({ n: 1000, found: 20 }, true)).toMatchObject({ value: 0.02, ciLow: 0.02, ciHigh: 0.02 });
    const share = estimateShare({ n: 1000, found: 20 }, false);
    expect(share?.ciLow).toBeCloseTo(0.01225827, 8);
    expect(share?.ciHigh).toBeCloseTo(0.03072003, 8);
  });
});

describe('roundsSinceChange', () => {
  const hourly = (tallies: readonly (readonly [found: number, n: number])[]) =>
    tallies.map(([found, n], hour) => ({ found, n, round: new Date(Date.UTC(2026, 0, 1, hour)) }));
  const kept = (tallies: readonly (readonly [found: number, n: number])[]): number =>
    roundsSinceChange(hourly(tallies)).length;
  const clean = [0, 16] as const;
  const times = (count: number, tally: readonly [found: number, n: number]) =>
    Array.from({ length: count }, () => tally);

  it('drops the rounds of a fault from the first clean round after the repair on', () => {
    expect(kept([...times(20, clean), [96, 96], [96, 96], [96, 96], clean])).toBe(1);
    expect(kept([...times(20, clean), [96, 96], [96, 96], [96, 96], clean, clean])).toBe(2);
  });

  it('drops the healthy rounds before a fault, so that its share is not diluted', () => {
    expect(kept([...times(20, clean), [48, 96]])).toBe(1);
  });

  it('keeps the rounds of a rare fault until enough clean documents contradict it', () => {
    const rare = times(6, [4, 96]);
    expect(kept([...rare, clean, clean])).toBe(8);
    expect(kept([...rare, ...times(30, clean)])).toBe(30);
  });

  it('keeps every round on at least 99 % of days while the share stays the same', () => {
    const random = uniforms(7);
    let split = 0;
    for (let day = 0; day < 1000; day++) {
      const rounds = Array.from({ length: 24 }, () => {
        const found = Array.from({ length: 40 }, () => random()).filter((one) => one < 0.1).length;
        return [found, 40] as const;
      });
      if (kept(rounds) < 24) split += 1;
    }
    expect(split).toBeLessThanOrEqual(10);
  });

  it('returns nothing without rounds, and a single round unchanged', () => {
    expect(kept([])).toBe(0);
    expect(kept([[3, 16]])).toBe(1);
  });
});

it('keeps the largest segments and combines the rest', () => {
  const tallies = new Map([
    ['', { n: 5, found: 1 }],
    ['tenant=a', { n: 10, found: 0 }],
    ['tenant=b', { n: 30, found: 2 }],
    ['tenant=c', { n: 20, found: 4 }],
  ]);
  expect(sumBySegment(tallies, 1)).toEqual([
    { segment: 'all', n: 65, found: 7 },
    { segment: 'tenant=b', n: 30, found: 2 },
    { segment: 'other', n: 30, found: 4 },
  ]);
});
