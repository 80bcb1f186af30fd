import type { GoldenQuery } from '../../../model.ts';
import { csvRoleOf } from '../csv-table.ts';
import { goldenLimits } from '../limits.ts';
import { guardCell } from '../spreadsheet-cell.ts';
import { cannotHold, type ExportFile, joinLines } from './export-file.ts';

const columns = ['query_id', 'question', 'document', 'grade'];
const otherFormat = 'use --format jsonl or beir';

/**
 * CSV (RFC 4180): a row for each judgment, a column for each tag; every cell is in double quotes, and none is a formula for a spreadsheet.
 *
 * @throws RecalldError export_impossible for a tag named as one of our columns, for more tags than columns may be, and
 * for a text with CRLF, which would come back as LF
 */
export function exportCsv(queries: readonly GoldenQuery[]): ExportFile[] {
  const tags = [...new Set(queries.flatMap((query) => Object.keys(query.tags)))];
  for (const query of queries) refuse(query, tags.length);
  const rows = queries.flatMap(({ id, text, tags: own, judgments }) =>
    judgments.map(({ documentId, grade }) =>
      row([
        id,
        text,
        documentId,
        String(grade),
        ...tags.map((tag) => (Object.hasOwn(own, tag) ? (own[tag] ?? '') : '')),
      ]),
    ),
  );
  return [{ path: null, text: joinLines([row([...columns, ...tags]), ...rows]) }];
}

function refuse({ id, text, tags }: GoldenQuery, tagColumns: number): void {
  if (text.includes('\r\n')) {
    throw cannotHold('CSV', id, 'its text has a CRLF, which would come back as LF', otherFormat);
  }
  const taken = Object.keys(tags).find((tag) => csvRoleOf(tag) !== null);
  if (taken !== undefined) {
    const problem = `its tag ${JSON.stringify(taken)} is the name of a column of the format`;
    throw cannotHold('CSV', id, problem, otherFormat);
  }
  if (tagColumns > goldenLimits.tags) {
    const problem = `the set has ${tagColumns} different tags, and a table may have ${goldenLimits.tags}`;
    throw cannotHold('CSV', id, problem, otherFormat);
  }
}

function row(cells: readonly string[]): string {
  return cells.map((cell) => `"${guardCell(cell).replaceAll('"', '""')}"`).join(',');
}
