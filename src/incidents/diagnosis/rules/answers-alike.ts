/** Compares the results of bad golden runs with each other, with a good run, and with much older runs. */
import type { ComparedSide } from '../../../golden/rules/compare-golden-runs.ts';
import { isAlike } from './alike-lists.ts';
import { answeredOf } from './changed-answers.ts';

export type RepeatedAnswers = NonNullable<ReturnType<typeof repeatedAnswers>>;

/**
 * Compares two consecutive bad runs with a good run. Counts the queries whose results differ from those of the good
 * run: queries with the same new results in both bad runs, and queries with different new results. Returns null if too
 * few queries have results in all three runs. Also returns null if all changes happened between the two bad runs,
 * because only the second bad run shows these changes.
 */
export function repeatedAnswers(reference: ComparedSide, previous: ComparedSide, now: ComparedSide) {
  const [good, first, second] = [listsOf(reference), listsOf(previous), listsOf(now)];
  // An empty result list is no evidence that another index responded.
  const shared = [...second.keys()].filter((id) =>
    [good, first, second].every((lists) => (lists.get(id) ?? []).length > 0),
  );
  if (shared.length < MIN_SHARED) return null;
  const counts = {
    /** Number of queries whose results changed in at least one of the two bad runs. */
    changed: 0,
    /** Number of queries whose results changed in only one of the two bad runs. */
    inOne: 0,
    /** Number of queries whose results changed in the first bad run and were restored in the second. */
    back: 0,
    /** Number of queries whose results changed in both bad runs and are the same in these runs. */
    alike: 0,
    /** Number of queries whose results changed in both bad runs, but differ between these runs. */
    unlike: 0,
  };
  let changedFirst = 0;
  for (const id of shared) {
    const [was, before, after] = [good.get(id) ?? [], first.get(id) ?? [], second.get(id) ?? []];
    const [isOldFirst, isOldSecond] = [isAlike(was, before), isAlike(was, after)];
    if (isOldFirst && isOldSecond) continue;
    counts.changed += 1;
    if (!isOldFirst) changedFirst += 1;
    if (isOldSecond) counts.back += 1;
    if (isOldFirst || isOldSecond) counts.inOne += 1;
    else if (isAlike(before, after)) counts.alike += 1;
    else counts.unlike += 1;
  }
  return counts.changed > 0 && changedFirst === 0 ? null : counts;
}

export type OlderAnswers = NonNullable<ReturnType<typeof olderAnswers>>;

export interface OlderRun {
  /** Start of the run. */
  readonly at: Date;
  readonly side: ComparedSide;
}

/**
 * Returns the older run that is most similar to the current run. Also compares the older, the reference and the current
 * run in pairs: for each pair, returns the share of queries with the same results in both runs. Returns null if the
 * runs share too few queries.
 */
export function olderAnswers(older: readonly OlderRun[], reference: ComparedSide, now: ComparedSide) {
  const [good, current] = [listsOf(reference), listsOf(now)];
  const referenceWithNow = likeness(good, current);
  const compared = older.flatMap(({ at, side }) => {
    const lists = listsOf(side);
    const [withNow, withReference] = [likeness(lists, current), likeness(lists, good)];
    return withNow === null || withReference === null || referenceWithNow === null
      ? []
      : [{ at, withNow, withReference, referenceWithNow }];
  });
  return compared.toSorted((a, b) => b.withNow - a.withNow)[0] ?? null;
}

type Lists = ReadonlyMap<string, readonly string[]>;

const MIN_SHARED = 10;

function listsOf({ answers, settings }: ComparedSide): Lists {
  const k = Math.max(...settings.cutoffs);
  return new Map(
    [...answeredOf(answers)].map(([id, { documents }]) => [id, documents.slice(0, k).map((document) => document.id)]),
  );
}

/**
 * Returns the share of queries with the same results in both runs, among the queries that succeeded in both; null if
 * there are too few such queries.
 */
function likeness(a: Lists, b: Lists): number | null {
  const shared = [...a.keys()].filter((id) => b.has(id));
  if (shared.length < MIN_SHARED) return null;
  return shared.filter((id) => isAlike(a.get(id) ?? [], b.get(id) ?? [])).length / shared.length;
}
