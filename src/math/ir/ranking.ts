/** Rankings: order, duplicates, fusion of several rankings, and similarity of two rankings without judgments. */
import { RecalldError } from '../../core/errors.ts';

/** Documents for one query in any order: `scores[i]` is the finite score of `ids[i]`. */
export interface ScoredDocuments {
  readonly ids: readonly string[];
  readonly scores: readonly number[];
}

/**
 * Compares two strings by Unicode code point, which is also the byte order of their UTF-8 forms (C's strcmp).
 * JavaScript's `<` compares UTF-16 code units and therefore sorts U+FF5E after U+1F600.
 *
 * @returns negative, zero or positive, as for `Array.prototype.sort`.
 */
export function compareCodePoints(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return codePointOrder(x) - codePointOrder(y);
  }
  return a.length - b.length;
}

/** Sorts surrogates, which encode code points above U+FFFF, after all other UTF-16 code units. */
function codePointOrder(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/**
 * Orders documents as trec_eval does: by descending score; documents with equal scores are ordered by id, in descending
 * code-point order. The input order does not matter. Scores must be finite.
 */
export function orderLikeTrecEval(documents: ScoredDocuments): ScoredDocuments {
  const { ids, scores } = documents;
  // Most run files are already sorted best first, so checking the order usually avoids the sort.
  if (isOrdered(ids, scores)) return documents;
  const positions = Array.from(ids, (_, i) => i);
  positions.sort((i, j) => compareRanks(ids, scores, i, j));
  return {
    ids: positions.map((i) => ids[i] ?? ''),
    scores: positions.map((i) => scores[i] ?? 0),
  };
}

function isOrdered(ids: readonly string[], scores: readonly number[]): boolean {
  for (let i = 1; i < ids.length; i++) {
    if (compareRanks(ids, scores, i - 1, i) > 0) return false;
  }
  return true;
}

function compareRanks(ids: readonly string[], scores: readonly number[], i: number, j: number): number {
  const difference = (scores[j] ?? 0) - (scores[i] ?? 0);
  return difference !== 0 ? difference : compareCodePoints(ids[j] ?? '', ids[i] ?? '');
}

/**
 * How to handle a document that occurs twice in a ranking. A hit is never counted twice.
 *
 * collapse  keep the first (best) place and close the gap, before any cutoff
 * occupy    leave later places empty: no gain, and not judged
 * reject    refuse the ranking, as trec_eval does
 */
export type DuplicatePolicy = 'collapse' | 'occupy' | 'reject';

export const duplicatePolicies: readonly DuplicatePolicy[] = ['collapse', 'occupy', 'reject'];

/** Document ids, best first, each at most once; null marks a place occupied by a duplicate. */
export type Ranking = readonly (string | null)[];

/**
 * Makes every document in a ranking count at most once.
 *
 * @param documentIds best first
 * @param owner description of the ranking for the error, for example `The run of query "q1"`
 * @returns the ranking, and the number of places that contained a duplicate
 * @throws RecalldError `file_malformed` if the policy is `reject` and a document occurs twice
 */
export function applyDuplicatePolicy(
  documentIds: readonly string[],
  policy: DuplicatePolicy,
  owner = 'A ranking',
): { readonly ranking: Ranking; readonly duplicates: number } {
  const distinct = new Set(documentIds);
  const duplicates = documentIds.length - distinct.size;
  if (duplicates === 0) return { ranking: documentIds, duplicates };
  if (policy === 'collapse') return { ranking: [...distinct], duplicates };
  const seen = new Set<string>();
  const ranking = documentIds.map((id) => {
    if (!seen.has(id)) {
      seen.add(id);
      return id;
    }
    if (policy === 'reject') {
      throw new RecalldError(
        'file_malformed',
        `${owner} contains the document "${id}" twice; remove the duplicate, or set the duplicate policy to collapse or occupy.`,
      );
    }
    return null;
  });
  return { ranking, duplicates };
}

/**
 * Reciprocal rank fusion: a document's score is the sum of 1 / (rankConstant + rank) over the rankings that contain it,
 * with ranks from 1. If a ranking contains an id more than once, the best rank counts. Documents with equal scores are
 * ordered by the first ranking that contains them, then by their rank in this ranking.
 *
 * Source: Cormack, Clarke, Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
 * methods", SIGIR 2009; their constant is 60.
 *
 * @returns every document of every ranking once, best first; the item comes from the first ranking that contains it
 */
export function reciprocalRankFusion<Item extends { readonly id: string }>(
  rankings: readonly (readonly Item[])[],
  rankConstant: number,
) {
  const fused = new Map<string, { readonly item: Item; score: number }>();
  for (const ranking of rankings) {
    const seen = new Set<string>();
    for (const [index, item] of ranking.entries()) {
      if (seen.has(item.id)) continue;
      seen.add(item.id);
      const entry = fused.get(item.id) ?? { item, score: 0 };
      entry.score += 1 / (rankConstant + index + 1);
      fused.set(item.id, entry);
    }
  }
  return [...fused.values()].toSorted((a, b) => b.score - a.score);
}

/** Probability that a reader who has read one document reads the next. The first ten ranks have 86 % of the weight. */
const PERSISTENCE = 0.9;

/**
 * Returns the rank-biased overlap of the top k documents in two rankings, extrapolated from the depth that both
 * rankings reach. The overlap is 1 if the documents and their order are the same, and 0 if the rankings have no
 * document in common. Agreement at the top has the most weight. Two empty rankings count as equal.
 *
 * Source: Webber, Moffat and Zobel, "A similarity measure for indefinite rankings", ACM TOIS 28(4), 2010, equation 32,
 * which also covers rankings of different lengths.
 *
 * @param a document ids, best first, each once; `b` likewise
 * @returns in [0, 1]
 */
export function rankBiasedOverlap(a: readonly string[], b: readonly string[], k: number, p = PERSISTENCE): number {
  const [one, other] = [a.slice(0, k), b.slice(0, k)];
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  const [s, l] = [short.length, long.length];
  if (s === 0) return l === 0 ? 1 : 0;
  const [seenShort, seenLong] = [new Set<string>(), new Set<string>()];
  let common = 0;
  let commonAtShort = 0;
  let sum = 0;
  for (let depth = 1; depth <= l; depth += 1) {
    const next = { short: short[depth - 1], long: long[depth - 1] };
    if (next.long !== undefined) seenLong.add(next.long);
    if (next.short !== undefined) seenShort.add(next.short);
    if (next.short !== undefined && seenLong.has(next.short)) common += 1;
    if (next.long !== undefined && next.long !== next.short && seenShort.has(next.long)) common += 1;
    if (depth === s) commonAtShort = common;
    // Assumes that the rankings agree beyond the end of the shorter ranking to the same degree as up to that point.
    const unseen = depth > s ? (commonAtShort * (depth - s)) / s : 0;
    sum += ((common + unseen) / depth) * p ** depth;
  }
  const beyond = (common - commonAtShort) / l + commonAtShort / s;
  return Math.min(1, ((1 - p) / p) * sum + beyond * p ** l);
}
