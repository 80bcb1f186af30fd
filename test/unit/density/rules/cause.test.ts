import { describe, expect, it } from 'vitest';
import { familiarity, novelBelow, noveltyOf, readCause, topicCause } from '../../../../src/density/rules/cause.ts';
import {
  allowsComparison,
  canaryTexts,
  embeddingCanary,
  fingerprintDifferences,
  type MeasurementFingerprint,
  outgrewBaseline,
  replayAgrees,
  searchCanary,
} from '../../../../src/density/rules/measurement-change.ts';
import { differences, driftCases, type ScaledVectors } from '../../../support/drift-conformance.ts';
import { evenQuestions, queryWorld } from '../../../support/query-world.ts';

const NOW = new Date('2026-11-02T00:00:00Z');
const HOUR = 3_600_000;
const world = queryWorld(9, 7, 6);
const asked = (count: number, topics: readonly number[]) => world.ask(evenQuestions(count, topics, NOW, HOUR)).vectors;
const baseline = asked(600, [0, 1, 2, 3, 4, 5]);
const threshold = novelBelow(baseline) ?? 0;

const novelty = (topics: readonly number[], excess: number) =>
  noveltyOf(familiarity(asked(400, topics), baseline), threshold, excess);

describe('live queries compared with baseline queries', () => {
  it('are as novel as baseline queries are among themselves, about one in twenty', () => {
    const { share, explains } = novelty([0, 1, 2, 3, 4, 5], 0);
    expect(share).toBeGreaterThan(0.01);
    expect(share).toBeLessThan(0.1);
    expect(explains).toBe(false);
  });

  it('are novel if a fifth of them have a new topic, which explains the uncovered traffic', () => {
    const { share, low, explains } = novelty([0, 1, 2, 3, 6], 0.2);
    expect(share).toBeGreaterThan(0.2);
    expect(low).toBeGreaterThan(0.05);
    expect(explains).toBe(true);
  });

  it('are not novel if only the topic shares change, so that a loss is not mistaken for new demand', () => {
    expect(novelty([0, 0, 0, 1], 0.2).explains).toBe(false);
  });

  it('do not explain a loss that is much larger than the new queries', () => {
    expect(novelty([0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6], 0.6).explains).toBe(false);
  });

  it('cannot be classified if there are only a few', () => {
    expect(novelBelow(asked(11, [0]))).toBeNull();
    expect(novelBelow(asked(12, [0]))).not.toBeNull();
  });
});

describe('readCause', () => {
  it.each([
    ['the questions changed', true, null, null, 'content_gap', 'medium', null],
    ['the same, golden queries as before', true, false, null, 'content_gap', 'high', true],
    ['the same, golden queries fell too', true, true, null, 'lost_content', 'medium', true],
    ['the same questions', false, null, null, 'lost_content', 'low', null],
    ['the same, not a chunk missing', false, null, false, 'lost_content', 'low', null],
    ['the same, chunks missing', false, null, true, 'lost_content', 'medium', null],
    ['the same, golden queries fell too', false, true, null, 'lost_content', 'high', true],
    ['golden queries as before, not a chunk missing', false, false, false, 'content_gap', 'low', true],
    ['golden queries as before, no look at chunks', false, false, null, 'content_gap', 'low', true],
    ['golden queries as before, chunks missing', false, false, true, 'lost_content', 'medium', false],
  ] as const)('%s', (_what, trafficChanged, goldenDropped, chunksMissing, cause, confidence, confirmed) => {
    expect(readCause({ trafficChanged, goldenDropped, chunksMissing })).toEqual({ cause, confidence, confirmed });
  });

  it('distinguishes new demand from lost content by the baseline queries', () => {
    expect(topicCause([0.2, 0.3, 0.8], 0.5)).toBe('new_demand');
    expect(topicCause([0.2, 0.3, 0.8, 0.9], 0.5)).toBe('lost_content');
    expect(topicCause([0.5, 0.5], 0.5)).toBe('lost_content');
  });
});

describe('the embedding canary', () => {
  const turned = (degrees: number) => ({
    stored: [1, 0],
    recomputed: [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)],
  });
  const verdictOf = (degrees: readonly number[]) => embeddingCanary(degrees.map(turned)).verdict;

  it('is quiet for the same vectors, warns about a non-deterministic provider, and detects another model', () => {
    expect(verdictOf([0, 0, 0])).toBe('same');
    // The cosines of 1.8, 3 and 12 degrees are 0.99951, 0.99863 and 0.978.
    expect(verdictOf([1.8, 1.8, 0])).toBe('same');
    expect(verdictOf([3, 3, 0])).toBe('noisy');
    expect(verdictOf([6, 6, 0])).toBe('changed');
    expect(verdictOf([0, 0, 0, 0, 12])).toBe('changed');
  });

  it('treats a vector without direction, or with another dimension, as different', () => {
    const pairs = [
      [0, 0],
      [Number.NaN, 1],
      [Number.POSITIVE_INFINITY, 0],
      [1, 0, 0],
    ];
    for (const recomputed of pairs) {
      expect(embeddingCanary([{ stored: [1, 0], recomputed }])).toEqual({
        cosines: [0],
        median: 0,
        least: 0,
        verdict: 'changed',
      });
    }
  });
});

