/** The segment of what is measured of one golden set, beside its own runs. */

const PREFIX = 'golden_set=';

export function goldenSegment(set: string): string {
  return `${PREFIX}${set}`;
}

/** The golden set that a segment names; null for a segment of traffic. */
export function goldenSetOf(segment: string): string | null {
  return segment.startsWith(PREFIX) ? segment.slice(PREFIX.length) : null;
}
