/** Lines of qrels files: TREC's four columns and BEIR's three. */

import { malformed, quoted, type SourceLine } from '../../text/source-line.ts';
import { parseGrade } from './limits.ts';

export interface QrelsLine {
  readonly queryId: string;
  readonly documentId: string;
  readonly grade: number;
}

/**
 * Reads `query iteration document grade` (TREC) or `query document grade` (BEIR); null for a header such as
 * `query-id corpus-id score` in the first line. Where tabs give three or four columns, an id may hold spaces.
 * @throws RecalldError `file_malformed` for another number of columns or a grade that is not a whole number.
 */
export function parseQrelsLine(line: SourceLine): QrelsLine | null {
  const cells = columns(line.text);
  const queryId = cells[0];
  const documentId = cells[cells.length - 2];
  const gradeText = cells[cells.length - 1]?.trim();
  const isCounted = cells.length === 3 || cells.length === 4;
  if (!isCounted || queryId === undefined || documentId === undefined || gradeText === undefined) {
    throw malformed(
      line,
      `has ${cells.length} columns; write "query 0 document grade" (TREC) or query, document and grade parted by tabs (BEIR)`,
    );
  }
  const grade = parseGrade(gradeText);
  if (grade !== null) return { queryId, documentId, grade };
  if (line.line === 1 && /^(grade|label|rel|relevance|score)$/i.test(gradeText)) return null;
  throw malformed(line, `has the grade ${quoted(gradeText)}, which is not a whole number; use 0, 1, 2, ...`);
}

function columns(text: string): string[] {
  const byTab = text.split('\t');
  return byTab.length === 3 || byTab.length === 4 ? byTab : text.trim().split(/\s+/);
}
