/** Which judged documents are still in the store. */
import type { GoldenQuery } from '../../model.ts';

/** A judgment whose document is gone. */
export interface StaleLabel {
  readonly queryId: string;
  readonly documentId: string;
  readonly grade: number;
}

/** What a look at the store said of the labels of a golden set. */
export type LabelProbe =
  | {
      readonly kind: 'probed';
      /** Different judged documents that were looked for. */
      readonly probed: number;
      /** How many of them are gone. */
      readonly stale: number;
      readonly labels: readonly StaleLabel[];
      /** Ids of queries that lost a judged document: their scores may fall without any fault of the retriever. */
      readonly touched: ReadonlySet<string>;
      /** Ids of queries that had relevant documents and lost them all. */
      readonly dead: ReadonlySet<string>;
    }
  /** Nobody could look. */
  | { readonly kind: 'unknown'; readonly reason: string };

/** Documents with a grade above 0: only their absence changes a score. */
export function judgedDocuments(queries: readonly GoldenQuery[]): string[] {
  const ids = queries.flatMap(({ judgments }) =>
    judgments.filter(({ grade }) => grade > 0).map(({ documentId }) => documentId),
  );
  return [...new Set(ids)];
}

/**
 * Compares the judged documents of a set with those that the store still holds.
 *
 * @param existing those of `judgedDocuments` that are in the store
 * @param relevanceLevel least grade that counts as relevant
 */
export function probeLabels(
  queries: readonly GoldenQuery[],
  existing: ReadonlySet<string>,
  relevanceLevel: number,
): LabelProbe {
  const labels: StaleLabel[] = [];
  const touched = new Set<string>();
  const dead = new Set<string>();
  for (const { id: queryId, judgments } of queries) {
    const gone = judgments.filter(({ grade, documentId }) => grade > 0 && !existing.has(documentId));
    if (gone.length === 0) continue;
    touched.add(queryId);
    labels.push(...gone.map(({ documentId, grade }) => ({ queryId, documentId, grade })));
    const relevant = judgments.filter(({ grade }) => grade >= relevanceLevel);
    if (relevant.length > 0 && relevant.every(({ documentId }) => !existing.has(documentId)))
      dead.add(queryId);
  }
  const judged = judgedDocuments(queries);
  const stale = judged.filter((id) => !existing.has(id)).length;
  return { kind: 'probed', probed: judged.length, stale, labels, touched, dead };
}
