/** Two retrievers that were asked the same questions several times: one difference a question, and how much it moves by itself. */

/** Scores of both sides in one pair of runs, a query a place. */
export interface ScoredPair {
  readonly baseline: Float64Array;
  readonly candidate: Float64Array;
}

interface AveragedPairs {
  /** Of both sides, each query by its mean over the pairs. */
  readonly scores: { readonly baseline: readonly [Float64Array]; readonly candidate: readonly [Float64Array] };
  /**
   * Root of the mean over the queries of the variance (n - 1) of their difference from pair to pair: what a further pair
   * averages out, beside what questions differ by and no pair takes away. Null for one pair.
   */
  readonly noise: number | null;
}

/** @throws RangeError without a pair */
export function averagePairs(pairs: readonly ScoredPair[]): AveragedPairs {
  const [first] = pairs;
  if (first === undefined) throw new RangeError('There is no pair of runs.');
  const queries = first.baseline.length;
  const meanOf = (scoreOf: (pair: ScoredPair) => Float64Array): Float64Array =>
    Float64Array.from(
      { length: queries },
      (_, row) => pairs.reduce((sum, pair) => sum + (scoreOf(pair)[row] ?? 0), 0) / pairs.length,
    );
  const [baseline, candidate] = [meanOf((pair) => pair.baseline), meanOf((pair) => pair.candidate)];
  const scores = { baseline: [baseline], candidate: [candidate] } as const;
  if (pairs.length === 1 || queries === 0) return { scores, noise: null };
  let squares = 0;
  for (let row = 0; row < queries; row++) {
    const usual = (candidate[row] ?? 0) - (baseline[row] ?? 0);
    for (const pair of pairs) squares += ((pair.candidate[row] ?? 0) - (pair.baseline[row] ?? 0) - usual) ** 2;
  }
  return { scores, noise: Math.sqrt(squares / (queries * (pairs.length - 1))) };
}
