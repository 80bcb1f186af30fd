import type { GoldenQuery } from '../../../model.ts';
import { cannotHold, type ExportFile, joinLines } from './export-file.ts';

/** The reader's limit of a line, less than what the bytes of a character can make of it. */
const MAX_LINE_LENGTH = 4 * 1024 * 1024;

/** The JSONL form: one query with its tags and judgments on each line; holds everything that can be imported. */
export function exportJsonLines(queries: readonly GoldenQuery[]): ExportFile[] {
  const lines = queries.map((query) =>
    jsonLine('JSONL', query, {
      id: query.id,
      text: query.text,
      ...(Object.keys(query.tags).length === 0 ? {} : { tags: query.tags }),
      judgments: query.judgments.map(({ documentId, grade }) => ({ document_id: documentId, grade })),
    }),
  );
  return [{ path: null, text: joinLines(lines) }];
}

/** @throws RecalldError export_impossible for what the reader of JSON lines refuses */
export function jsonLine(format: string, query: GoldenQuery, value: unknown): string {
  if (Object.hasOwn(query.tags, '__proto__')) {
    throw cannotHold(format, query.id, 'its tag "__proto__" is lost in JSON', 'use --format csv');
  }
  const line = JSON.stringify(value);
  if (line.length <= MAX_LINE_LENGTH) return line;
  const problem = `it takes a line of ${line.length} characters, and a line may have ${MAX_LINE_LENGTH}`;
  throw cannotHold(format, query.id, problem, 'use --format csv or beir');
}
