/** Counts the documents that result lists lost, and the lists that lost them. */
import { isAlike } from './alike-lists.ts';
import type { Lists } from './foreign-lists.ts';

/** Returns the share of a list's earlier documents that are still in the list. */
export function keptOf({ old, now }: Lists): number {
  const found = new Set(now);
  return old.filter((id) => found.has(id)).length / old.length;
}

/** A list changed if it kept at most this share of its documents. */
const CHANGED = 0.9;
/** A list was replaced if it kept at most this share of its documents. */
const WHOLLY = 0.2;

/**
 * Counts the lists that lost documents (`changed`), and among them the lists that lost nearly all documents (`wholly`)
 * and the lists whose earlier documents only moved down, below others (`pushed`).
 */
export function replacedLists(lists: readonly Lists[]) {
  const changed = lists.filter((list) => keptOf(list) <= CHANGED);
  return {
    changed: changed.length,
    wholly: changed.filter((list) => keptOf(list) <= WHOLLY).length,
    pushed: changed.filter(isPushedDown).length,
  };
}

/**
 * Returns true if the upper half of the list begins with other documents, below which the list continues as before. A
 * shorter list does not show whether documents moved down or were cut off.
 */
function isPushedDown({ old, now }: Lists): boolean {
  if (now.length < old.length) return false;
  const most = Math.floor(now.length / 2);
  return Array.from({ length: most }, (_, at) => at + 1).some((count) => {
    const above = new Set(now.slice(0, count));
    const below = now.slice(count);
    const earlier = old.filter((id) => !above.has(id));
    return below.length <= earlier.length && below.every((id, place) => id === earlier[place]);
  });
}

/**
 * A document is examined only if the earlier run returned it for at least this many queries; chance alone can halve a
 * smaller number.
 */
const MIN_QUERIES_BEFORE = 3;

export function rarerDocuments(lists: readonly Lists[]) {
  const before = countLists(lists.map(({ old }) => old));
  const now = countLists(lists.map((list) => list.now));
  const rarer = [...before].flatMap(([id, count]) =>
    count >= MIN_QUERIES_BEFORE && 2 * (now.get(id) ?? 0) <= count ? [now.get(id) ?? 0] : [],
  );
  return { documents: rarer.length, gone: rarer.filter((count) => count === 0).length };
}

/**
 * Counts the documents that changed result lists lost, once per list (`lost`), and those of them that are no longer in
 * any changed list (`gone`). Documents that were in only one changed list do not count, because no other changed list
 * can show whether they are still returned.
 */
export function droppedDocuments(lists: readonly Lists[]) {
  const changed = lists.filter(({ old, now }) => !isAlike(old, now));
  const before = countLists(changed.map(({ old }) => old));
  const now = countLists(changed.map((list) => list.now));
  const lost = changed.flatMap((list) => list.old.filter((id) => !list.now.includes(id) && (before.get(id) ?? 0) > 1));
  return { lost: lost.length, gone: lost.filter((id) => !now.has(id)).length };
}

/** Returns the number of lists that contain each document. */
function countLists(lists: readonly (readonly string[])[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const id of lists.flatMap((ids) => [...new Set(ids)])) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
