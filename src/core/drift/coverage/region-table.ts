import type { QueryDensity } from './query-density.ts';

export interface RegionRow {
  readonly region: number;
  /** Of the traffic now and in the baseline, 0..1. */
  readonly share: number;
  readonly baselineShare: number;
  /** Null when the window has no query there. */
  readonly density: number | null;
  /** share * -ln D: what the region adds to -ln D of all traffic; 0 without queries, negative when better covered. */
  readonly explained: number;
}

/**
 * What each region adds to a fall of the density, most first. With all queries in regions the parts sum to -ln D of the
 * whole.
 *
 * @param baselineShares by number of the region
 */
export function regionTable(
  { regions }: Pick<QueryDensity, 'regions'>,
  baselineShares: readonly number[],
): readonly RegionRow[] {
  return baselineShares
    .map((baselineShare, region): RegionRow => {
      const own = regions.find((candidate) => candidate.region === region);
      if (own === undefined) return { region, share: 0, baselineShare, density: null, explained: 0 };
      const explained = own.share * -Math.log(own.density);
      return { region, share: own.share, baselineShare, density: own.density, explained };
    })
    .toSorted((a, b) => b.explained - a.explained || a.region - b.region);
}