describe('a canary without golden queries', () => {
  it('is rejected, not treated as a change', () => {
    expect(() => embeddingCanary([])).toThrow(RangeError);
    expect(() => searchCanary([], 5)).toThrow(RangeError);
  });
});

describe('the search canary', () => {
  const search = (chunks: readonly string[], score: number) => ({ chunks, score });

  it('shows at once what one lost article removes from the queries that hit it', () => {
    const kept = { before: search(['a', 'b'], 0.8), after: search(['b', 'a'], 0.8) };
    const hit = { before: search(['c', 'd'], 0.9), after: search(['d', 'x'], 0.6) };
    const canary = searchCanary([kept, hit], 2);
    expect(canary.meanOverlap).toBe(0.75);
    expect(canary.meanScoreChange).toBeCloseTo(-0.15, 15);
  });

  it('counts a chunk that a search returned twice once', () => {
    const twice = { before: search(['a', 'a'], 0.5), after: search(['a'], 0.5) };
    expect(searchCanary([twice], 2)).toEqual({ queries: 1, meanOverlap: 0.5, meanScoreChange: 0 });
  });
});

describe('the rule for a new baseline', () => {
  const fingerprint: MeasurementFingerprint = {
    embeddingModel: 'm',
    embeddingRevision: '1',
    dimension: '384',
    metric: 'cosine',
    indexType: 'hnsw',
    k: '5',
    scoreField: 'score',
  };
  const changedBy = (change: Partial<MeasurementFingerprint>) =>
    fingerprintDifferences(fingerprint, { ...fingerprint, ...change });
  const steady = { meanScoreChange: -0.002, meanOverlap: 0.97 };

  it('keeps the baseline while the measurement is unchanged', () => {
    expect(changedBy({})).toEqual([]);
  });

  it('requests a replay after an index change, and keeps the baseline if the replay agrees', () => {
    const changed = changedBy({ indexType: 'ivf' });
    expect(changed).toEqual(['indexType']);
    expect(allowsComparison(changed)).toBe(true);
    expect(replayAgrees(steady)).toBe(true);
    expect(replayAgrees({ ...steady, meanScoreChange: 0.01 })).toBe(false);
    expect(replayAgrees({ ...steady, meanOverlap: 0.9 })).toBe(false);
  });

  it('requests a new baseline after an embedding change, whatever the replay shows', () => {
    for (const change of [{ embeddingModel: 'n' }, { dimension: '768' }, { embeddingRevision: '2' }, { k: '10' }]) {
      expect(allowsComparison(changedBy(change))).toBe(false);
    }
  });

  it('measures a replay in either direction', () => {
    expect(replayAgrees({ meanScoreChange: 0.5, meanOverlap: 1 })).toBe(false);
    expect(replayAgrees({ meanScoreChange: -0.5, meanOverlap: 1 })).toBe(false);
  });

  it('offers a new baseline if the store has covered more for two consecutive weeks', () => {
    const grown = Array.from({ length: 14 }, () => 1.2);
    expect(outgrewBaseline(grown, 1)).toBe(true);
    expect(outgrewBaseline(grown, 0.9)).toBe(true);
    expect(outgrewBaseline(grown.slice(1), 1)).toBe(false);
    expect(outgrewBaseline([...grown.slice(1), 1.1], 1)).toBe(false);
    expect(outgrewBaseline([...grown.slice(1), null], 1)).toBe(false);
    expect(outgrewBaseline([0.2, ...grown], 1)).toBe(true);
  });

  it('offers none if the baseline itself is above 1 because of repeated queries', () => {
    const repeated = Array.from({ length: 14 }, () => 1.2);
    expect(outgrewBaseline(repeated, 1.18)).toBe(false);
  });
});

it('are twenty different texts that no edit changes unseen', () => {
  expect(new Set(canaryTexts).size).toBe(20);
  expect(canaryTexts).toMatchSnapshot();
});

/** Reference values from numpy, scipy and scikit-learn; each file names its formula and its tool. */
describe('canary', () => {
  interface Input {
    readonly stored: ScaledVectors;
    readonly recomputed: ScaledVectors;
    readonly scale: number;
    readonly topk_before: ScaledVectors;
    readonly topk_after: ScaledVectors;
    readonly score_before: readonly number[];
    readonly score_after: readonly number[];
  }
  interface Expected {
    readonly cosine: readonly number[];
    readonly cosine_median: number;
    readonly cosine_min: number;
    readonly overlap_mean: number;
    readonly score_change_mean: number;
  }

  it.each(driftCases<Input, Expected>('canary'))('$name', ({ input, expected }) => {
    const embeddings = embeddingCanary(
      input.stored.map((stored, i) => ({ stored, recomputed: input.recomputed[i] ?? [] })),
    );
    expect(differences(embeddings.cosines, expected.cosine)).toEqual([]);
    expect(differences([embeddings.median, embeddings.least], [expected.cosine_median, expected.cosine_min])).toEqual(
      [],
    );
    const searches = searchCanary(
      input.topk_before.map((chunks, i) => ({
        before: { chunks, score: input.score_before[i] ?? 0 },
        after: { chunks: input.topk_after[i] ?? [], score: input.score_after[i] ?? 0 },
      })),
      input.topk_before[0]?.length ?? 0,
    );
    expect(
      differences(
        [searches.meanOverlap, searches.meanScoreChange],
        [expected.overlap_mean, expected.score_change_mean],
      ),
    ).toEqual([]);
  });
});
