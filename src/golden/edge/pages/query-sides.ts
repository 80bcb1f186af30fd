/** A golden query in two runs: its results before and now, with grades and changes of rank. */
import type { GoldenQuery, Judgment, RetrievedDocument } from '../../../core/model.ts';
import type { Incident } from '../../../incidents/diagnosis/rules/incident.ts';
import type { Explained } from '../../../incidents/explain/answers.ts';
import type { GoldenRun, QueryAnswer } from '../../rules/run.ts';

export interface QuerySide {
  readonly run: GoldenRun;
  /** Answer to the query; null if the run has none. */
  readonly answer: QueryAnswer | null;
  /** Scores by metric key. */
  readonly scores: Readonly<Record<string, number>>;
}

export interface QueryPageData {
  readonly query: GoldenQuery;
  /** True unless the config forbids showing the texts of this pipeline. */
  readonly showsText: boolean;
  /** First words of documents, by id. */
  readonly words: ReadonlyMap<string, string>;
  readonly after: QuerySide;
  /** Answer in the compared run; null if there is no run to compare with. */
  readonly before: QuerySide | null;
  /** Judged documents that are no longer in the store. */
  readonly stale: ReadonlySet<string>;
  /** Why relevant documents are missed, determined while the page is built; null unless requested. */
  readonly explained: readonly Explained[] | null;
  /** The incident that the run was part of; null if there is none. */
  readonly incident: Incident | null;
}

export interface RankedDocument {
  readonly id: string;
  /** From 1. */
  readonly rank: number;
  readonly score: number | null;
  /** Grade of the document; null if it is unjudged for this query. */
  readonly grade: number | null;
  /** Rank of the document on the other side; null if it is absent there. */
  readonly otherRank: number | null;
}

/**
 * A repeated document counts at its first rank.
 *
 * @returns in `missed`, documents with a grade above 0 that are no longer returned, highest grade first
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
  ): RankedDocument[] =>
    documents.flatMap(({ id, score }, index) =>
      own.get(id) === index + 1
        ? [{ id, rank: index + 1, score, grade: grades.get(id) ?? null, otherRank: other.get(id) ?? null }]
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

/** Removes documents that an earlier step returned, as the merged ranking of the steps does. */
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
