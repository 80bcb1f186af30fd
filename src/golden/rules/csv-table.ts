/** A table of questions and documents: which column plays which part, and what a row adds to a golden set. */
import { contentId } from '../../text/content-id.ts';
import { malformed, quoted, type SourcePlace } from '../../text/source-line.ts';
import { goldenLimits, parseGrade, tagKeyProblem } from './golden-set.ts';
import type { GoldenSetBuilder } from './golden-set-builder.ts';

/**
 * Cells that a spreadsheet would run. A golden set may hold what users typed, and somebody opens its CSV in Excel: a
 * text that starts with `=`, `+`, `-`, `@`, a tab or CR is taken for a formula there, and one with an apostrophe before
 * it is not (OWASP, "CSV Injection").
 */
const GUARDED = /^'+[=+\-@\t\r]/;
const FORMULA = /^'*[=+\-@\t\r]/;

/** The text as it stands in a file: with one more apostrophe when it could be read as a formula. */
export function guardCell(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/** The text of a cell of a file; the inverse of `guardCell`. */
export function unguardCell(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell;
}

/** Names are compared in lower case, with spaces and hyphens read as underscores. */
const columnNames = [
  ['question', ['question', 'query', 'text']],
  ['document', ['document', 'document_id', 'doc', 'doc_id', 'docid', 'corpus_id']],
  ['documentText', ['document_text']],
  ['grade', ['grade', 'relevance', 'score', 'rating']],
  ['queryId', ['query_id', 'qid']],
  ['forbidden', ['forbidden']],
  ['noAnswer', ['no_answer']],
] as const satisfies readonly (readonly [string, readonly string[]])[];

type Role = (typeof columnNames)[number][0];

export interface CsvColumns {
  readonly width: number;
  readonly question: number;
  /** At least one of the two that say which document it is. */
  readonly document: number | null;
  readonly documentText: number | null;
  readonly grade: number | null;
  readonly queryId: number | null;
  /** Whether the document must never come back. */
  readonly forbidden: number | null;
  /** Whether nothing answers the question. */
  readonly noAnswer: number | null;
  /** Every other named column; one without a name is absent and must stay empty. */
  readonly tags: readonly { readonly index: number; readonly key: string }[];
}

/**
 * Reads the header row.
 * @throws RecalldError `file_malformed` when the question or the document column is missing or there twice.
 */
export function parseCsvHeader(cells: readonly string[], place: SourcePlace): CsvColumns {
  if (cells.some((cell) => cell.includes('\r'))) {
    throw malformed(place, 'ends with CR alone; save the file with LF or CRLF');
  }
  const found = new Map<Role, number>();
  const tags: { index: number; key: string }[] = [];
  for (const [index, cell] of cells.entries()) {
    const name = unguardCell(cell.trim());
    if (name === '') continue;
    const role = roleOf(name, place);
    if (role === null) {
      const problem = tagKeyProblem(name);
      if (problem !== null) throw malformed(place, problem);
      if (tags.some(({ key }) => key === name)) throw malformed(place, `has two columns ${quoted(name)}; rename one`);
      tags.push({ index, key: name });
      continue;
    }
    const other = found.get(role);
    if (other !== undefined) {
      const names = `${quoted(cells[other]?.trim() ?? '')} and ${quoted(name)}`;
      throw malformed(place, `has two columns for the same thing, ${names}; rename or remove one`);
    }
    found.set(role, index);
  }
  if (tags.length > goldenLimits.tags) {
    throw malformed(place, `has ${tags.length} columns for tags; use at most ${goldenLimits.tags}`);
  }
  return {
    width: cells.length,
    question: required(found, 'question', place),
    document: found.has('documentText') ? (found.get('document') ?? null) : required(found, 'document', place),
    documentText: found.get('documentText') ?? null,
    grade: found.get('grade') ?? null,
    queryId: found.get('queryId') ?? null,
    forbidden: found.get('forbidden') ?? null,
    noAnswer: found.get('noAnswer') ?? null,
    tags,
  };
}

/**
 * Adds a row: its query, and unless the document is empty a judgment or a forbidden document. An empty grade counts as
 * 1. A row of empty cells adds nothing.
 * @throws RecalldError `file_malformed` for a row that is too short, too long or holds a bad value.
 */
export function addCsvRow(
  builder: GoldenSetBuilder,
  columns: CsvColumns,
  cells: readonly string[],
  place: SourcePlace,
  rowsAsQueries: boolean,
): void {
  const cell = (index: number | null): string => (index === null ? '' : unguardCell(cells[index] ?? ''));
  if (cells.every((value) => value.trim() === '')) return;
  if (cells.length < columns.width || cells.slice(columns.width).some((value) => value.trim() !== '')) {
    throw malformed(
      place,
      `has ${cells.length} cells, but the header has ${columns.width}; put double quotes around text that holds the delimiter`,
    );
  }
  const { question, grade, queryId: idColumn, forbidden, noAnswer } = columns;
  const named = new Set([question, columns.document, columns.documentText, grade, idColumn, forbidden, noAnswer]);
  for (const { index } of columns.tags) named.add(index);
  const unnamed = cells.findIndex((value, index) => value.trim() !== '' && !named.has(index));
  if (unnamed !== -1) {
    throw malformed(place, `has a value in column ${unnamed + 1}, which has no name; name the column or remove it`);
  }
  const queryId = builder.addQuery(
    {
      id: cell(columns.queryId).trim() === '' ? null : cell(columns.queryId),
      text: cell(columns.question),
      tags: Object.fromEntries(columns.tags.map(({ index, key }) => [key, cell(index)])),
    },
    place,
    rowsAsQueries ? 'separate' : 'join',
  );
  const document = documentOf(cell(columns.document), cell(columns.documentText), place);
  const isForbidden = truthOf('forbidden', cell(forbidden).trim(), place);
  if (truthOf('no_answer', cell(noAnswer).trim(), place)) {
    const hasMore = isForbidden || document.trim() !== '' || cell(grade).trim() !== '';
    if (hasMore) throw malformed(place, 'says no_answer and names a document or a grade; leave these cells empty');
    return builder.addNoAnswer(queryId, place);
  }
  if (isForbidden && cell(columns.grade).trim() !== '')
    throw malformed(place, 'forbids a document and grades it; leave one of the two cells empty');
  if (document.trim() === '') {
    if (isForbidden) throw malformed(place, 'forbids no document; write its id under document');
    return;
  }
  if (isForbidden) return builder.addForbidden(queryId, document, place);
  builder.addJudgment(queryId, document, gradeOf(cell(columns.grade).trim(), place), place);
}

/** The id of a cell, or the one that is made of a text; empty where both are. */
function documentOf(id: string, text: string, place: SourcePlace): string {
  const ofText = contentId(text);
  if (ofText === null) return id;
  if (id.trim() === '') return ofText;
  throw malformed(place, 'has the id of a document and its text; leave one of the two cells empty');
}

function roleOf(name: string, place: SourcePlace): Role | null {
  const role = csvRoleOf(name);
  if (role !== 'id') return role;
  throw malformed(place, 'has a column "id", which may mean either; call it query_id or document_id');
}

/** What a column of that name holds: `id` may mean either id, null is a tag. */
export function csvRoleOf(name: string): Role | 'id' | null {
  const plain = name.toLowerCase().replaceAll(/[\s-]+/g, '_');
  if (plain === 'id') return 'id';
  for (const [role, names] of columnNames) {
    if (names.some((known) => known === plain)) return role;
  }
  return null;
}

function required(found: ReadonlyMap<Role, number>, role: 'question' | 'document', place: SourcePlace): number {
  const index = found.get(role);
  if (index !== undefined) return index;
  throw malformed(
    place,
    `has no column "${role}"; the first line must name the columns question and document, perhaps grade, query_id and tags`,
  );
}

function truthOf(column: string, text: string, place: SourcePlace): boolean {
  if (/^(true|yes|1)$/i.test(text)) return true;
  if (/^(|false|no|0)$/i.test(text)) return false;
  throw malformed(place, `has ${quoted(text)} under ${column}; write true, or leave the cell empty`);
}

function gradeOf(text: string, place: SourcePlace): number {
  if (text === '') return 1;
  const grade = parseGrade(text);
  if (grade !== null) return grade;
  throw malformed(place, `has the grade ${quoted(text)}, which is not a whole number; use 0, 1, 2, ...`);
}
