/** The file of `recalld judge review`: a line of JSON for each query, with its documents to be graded. */
import { z } from 'zod';
import { RecalldError } from '../errors.ts';
import { parseBoundedJson } from '../text/json.ts';
import type { PersonGrade } from './people-grades.ts';
import type { ReviewedQuery } from './review-queue.ts';
import { MAX_GRADE } from './rules/judged-scores.ts';

const grade = z.int().min(0).max(MAX_GRADE).nullable();

const reviewed = z.looseObject({
  query_id: z.string().min(1),
  documents: z.array(z.looseObject({ id: z.string().min(1), grade })).min(1),
});

const single = z.looseObject({ query_id: z.string().min(1), document_id: z.string().min(1), grade });

export function reviewLine({ id, askedAt, text, documents }: ReviewedQuery): string {
  return JSON.stringify({
    query_id: id,
    asked_at: askedAt.toISOString(),
    query: text,
    documents: documents.map((document) => ({ id: document.id, text: document.text, grade: document.grade })),
  });
}

/**
 * The grades of a file: lines as `reviewLine` writes them, or `{"query_id", "document_id", "grade"}`. A grade of null is
 * none, and leaves what is there.
 *
 * @throws RecalldError file_malformed with the line and what is wrong
 */
export function readGrades(text: string, file: string): PersonGrade[] {
  const refuse = (line: number, problem: string): RecalldError =>
    new RecalldError(
      'file_malformed',
      `${file}, line ${line}: ${problem}; write {"query_id", "documents": [{"id", "grade"}]} with grades from 0 to ${MAX_GRADE}.`,
    );
  return text.split('\n').flatMap((line, index): PersonGrade[] => {
    if (line.trim() === '') return [];
    let value: unknown;
    try {
      value = parseBoundedJson(line);
    } catch {
      throw refuse(index + 1, 'this is no JSON');
    }
    const one = single.safeParse(value);
    if (one.success) return given(one.data.query_id, [{ id: one.data.document_id, grade: one.data.grade }]);
    const query = reviewed.safeParse(value);
    if (query.success) return given(query.data.query_id, query.data.documents);
    const path = query.error.issues[0]?.path.join('.') ?? '';
    throw refuse(index + 1, path === '' ? 'this is no judgment' : `${path} is missing or not what it should be`);
  });
}

function given(queryId: string, documents: readonly { readonly id: string; readonly grade: number | null }[]) {
  return documents.flatMap(({ id: documentId, grade: of }) =>
    of === null ? [] : [{ queryId, documentId, grade: of }],
  );
}
