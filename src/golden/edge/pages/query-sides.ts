/** A golden query in two runs: its results before and now, with grades and changes in rank. */
import type { Judgment, RetrievedDocument } from '../../../core/model.ts';
import type { Column, Content, ContentNode, Table } from '../../../report/model/content.ts';
import { documentId, styled, table, value, verbatim, why } from '../../../report/model/show.ts';
import { isStaleFate } from '../../rules/labels.ts';
import { ranksOf } from '../../rules/steps.ts';
import type { QueryPageData } from './golden-reads.ts';

export type RankedDocument = ReturnType<typeof sideBySide>['before'][number];

/**
 * Combines the results of a query in two runs. A repeated document counts only at its first rank. `missed` contains the
 * documents with a grade above 0 that are not returned now, highest grade first.
 */
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
              /** Rank of the document in the other run; null if that run did not return it. */
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

/** Removes documents that an earlier step returned, because a merged ranking contains each document only once. */
function merged(documents: readonly RetrievedDocument[]): readonly RetrievedDocument[] {
  if (documents.every(({ step }) => step === undefined)) return documents;
  const seen = new Set<string>();
  return documents.filter(({ id }) => !seen.has(id) && seen.add(id));
}

/** @param change column that compares the documents with another ranking; null to omit this column */
export function rankedTable<Row extends Omit<RankedDocument, 'otherRank'>>(
  caption: string,
  rows: readonly Row[],
  { fates, words }: QueryPageData,
  change: Column<Row> | null,
): Table {
  return table(
    caption,
    rows,
    [
      ['Rank', ({ rank }) => rank, 'number'],
      ['Document', ({ id }) => named(id, words)],
      ['Grade', ({ id, grade }) => gradeOf(grade, isStaleFate(fates.get(id)))],
      change,
      ['Score', ({ score }) => score !== null && value(score, 'other'), 'minor number'],
    ],
    'compact',
  );
}

/** Shows a document with its first words. */
export function named(id: string, words: QueryPageData['words']): Content {
  const known = words.get(id);
  return [documentId(id), known !== undefined && why(verbatim(known))];
}

function gradeOf(grade: number | null, isStale: boolean): ContentNode {
  if (grade === null) return styled('unjudged', 'unjudged');
  return styled(
    grade > 0 ? 'relevant' : 'unjudged',
    grade > 0 ? `relevant, ${grade}` : 'not relevant',
    isStale && ', stale',
  );
}
