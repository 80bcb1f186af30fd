/** Determines whether the calls that became slower, or faster, are those whose results changed in a golden run. */

/** A query that succeeded in both runs, with the latencies of its calls in milliseconds. */
export interface TimedCall {
  readonly isChanged: boolean;
  readonly before: number;
  readonly now: number;
}

const MIN_CALLS = 5;
/** Added to both latencies, so that differences of a few milliseconds between fast calls do not count. */
const FAST_MS = 20;

/**
 * Uses the Mann-Whitney test (Mann and Whitney, 1947; variance corrected for ties) to compare the latency growth of
 * calls whose results changed with that of all other calls. The growth is the ratio to the latency of the same call in
 * the earlier run, so a call that is always slow shows no growth.
 *
 * @returns null if there are too few calls with changed or with unchanged results
 */
export function changedCalls(calls: readonly TimedCall[]) {
  const ratios = calls
    .map(({ isChanged, before, now }) => ({ isChanged, ratio: (now + FAST_MS) / (before + FAST_MS) }))
    .toSorted((a, b) => a.ratio - b.ratio);
  const n = ratios.length;
  const changed = ratios.filter(({ isChanged }) => isChanged).length;
  if (Math.min(changed, n - changed) < MIN_CALLS) return null;
  let [ranks, ties] = [0, 0];
  for (let start = 0; start < n; ) {
    let end = start;
    while (end < n && ratios[end]?.ratio === ratios[start]?.ratio) end += 1;
    const group = ratios.slice(start, end);
    ranks += group.filter(({ isChanged }) => isChanged).length * ((start + end + 1) / 2);
    ties += group.length ** 3 - group.length;
    start = end;
  }
  const pairs = changed * (n - changed);
  const variance = (pairs / 12) * (n + 1 - ties / (n * (n - 1)));
  const greater = ranks - (changed * (changed + 1)) / 2;
  return {
    changed,
    unchanged: n - changed,
    /**
     * Probability that the latency of a call with changed results grew more than that of a call with unchanged results;
     * ties count half.
     */
    slower: greater / pairs,
    /** Distance of `slower` from 0.5 in standard errors; 0 if all ratios are equal. */
    z: variance > 0 ? (greater - pairs / 2) / Math.sqrt(variance) : 0,
  };
}
