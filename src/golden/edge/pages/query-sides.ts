/** A golden query in two runs: its results before and now, with grades and changes of rank. */
import type { Judgment, RetrievedDocument } from '../../../core/model.ts';

export type RankedDocument = ReturnType<typeof sideBySide>['before'][number];

/** A repeated document counts at its first rank. `missed` has the relevant documents not returned now, best first. */
export function sideBySide(
  before: readonly RetrievedDocument[],
  after: readonly RetrievedDocument[],
  judgments: readonly Judgment[],
) {
  const grades = new Map(judgments.map(({ documentId, grade }) => [documentId, grade]));
  const [listedBefore, listedAfter] = [merged(before), merged(after)];
  const [old, now] = [ranksOf(listedBefore), ranksOf(listedAfter)];
  const ranked = (
    documents: readonly RetrievedDocument[],
    own: ReadonlyMap<string, number>,
    other: ReadonlyMap<string, number>,
  ) =>
    documents.flatMap(({ id, score }, index) =>
      own.get(id) === index + 1
        ? [
            {
              id,
              rank: index + 1,
              score,
              grade: grades.get(id) ?? null,
              /** Rank of the document on the other side; null if it is absent there. */
              otherRank: other.get(id) ?? null,
            },
          ]
        : [],
    );
  return {
    before: ranked(listedBefore, old, now),
    after: ranked(listedAfter, now, old),
    missed: judgments
      .filter(({ documentId, grade }) => grade > 0 && !now.has(documentId))
      .toSorted((a, b) => b.grade - a.grade),
  };
}

function merged(documents: readonly RetrievedDocument[]): readonly RetrievedDocument[] {
  if (documents.every(({ step }) => step === undefined)) return documents;
  const seen = new Set<string>();
  return documents.filter(({ id }) => !seen.has(id) && seen.add(id));
}

function ranksOf(documents: readonly RetrievedDocument[]): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const [index, { id }] of documents.entries()) if (!ranks.has(id)) ranks.set(id, index + 1);
  return ranks;
}
