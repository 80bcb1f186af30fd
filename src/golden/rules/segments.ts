/** Bounded slices of a golden set, or of live queries, by the values of their tags. */

/** The segment of what is measured of one golden set, beside its own runs. */
const PREFIX = 'golden_set=';

export function goldenSegment(set: string): string {
  return `${PREFIX}${set}`;
}

/** The golden set that a segment names; null for a segment of traffic. */
export function goldenSetOf(segment: string): string | null {
  return segment.startsWith(PREFIX) ? segment.slice(PREFIX.length) : null;
}

/** Holds what did not fit under the cap. */
export const OTHER_SEGMENT = 'other';

/** What can be in a segment. */
export interface Tagged {
  readonly tags: Readonly<Record<string, string>>;
}

export interface Segment {
  /** `key=value`, or `other`. */
  readonly name: string;
  /** Indices into the queries. */
  readonly members: readonly number[];
}

/**
 * One segment per value of each key. When there are more than `max`, the largest stay (ties by name) and the queries
 * of the rest form `other`. Queries without the tag are in no segment of that key.
 */
export function groupBySegment(
  queries: readonly Tagged[],
  keys: readonly string[],
  max: number,
): { readonly segments: readonly Segment[]; readonly overflow: number } {
  const groups = new Map<string, number[]>();
  for (const [index, query] of queries.entries()) {
    for (const key of keys) {
      const value = query.tags[key];
      if (value === undefined) continue;
      const name = `${key}=${value}`;
      const members = groups.get(name);
      if (members === undefined) groups.set(name, [index]);
      else members.push(index);
    }
  }
  const ordered = [...groups]
    .map(([name, members]) => ({ name, members }))
    .toSorted((a, b) => b.members.length - a.members.length || (a.name < b.name ? -1 : 1));
  if (ordered.length <= max) return { segments: ordered, overflow: 0 };
  const folded = ordered.slice(max);
  const rest = [...new Set(folded.flatMap((segment) => segment.members))].toSorted((a, b) => a - b);
  return {
    segments: [...ordered.slice(0, max), { name: OTHER_SEGMENT, members: rest }],
    overflow: folded.length,
  };
}
