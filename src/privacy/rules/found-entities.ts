/** Takes out of a text what a service found in it. */

/** A find, as Presidio tells it. Offsets count code points, as Python does, from 0; `end` is exclusive. */
export interface FoundEntity {
  /** Such as PERSON. */
  readonly entityType: string;
  readonly start: number;
  readonly end: number;
  readonly score: number;
}

/** A find whose offsets count code units. */
type Region = FoundEntity;

const typeName = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const placeholder = /\[[A-Z][A-Z0-9_]*\]/g;

/**
 * The text with each find replaced by its type, `[PERSON]`. Finds that overlap become one, of the type of the highest
 * score; one that touches the placeholder of an earlier redaction takes the whole of it, so that no half of one stays.
 *
 * Null when a find does not fit the text: an offset that is no whole number, beyond the end or before the start, or a
 * type that is no name. A service that counts otherwise than we do has then found nothing that can be trusted.
 */
export function redactFound(text: string, found: readonly FoundEntity[]): string | null {
  if (found.length === 0) return text;
  const offsets = codeUnitOffsets(text);
  const last = offsets.length - 1;
  const regions: Region[] = [];
  for (const { entityType, start, end, score } of found) {
    const fits = Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end && end <= last;
    if (!fits || !typeName.test(entityType) || Number.isNaN(score)) return null;
    regions.push({ start: offsets[start] ?? 0, end: offsets[end] ?? 0, entityType, score });
  }
  const parts: string[] = [];
  let position = 0;
  for (const { start, end, entityType } of mergeRegions(text, regions)) {
    parts.push(text.slice(position, start), `[${entityType.toUpperCase()}]`);
    position = end;
  }
  parts.push(text.slice(position));
  return parts.join('');
}

/** Where each code point begins in code units, and the end of the text. */
function codeUnitOffsets(text: string): number[] {
  const offsets: number[] = [];
  let position = 0;
  for (const character of text) {
    offsets.push(position);
    position += character.length;
  }
  offsets.push(position);
  return offsets;
}

/** Regions that do not overlap, ascending, none of which ends within a placeholder. */
function mergeRegions(text: string, regions: readonly Region[]): Region[] {
  const fixed = Array.from(text.matchAll(placeholder), ({ index, 0: match }) => ({
    start: index,
    end: index + match.length,
    entityType: '',
    score: Number.NEGATIVE_INFINITY,
  }));
  const merged: Region[] = [];
  for (const region of [...regions, ...fixed].toSorted((a, b) => a.start - b.start)) {
    const before = merged.at(-1);
    if (before === undefined || region.start >= before.end) {
      merged.push(region);
      continue;
    }
    const strongest = region.score > before.score ? region : before;
    merged[merged.length - 1] = { ...strongest, start: before.start, end: Math.max(before.end, region.end) };
  }
  return merged.filter(({ entityType }) => entityType !== '');
}
