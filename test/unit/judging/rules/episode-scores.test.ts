import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  judgedEpisodeMeasures,
  rewritingScores,
  type ScoredEpisode,
} from '../../../../src/judging/rules/episode-scores.ts';

function anEpisode(parts: Partial<ScoredEpisode> = {}): ScoredEpisode {
  return { cluster: 0.1, probability: 0.5, tags: {}, isHit: true, rewriting: null, ...parts };
}

const noSegments = { segmentKeys: [], maxSegments: 10 };
const valueOf = (episodes: readonly ScoredEpisode[], measure: string) =>
  judgedEpisodeMeasures(episodes, noSegments).find((one) => one.measure === measure);

describe('the scores of a rewritten and an original text', () => {
  const grades: Readonly<Record<string, number>> = { a: 3, b: 1 };
  const gradeOf = (id: string): number => grades[id] ?? 0;

  it('share one ideal order, so that a text with worse results scores below a text with better results', () => {
    expect(rewritingScores(['x', 'y'], ['a', 'b'], gradeOf, 2)).toEqual({ rewritten: 0, original: 1 });
    const { rewritten, original } = rewritingScores(['b'], ['a', 'b'], gradeOf, 2);
    expect(original).toBe(1);
    expect(rewritten).toBeCloseTo(1 / (3 + 1 / Math.log2(3)), 12);
  });

  it('are the same if the other text has equal results or none, and are 0 if no document is relevant', () => {
    expect(rewritingScores(['b', 'a'], ['b', 'a'], gradeOf, 2)).toMatchObject({
      rewritten: expect.closeTo(rewritingScores(['b', 'a'], [], gradeOf, 2).rewritten, 12),
    });
    expect(rewritingScores(['x'], ['y'], gradeOf, 2)).toEqual({ rewritten: 0, original: 0 });
  });
});

describe('measures of judged episodes', () => {
  it('weight each episode by its probability', () => {
    const hit = anEpisode({ cluster: 0.1, probability: 0.2 });
    const miss = anEpisode({ cluster: 0.2, probability: 0.8, isHit: false });
    expect(valueOf([hit, miss], 'episode_hit_rate')).toMatchObject({ kind: 'value', value: 0.8, n: 2 });
  });

  it('include the mean gain of rewritten episodes, with an interval around it within [-1, 1]', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })), {
          minLength: 2,
          maxLength: 40,
        }),
        (pairs) => {
          const episodes = pairs.map(([rewritten, original], cluster) =>
            anEpisode({ cluster, rewriting: { rewritten, original } }),
          );
          const gain = valueOf([...episodes, anEpisode({ cluster: 99 })], 'rewrite_gain');
          if (gain?.kind !== 'value') throw new Error('two episodes have a mean');
          const mean = pairs.reduce((sum, [rewritten, original]) => sum + rewritten - original, 0) / pairs.length;
          expect(gain.value).toBeCloseTo(mean, 9);
          expect(gain.n).toBe(pairs.length);
          expect(gain.ciLow).toBeGreaterThanOrEqual(-1);
          expect(gain.ciLow).toBeLessThanOrEqual(gain.value + 1e-12);
          expect(gain.ciHigh).toBeGreaterThanOrEqual(gain.value - 1e-12);
          expect(gain.ciHigh).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  it('have a wider interval if the episodes belong to few sessions', () => {
    const episodes = Array.from({ length: 40 }, (_, i) => anEpisode({ cluster: i, isHit: i % 4 < 2 }));
    const shared = episodes.map((one, i) => ({ ...one, cluster: i % 4 }));
    const width = (of: readonly ScoredEpisode[]): number => {
      const found = valueOf(of, 'episode_hit_rate');
      return found?.kind === 'value' ? found.ciHigh - found.ciLow : Number.NaN;
    };
    expect(width(shared)).toBeGreaterThan(1.5 * width(episodes));
  });

  it('have no value for a single session, and state the reason', () => {
    const episodes = [anEpisode(), anEpisode({ rewriting: { rewritten: 1, original: 0 } })];
    for (const one of judgedEpisodeMeasures(episodes, noSegments))
      expect(one).toMatchObject({ kind: 'no_data', reason: 'too_few_episodes' });
  });

  it('exist for each segment', () => {
    const episodes = ['en', 'en', 'de', 'de'].map((lang, cluster) => anEpisode({ cluster, tags: { lang } }));
    const segments = judgedEpisodeMeasures(episodes, { segmentKeys: ['lang'], maxSegments: 5 }).map(
      ({ segment }) => segment,
    );
    expect(new Set(segments)).toEqual(new Set(['all', 'lang=en', 'lang=de']));
  });
});
