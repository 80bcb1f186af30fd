/** Against reference values of numpy, scipy and scikit-learn; each file names its formula and its tool. */
import { describe, expect, it } from 'vitest';
import { embeddingCanary, searchCanary } from '../../../../src/density/rules/embedding-canary.ts';
import { differences, driftCases, type ScaledVectors } from '../../../support/drift-conformance.ts';

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
    readonly overlap_at_k: readonly number[];
    readonly overlap_mean: number;
    readonly score_change_mean: number;
    readonly share_worse: number;
    readonly sign_test_p_less: number;
  }

  it.each(driftCases<Input, Expected>('canary'))('$name', ({ input, expected }) => {
    const embeddings = embeddingCanary(
      input.stored.map((stored, i) => ({ stored, recomputed: input.recomputed[i] ?? [] })),
    );
    expect(differences(embeddings.cosines, expected.cosine)).toEqual([]);
    expect(
      differences([embeddings.median, embeddings.least], [expected.cosine_median, expected.cosine_min]),
    ).toEqual([]);
    const searches = searchCanary(
      input.topk_before.map((chunks, i) => ({
        before: { chunks, score: input.score_before[i] ?? 0 },
        after: { chunks: input.topk_after[i] ?? [], score: input.score_after[i] ?? 0 },
      })),
      input.topk_before[0]?.length ?? 0,
    );
    expect(differences(searches.overlaps, expected.overlap_at_k)).toEqual([]);
    expect(
      differences(
        [searches.meanOverlap, searches.meanScoreChange, searches.shareWorse, searches.signTestP],
        [expected.overlap_mean, expected.score_change_mean, expected.share_worse, expected.sign_test_p_less],
      ),
    ).toEqual([]);
  });
});
