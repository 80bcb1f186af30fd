/** One query's ranking before and after, side by side. */
import type { Judgment, RetrievedDocument } from '../../model.ts';

export interface RankedDocument {
  readonly id: string;
  /** From 1. */
  readonly rank: number;
  readonly score: number | null;
  /** Null: nobody judged it for this query. */
  readonly grade: number | null;
  /** Its rank on the other side; null: it is not there. */
  readonly otherRank: number | null;
}

export interface SideBySide {
  readonly before: readonly RankedDocument[];
  readonly after: readonly RankedDocument[];
  /** Judged with a grade above 0 and on neither side, the highest grade first. */
  readonly missed: readonly Judgment[];
}

/** A document that was returned twice counts at its first rank. */
export function sideBySide(
  before: readonly RetrievedDocument[],
  after: readonly RetrievedDocument[],
  judgments: readonly Judgment[],
): SideBySide {
  const grades = new Map(judgments.map(({ documentId, grade }) => [documentId, grade]));
  const [old, now] = [ranksOf(before), ranksOf(after)];
  const ranked = (
    documents: readonly RetrievedDocument[],
    own: ReadonlyMap<string, number>,
    other: ReadonlyMap<string, number>,
  ): RankedDocument[] =>
    documents.flatMap(({ id, score }, index) =>
      own.get(id) === index + 1
        ? [{ id, rank: index + 1, score, grade: grades.get(id) ?? null, otherRank: other.get(id) ?? null }]
        : [],
    );
  return {
    before: ranked(before, old, now),
    after: ranked(after, now, old),
    missed: judgments
      .filter(({ documentId, grade }) => grade > 0 && !old.has(documentId) && !now.has(documentId))
      .toSorted((a, b) => b.grade - a.grade),
  };
}

function ranksOf(documents: readonly RetrievedDocument[]): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const [index, { id }] of documents.entries()) if (!ranks.has(id)) ranks.set(id, index + 1);
  return ranks;
}
