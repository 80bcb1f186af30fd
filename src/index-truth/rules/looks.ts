/** How many documents a round looks at, from which place of their random order on, and what a count of them says. */
import { clopperPearsonInterval } from '../../stats/intervals.ts';

/** What was looked at, and of how many something is wrong. */
export interface Tally {
  readonly n: number;
  readonly found: number;
}

/** Times as many are drawn when the first look found something. */
const SECOND_LOOK = 5;

/**
 * Draws and looks; where the first look found something, draws anew, five times as many, and takes that alone: a page
 * does not wait for rounds to add up, and quiet rounds stay small. The second draw owes nothing to what the first one
 * found, so that its bounds hold.
 *
 * @param look at so many documents, drawn anew each time
 */
export async function lookTwice<Seen extends { readonly tally: Tally }>(
  first: number,
  look: (documents: number) => Promise<Seen>,
): Promise<Seen> {
  const seen = await look(first);
  return seen.tally.found === 0 ? seen : look(SECOND_LOOK * first);
}

export interface MeasuredShare {
  readonly value: number;
  readonly n: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  readonly ciMethod: 'clopper-pearson' | 'all';
}

/**
 * The share of what was looked at with which something is wrong, with 95 % bounds; they fall together where all
 * documents were looked at. Null where none was.
 */
export function shareOf({ n, found }: Tally, wasAll: boolean): MeasuredShare | null {
  if (n === 0) return null;
  const value = Math.min(found, n) / n;
  if (wasAll) return { value, n, ciLow: value, ciHigh: value, ciMethod: 'all' };
  const { low, high } = clopperPearsonInterval(Math.min(found, n), n, 0.95);
  return { value, n, ciLow: Math.min(low, value), ciHigh: Math.max(high, value), ciMethod: 'clopper-pearson' };
}

/**
 * By segment, and over all of them. Of more than `most` segments the largest are kept and the rest together are `other`.
 *
 * @param bySegment under an empty name what has none
 */
export function bySegments(
  bySegment: ReadonlyMap<string, Tally>,
  most: number,
): readonly (Tally & { readonly segment: string })[] {
  const named = [...bySegment]
    .filter(([segment]) => segment !== '')
    .toSorted(([a, { n: x }], [b, { n: y }]) => y - x || (a < b ? -1 : 1))
    .map(([segment, tally]) => ({ segment, ...tally }));
  const rest = named.slice(most);
  const other = rest.length === 0 ? [] : [{ segment: 'other', ...sumOf(rest) }];
  return [{ segment: 'all', ...sumOf([...bySegment.values()]) }, ...named.slice(0, most), ...other];
}

function sumOf(tallies: readonly Tally[]): Tally {
  return {
    n: tallies.reduce((sum, { n }) => sum + n, 0),
    found: tallies.reduce((sum, { found }) => sum + found, 0),
  };
}

/** Before all others. */
export const FIRST_PLACE = { place: '-9223372036854775808', id: '' };

/** @param uniform in [0, 1) */
export function drawnPlace(uniform: number): string {
  const high = BigInt(Math.floor(uniform * 2 ** 32));
  return String((high << 32n) - 2n ** 63n);
}
