/** Answers and judgments of chunks as those of the documents that the chunks are of. */
import type { GoldenQuery } from '../../model.ts';
import type { QueryAnswer } from './run.ts';

/** The id of a chunk before the separator; the whole of one that has none, or begins with it. */
export function documentOf(id: string, separator: string): string {
  const end = id.indexOf(separator);
  return end > 0 ? id.slice(0, end) : id;
}

/** Each document with the best grade of its chunks. */
export function queriesByDocument(queries: readonly GoldenQuery[], separator: string): GoldenQuery[] {
  return queries.map((query) => {
    const grades = new Map<string, number>();
    for (const { documentId, grade } of query.judgments) {
      const document = documentOf(documentId, separator);
      grades.set(document, Math.max(grade, grades.get(document) ?? grade));
    }
    return { ...query, judgments: [...grades].map(([documentId, grade]) => ({ documentId, grade })) };
  });
}

/** A document as often as it has chunks among them; whoever scores takes the first. */
export function answersByDocument(answers: readonly QueryAnswer[], separator: string): QueryAnswer[] {
  return answers.map((answer) => ({
    ...answer,
    documents: answer.documents.map((found) => ({ ...found, id: documentOf(found.id, separator) })),
  }));
}
