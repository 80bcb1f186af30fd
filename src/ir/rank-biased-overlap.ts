/** How alike two rankings of one question are, without a judgment. */

/** Chance that a reader who looked at one document looks at the next: the first ten weigh 86 %. */
const PERSISTENCE = 0.9;

/**
 * Rank-biased overlap of the first k of two rankings, extrapolated from the depth that both have: 1 for the same documents
 * in the same order, 0 for none in common; agreement at the top weighs most. Two empty rankings are the same.
 *
 * Source: Webber, Moffat and Zobel, "A similarity measure for indefinite rankings", ACM TOIS 28(4), 2010, equation 32,
 * for rankings of different length as well.
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
    // Beyond its end the shorter one is thought to go on agreeing as it did.
    const unseen = depth > s ? (commonAtShort * (depth - s)) / s : 0;
    sum += ((common + unseen) / depth) * p ** depth;
  }
  const beyond = (common - commonAtShort) / l + commonAtShort / s;
  return Math.min(1, ((1 - p) / p) * sum + beyond * p ** l);
}
