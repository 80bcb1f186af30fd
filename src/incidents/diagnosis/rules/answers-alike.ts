/** Whether the answers of several golden runs are alike: of bad runs one after the other, and of runs long before. */
import type { ComparedSide } from '../../../golden/rules/compare-golden-runs.ts';
import { answeredOf } from './changed-answers.ts';

/** How the answers that changed since a good run go on from one bad run to the next. */
export interface RepeatedAnswers {
  /** Queries whose answer changed in at least one of the two bad runs. */
  readonly changed: number;
  /** Of those: changed in one of the two alone, and as before in the other. */
  readonly inOne: number;
  /** Of those: changed in the first, and back in the second. */
  readonly back: number;
  /** Of those: changed in both, to the same answer. */
  readonly alike: number;
  /** Of those: changed in both, to two different answers. */
  readonly unlike: number;
}

/**
 * Null when too few queries were answered in all three, or all that changed did so between the two bad runs: what came
 * then has not been seen twice.
 */
export function repeatedAnswers(
  reference: ComparedSide,
  previous: ComparedSide,
  now: ComparedSide,
): RepeatedAnswers | null {
  const [good, first, second] = [listsOf(reference), listsOf(previous), listsOf(now)];
  // An empty list is no answer of another index.
  const shared = [...second.keys()].filter((id) =>
    [good, first, second].every((lists) => (lists.get(id) ?? []).length > 0),
  );
  if (shared.length < MIN_SHARED) return null;
  const counts = { changed: 0, inOne: 0, back: 0, alike: 0, unlike: 0 };
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

/** How much the answers of a run are those of a run long before. */
export interface OlderAnswers {
  /** When the older run that is most like it started. */
  readonly at: Date;
  /** Shares of the queries with the same answer in both: older and now, older and reference, reference and now. */
  readonly withNow: number;
  readonly withReference: number;
  readonly referenceWithNow: number;
}

export interface OlderRun {
  readonly at: Date;
  readonly side: ComparedSide;
}

/** Of several older runs the one that is most like the run now; null without one that shares queries. */
export function olderAnswers(
  older: readonly OlderRun[],
  reference: ComparedSide,
  now: ComparedSide,
): OlderAnswers | null {
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

/** Share of the queries of both with the same answer. */
function likeness(a: Lists, b: Lists): number | null {
  const shared = [...a.keys()].filter((id) => b.has(id));
  if (shared.length < MIN_SHARED) return null;
  return shared.filter((id) => isAlike(a.get(id) ?? [], b.get(id) ?? [])).length / shared.length;
}

/** Documents that two answers share, of those in either, from which on they are one answer: a retriever may waver a little. */
const SAME_ANSWER = 0.75;
/** As many of the documents at the first places must stand where they stood. */
const SAME_PLACES = 0.5;
const FIRST_PLACES = 5;

function isAlike(a: readonly string[], b: readonly string[]): boolean {
  if (a.length === 0 || b.length === 0) return a.length === b.length;
  const other = new Set(b);
  const common = a.filter((id) => other.has(id)).length;
  if (common / (a.length + b.length - common) < SAME_ANSWER) return false;
  const first = a.slice(0, FIRST_PLACES);
  return first.filter((id, place) => b[place] === id).length >= SAME_PLACES * first.length;
}
