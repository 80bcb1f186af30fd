import { describe, expect, it } from 'vitest';
import {
  bucketLengthMs,
  type FeedbackBaseline,
  feedbackBaseline,
  feedbackDrop,
  type OpinionBucket,
} from '../../../../../src/live/rules/feedback/feedback-drop.ts';
import { createRandom } from '../../../../../src/math/stats/random.ts';

const DAY = 86_400_000;
const BUCKET = bucketLengthMs(DAY);
const PER_DAY = DAY / BUCKET;
const budget = { count: 1, periodMs: 90 * DAY };
const usual: FeedbackBaseline = { positive: 800, negative: 200, phi: 1 };

/** Returns a generator of numbers in [0, 1); equal seeds yield equal numbers. */
function uniform(seed: number): () => number {
  const fill = createRandom(seed);
  const word = new Uint32Array(1);
  return () => {
    fill(word);
    return (word[0] ?? 0) / 2 ** 32;
  };
}

/** Buckets from `startMs` on, with `each` ratings per bucket; a rating is positive with probability `share`. */
function opinions(buckets: number, each: number, share: number, { seed = 1, startMs = 0 } = {}): OpinionBucket[] {
  const next = uniform(seed);
  return Array.from({ length: buckets }, (_, i) => {
    const positive = Array.from({ length: each }, next).filter((one) => one < share).length;
    return { startMs: startMs + i * BUCKET, positive, negative: each - positive };
  });
}

function dropOf(buckets: readonly OpinionBucket[], baseline = usual) {
  const untilMs = (buckets.at(-1)?.startMs ?? 0) + BUCKET;
  const drop = feedbackDrop(baseline, buckets, { untilMs, bucketMs: BUCKET }, budget);
  if ('kind' in drop) throw new Error('there are opinions');
  return drop;
}

describe('a drop in positive feedback', () => {
  it.each([1, 2, 3, 4, 5])('from 0.8 to 0.33 is found within 60 opinions (seed %i)', (seed) => {
    const before = opinions(200, 1, 0.8, { seed });
    const after = opinions(60, 1, 0.33, { seed: seed + 100, startMs: 200 * BUCKET });
    const found = after.findIndex((_, i) => dropOf([...before, ...after.slice(0, i + 1)]).evidenceRatio >= 1);
    expect(found).toBeGreaterThan(5);
    expect(found).toBeLessThan(60);
    const { sinceMs, latestShare, baselineShare } = dropOf([...before, ...after]);
    expect(baselineShare).toBeCloseTo(0.8);
    expect(latestShare).toBeLessThan(0.5);
    expect(Math.abs(sinceMs - 200 * BUCKET)).toBeLessThan(20 * BUCKET);
  });

  it('is found in sparse opinions with hours between them', () => {
    const sparse = opinions(24, 6, 0.33).map((bucket, hour) => ({ ...bucket, startMs: hour * 12 * BUCKET }));
    expect(dropOf(sparse).evidenceRatio).toBeGreaterThan(1);
  });

  it('is not reported on any of a hundred days without a change, evaluated every hour', () => {
    let [days, fired] = [0, 0];
    for (let seed = 1; seed <= 100; seed++) {
      const day = opinions(PER_DAY, 2, 0.8, { seed });
      days += 1;
      for (let end = 12; end <= day.length; end += 12) fired += dropOf(day.slice(0, end)).evidenceRatio >= 1 ? 1 : 0;
    }
    expect({ days, fired }).toEqual({ days: 100, fired: 0 });
  });

  it('of less than 5 points is not reported, however many opinions show it', () => {
    expect(dropOf(opinions(PER_DAY, 50, 0.76)).evidenceRatio).toBeLessThan(1);
  });

  it('is resolved once the latest opinions have recovered', () => {
    const bad = opinions(144, 2, 0.33, { seed: 3 });
    expect(dropOf(bad).evidenceRatio).toBeGreaterThan(1);
    const back = opinions(30, 2, 0.8, { seed: 4, startMs: 144 * BUCKET });
    expect(dropOf([...bad, ...back]).evidenceRatio).toBe(0);
  });

  it('has a smaller e-value if the baseline varies more than by chance', () => {
    const bad = opinions(40, 1, 0.5, { seed: 5 });
    expect(dropOf(bad, { ...usual, phi: 4 }).evidenceRatio).toBeLessThan(dropOf(bad).evidenceRatio);
  });

  it('is unknown without opinions', () => {
    const nothing = feedbackDrop(usual, [], { untilMs: DAY, bucketMs: BUCKET }, budget);
    expect(nothing).toMatchObject({ kind: 'insufficient_data', have: 0 });
  });
});

describe('the baseline of feedback', () => {
  it('counts its opinions, and has no overdispersion if they vary only by chance', () => {
    const baseline = feedbackBaseline(opinions(7 * PER_DAY, 1, 0.8));
    if ('kind' in baseline) throw new Error('there are opinions');
    expect(baseline.positive + baseline.negative).toBe(7 * PER_DAY);
    expect(baseline.phi).toBeLessThan(2);
  });

  it('has overdispersion if days and nights differ, but not because of a single bad half day', () => {
    const days = Array.from({ length: 14 }, (_, half) =>
      opinions(PER_DAY / 2, 4, half % 2 === 0 ? 0.95 : 0.65, { seed: half + 1, startMs: (half * DAY) / 2 }),
    ).flat();
    const oneBad = opinions(7 * PER_DAY, 4, 0.8).map((bucket) =>
      bucket.startMs >= 3 * DAY && bucket.startMs < 3.5 * DAY ? { ...bucket, positive: 0, negative: 4 } : bucket,
    );
    expect(feedbackBaseline(days)).toMatchObject({ phi: expect.toSatisfy((phi: number) => phi > 5) });
    expect(feedbackBaseline(oneBad)).toMatchObject({ phi: expect.toSatisfy((phi: number) => phi < 2) });
  });

  it('needs 50 opinions', () => {
    expect(feedbackBaseline(opinions(49, 1, 0.8))).toMatchObject({ kind: 'insufficient_data', have: 49, need: 50 });
    expect(feedbackBaseline(opinions(50, 1, 0.8))).not.toHaveProperty('kind');
  });

  it('has buckets of 5 minutes for a window of a day, and of at least one minute', () => {
    expect([DAY, 3_600_000, 300_000].map(bucketLengthMs)).toEqual([300_000, 60_000, 60_000]);
  });
});
