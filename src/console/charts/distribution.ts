/** Shares of two sets of values over common bins. No markup. */

export interface Distributions {
  /** Ends of the bins, one more than there are. */
  readonly edges: readonly number[];
  /** Shares by bin, each adding up to 1; null without a value. */
  readonly reference: readonly number[] | null;
  readonly current: readonly number[] | null;
}

interface Weighted {
  readonly low: number;
  readonly high: number;
  readonly weights: readonly number[];
}

/**
 * @param reference ascending; null where there is none
 * @param current in bins of one width that hold the reference too; null where there is none
 * @param bins taken when there is no `current`
 */
export function distributions(
  reference: ArrayLike<number> | null,
  current: Weighted | null,
  bins: number,
): Distributions | null {
  const low = current?.low ?? reference?.[0];
  const high = current?.high ?? reference?.[reference.length - 1];
  if (low === undefined || high === undefined) return null;
  const count = current?.weights.length ?? bins;
  const width = (high - low) / count;
  const edges = Array.from({ length: count + 1 }, (_, index) => low + index * width);
  return {
    edges,
    reference:
      reference === null || reference.length === 0 ? null : sharesOf(binned(reference, low, width, count)),
    current: current === null ? null : sharesOf(current.weights),
  };
}

function binned(values: ArrayLike<number>, low: number, width: number, count: number): number[] {
  const bins = Array.from({ length: count }, () => 0);
  for (let index = 0; index < values.length; index += 1) {
    const bin = width === 0 ? 0 : Math.floor(((values[index] ?? 0) - low) / width);
    const place = Math.max(0, Math.min(count - 1, bin));
    bins[place] = (bins[place] ?? 0) + 1;
  }
  return bins;
}

function sharesOf(weights: readonly number[]): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => (total === 0 ? 0 : weight / total));
}
