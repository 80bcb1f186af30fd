/** Canary: the same golden queries, embedded and searched again. What moves them is the embedding or the store. */

import { mean, median } from '../../stats/descriptive.ts';
import { binomialUpperTail } from '../../stats/distributions.ts';
import { dotProduct, lengthOf } from '../../vector/matrix.ts';

/** `changed` takes precedence over every drift alarm: it is another embedding model, not worse coverage. */
export type CanaryVerdict = 'same' | 'noisy' | 'changed';

interface EmbeddingCanary {
  /** Of each stored to its recomputed vector. */
  readonly cosines: readonly number[];
  readonly median: number;
  readonly least: number;
  readonly verdict: CanaryVerdict;
}

const CHANGED_MEDIAN = 0.995;
const CHANGED_LEAST = 0.98;
const NOISY_MEDIAN = 0.9995;

/**
 * Compares stored with recomputed embeddings, pair by pair. `changed`: median < 0.995 or least < 0.98. `noisy`: median
 * < 0.9995, as providers that do not repeat themselves give.
 *
 * A pair of different dimension, or with a vector without direction, has the cosine 0: that is no repetition.
 *
 * @throws RangeError without pairs: no canary is not a changed one
 */
export function embeddingCanary(
  pairs: readonly { readonly stored: ArrayLike<number>; readonly recomputed: ArrayLike<number> }[],
): EmbeddingCanary {
  if (pairs.length === 0) throw new RangeError('A canary needs at least one golden query.');
  const cosines = pairs.map(({ stored, recomputed }) => cosine(stored, recomputed));
  const middle = median(cosines);
  const least = Math.min(...cosines);
  return { cosines, median: middle, least, verdict: embeddingCanaryVerdict(middle, least) };
}

/** What cosines of repeated embeddings say, by their median and the least of them. */
export function embeddingCanaryVerdict(median: number, least: number): CanaryVerdict {
  if (median < CHANGED_MEDIAN || least < CHANGED_LEAST) return 'changed';
  return median < NOISY_MEDIAN ? 'noisy' : 'same';
}

/** Cosine of two vectors, in float64; 0 where it is not defined. */
function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const lengths = lengthOf(a) * lengthOf(b);
  if (a.length !== b.length || !(lengths > 0 && lengths < Number.POSITIVE_INFINITY)) return 0;
  return dotProduct(a, b) / lengths;
}

/** One golden query before and after: its k best chunks and its score. */
export interface RepeatedSearch {
  readonly before: { readonly chunks: readonly (string | number)[]; readonly score: number };
  readonly after: { readonly chunks: readonly (string | number)[]; readonly score: number };
}

interface SearchCanary {
  /** |before and after| / k of each query. */
  readonly overlaps: readonly number[];
  readonly meanOverlap: number;
  /** After less before, mean over the queries. */
  readonly meanScoreChange: number;
  /** Share of the queries whose score fell. */
  readonly shareWorse: number;
  /** One-sided sign test against no change: P(Bin(changed, 1/2) >= fallen). */
  readonly signTestP: number;
}

/**
 * Compares two searches of the same queries.
 *
 * @throws RangeError without searches
 * @param k how many chunks were asked for, >= 1
 */
export function searchCanary(searches: readonly RepeatedSearch[], k: number): SearchCanary {
  const overlaps = searches.map(({ before, after }) => {
    const found = new Set(after.chunks);
    return new Set(before.chunks.filter((chunk) => found.has(chunk))).size / k;
  });
  const changes = searches.map(({ before, after }) => after.score - before.score);
  const worse = changes.filter((change) => change < 0).length;
  const changed = changes.filter((change) => change !== 0).length;
  return {
    overlaps,
    meanOverlap: mean(overlaps),
    meanScoreChange: mean(changes),
    shareWorse: worse / changes.length,
    signTestP: binomialUpperTail(worse, changed, 0.5),
  };
}

/**
 * Texts that are embedded again and again: when their vectors move, another model answers. They are fixed, since the
 * vectors of an installation are compared over years, and of several languages, lengths and kinds, since a change may
 * touch one kind only.
 */
export const canaryTexts: readonly string[] = [
  'How do I reset my password?',
  'refund policy',
  'The invoice was paid twice in March 2024.',
  'Which documents do I need to open an account for a company?',
  'What is the maximum file size of an upload?',
  'error 0x80070057 the parameter is incorrect',
  'Wie kündige ich meinen Vertrag?',
  'Où puis-je trouver ma facture ?',
  '¿Cuánto tarda el envío a Canarias?',
  '配送状況を確認するにはどうすればよいですか',
  'как изменить адрес доставки',
  'SELECT count(*) FROM orders WHERE status = 7;',
  'vacation days part time employee',
  'Compare the premium plan with the basic plan and list the differences in price, storage and support.',
  'yes',
  'photosynthesis in desert plants',
  'When was the treaty signed, and by whom?',
  'https://example.com/docs/api#limits',
  'My parcel arrived damaged, two of the six glasses are broken and the box is wet. What should I do now?',
  'Newton\u2019s second law of motion',
];
