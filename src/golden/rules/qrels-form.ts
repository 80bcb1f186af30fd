import { type Fields, fieldsOf, parseBoundedJson, parseExactJson } from '../../core/text/json.ts';
import { malformed, quoted, type SourceLine } from '../../core/text/source-line.ts';
import { readGrade } from '../../math/ir/trec-line.ts';
import { type ColumnReading, type ColumnRole, isUnnamed, plainName, roleOfColumn } from './column-roles.ts';
import { decimalOf } from './grade-text.ts';

/**
 * Separator of columns. `blanks`: any number of spaces and tabs. `tabs`: single tabs, so ids may contain spaces.
 * `json`: one object per line.
 */
export type QrelsSeparator = LineSeparator | 'json';

type LineSeparator = 'blanks' | 'tabs' | ',' | ';';

export interface QrelsForm {
  readonly separator: QrelsSeparator;
  /** Number of columns in every line; `widthLine` is the line that determines this number. */
  readonly width: number;
  readonly widthLine: number;
  readonly query: number;
  readonly document: number;
  /**
   * Index of the grade column; null if the header has none. Without a grade column, every judged document is relevant,
   * with grade 1.
   */
  readonly grade: number | null;
  readonly headerLine: number | null;
  /** Roles in column order; for `json`, the keys. */
  readonly columns: readonly ColumnReading[];
}

/** Column names given by the user, which take precedence over detection. */
export interface ColumnChoices {
  readonly query?: string | undefined;
  readonly document?: string | undefined;
  readonly grade?: string | undefined;
  readonly tags: readonly string[];
  readonly ignore: readonly string[];
}

export const noChoices: ColumnChoices = { tags: [], ignore: [] };

const separatorNames: Readonly<Record<QrelsSeparator, string>> = {
  blanks: 'spaces',
  tabs: 'tabs',
  ',': 'commas',
  ';': 'semicolons',
  json: 'JSON lines',
};

const BLANKS = /[ \t\v\f\r]+/;

/** Trims ASCII white space and line endings, but not non-breaking spaces, which are part of an id. */
export function trimBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

/** Splits a line into columns. Columns separated by tabs, commas or semicolons may be in double quotes. */
export function qrelsCells(text: string, separator: LineSeparator): string[] {
  if (separator === 'blanks') return trimBlanks(text).split(BLANKS);
  if (separator === 'tabs') return text.split('\t').map((cell) => unquoted(trimBlanks(cell)));
  const cells = text.match(separator === ',' ? /(?:"(?:[^"]|"")*"|[^,])*(?:,|$)/g : /(?:"(?:[^"]|"")*"|[^;])*(?:;|$)/g);
  const parts = (cells ?? []).map((cell) => (cell.endsWith(separator) ? cell.slice(0, -1) : cell));
  // Unless the line ends with a separator, the expression also matches an empty cell after the last cell.
  if (parts.length > 1 && !text.endsWith(separator)) parts.pop();
  return parts.map((cell) => unquoted(trimBlanks(cell)));
}

function unquoted(cell: string): string {
  return /^".*"$/.test(cell) && cell.length > 1 ? cell.slice(1, -1).replaceAll('""', '"') : cell;
}

/** Returns the value of each column of a JSON line. @throws RecalldError file_malformed */
export function jsonCells(line: SourceLine, columns: readonly ColumnReading[]): string[] {
  const value = objectOf(line);
  return columns.map(({ column }) => {
    const cell = value[column];
    if (typeof cell === 'string') return cell;
    if (typeof cell === 'number' || typeof cell === 'boolean') return String(cell);
    if (cell === undefined || cell === null) return '';
    throw malformed(line, `has a list or an object under ${quoted(column)}; write a single id or grade`);
  });
}

function objectOf(line: SourceLine): Fields {
  try {
    const fields = fieldsOf(parseExactJson(line.text));
    if (fields !== null) return fields;
  } catch {
    // Text that is not JSON gets the same error as JSON that is not an object.
  }
  throw malformed(line, 'is not a JSON object, unlike the first line; write one judgment per line');
}

/**
 * Detects the format from the first lines of a file.
 *
 * @param lines at least one line, without empty lines or comments
 * @throws RecalldError file_malformed if the lines match no format, or more than one
 */
export function decideQrelsForm(lines: readonly SourceLine[], choices: ColumnChoices): QrelsForm {
  const [first] = lines;
  if (first === undefined) throw new Error('at least one line is needed to detect the format');
  const text = trimBlanks(first.text);
  if (isJson(text, '{')) return headerForm('json', Object.keys(objectOf(first)), first, null, choices);
  if (isJson(text, '[')) throw malformed(first, 'is JSON; judgments are lines of "query-id 0 document-id grade"');
  if (/^\S+\s+qid:\S+/.test(text)) {
    throw malformed(first, 'is a line of a learning-to-rank file (grade qid:1 ...); export the ratings as CSV or TREC');
  }
  if (/\r/.test(text)) throw malformed(first, 'has a carriage return; end lines with a line feed');
  for (const separator of candidates(text)) {
    const cells = qrelsCells(first.text, separator);
    if (isHeader(cells, choices)) return headerForm(separator, cells, first, first.line, choices);
  }
  return plainForm(lines, first);
}

/**
 * True if a line begins with JSON. An opening bracket alone is not enough, because an id may also begin with a bracket.
 */
function isJson(text: string, bracket: '{' | '['): boolean {
  if (!text.startsWith(bracket)) return false;
  if (text === bracket || (bracket === '{' && /^\{\s*"[^"]*"\s*:/.test(text))) return true;
  try {
    parseBoundedJson(text);
    return true;
  } catch {
    return false;
  }
}

function candidates(text: string): LineSeparator[] {
  const all = ['tabs', ',', ';', 'blanks'] as const;
  return all.filter((one) => one === 'blanks' || text.includes(one === 'tabs' ? '\t' : one));
}

/** True if the line has two or more known column names and no number. */
function isHeader(cells: readonly string[], choices: ColumnChoices): boolean {
  if (cells.some((cell) => /^[+-]?\d+(\.\d*)?$/.test(cell))) return false;
  const chosen = new Set([choices.query, choices.document, choices.grade].map((name) => plainName(name ?? '')));
  return (
    cells.filter((cell) => cell !== '' && (roleOfColumn(cell) !== null || chosen.has(plainName(cell)))).length >= 2
  );
}

function headerForm(
  separator: QrelsSeparator,
  cells: readonly string[],
  place: SourceLine,
  headerLine: number | null,
  choices: ColumnChoices,
): QrelsForm {
  const columns = cells.map((name, index) => readingOf(name, index, place, choices));
  // The column `query` is read as the query id if no other column has that role.
  const hasId = columns.some(({ readAs }) => readAs === 'query_id');
  const found = columns.map((column) =>
    column.readAs === 'query' && !hasId ? { ...column, readAs: 'query_id' as const } : column,
  );
  const at = (role: ColumnRole): number | null => {
    const places = found.flatMap(({ readAs }, index) => (readAs === role ? [index] : []));
    if (places.length > 1) {
      const both = places.map((one) => quoted(found[one]?.column ?? '')).join(' and ');
      throw malformed(place, `has columns with the same meaning: ${both}; rename or remove one`);
    }
    return places[0] ?? null;
  };
  const [query, document] = [at('query_id'), at('document')];
  if (query === null || document === null) {
    const missing = query === null ? 'query (query-id)' : 'document (corpus-id)';
    throw malformed(place, `has no column for the id of the ${missing}; rename the column that contains it`);
  }
  return {
    separator,
    width: cells.length,
    widthLine: place.line,
    query,
    document,
    grade: at('grade'),
    headerLine,
    columns: found.map((column) => (column.readAs === 'query' ? { ...column, readAs: 'ignored' as const } : column)),
  };
}

function readingOf(name: string, index: number, place: SourceLine, choices: ColumnChoices): ColumnReading {
  const plain = plainName(name);
  const is = (chosen: string | undefined): boolean => chosen !== undefined && plainName(chosen) === plain;
  const as = (readAs: ColumnReading['readAs'], reason: string | null = null): ColumnReading => ({
    column: name.trim() === '' ? String(index + 1) : name,
    readAs,
    reason,
  });
  if (is(choices.query)) return as('query_id', '--query');
  if (is(choices.document)) return as('document', '--document');
  if (is(choices.grade)) return as('grade', '--grade');
  if (choices.ignore.some(is)) return as('ignored', '--ignore');
  if (index === 0 && isUnnamed(name)) return as('ignored', 'row numbers');
  const role = roleOfColumn(name);
  if (role !== null && role !== 'forbidden' && role !== 'no_answer' && role !== 'document_text') {
    return as(role, role === 'iteration' ? 'not used in any measure' : null);
  }
  throw malformed(
    place,
    `has the unknown column ${quoted(name)}; known columns are query-id, corpus-id and score; remove or rename it`,
  );
}

const trecColumns: readonly ColumnRole[] = ['query_id', 'iteration', 'document', 'grade'];
const beirColumns: readonly ColumnRole[] = ['query_id', 'document', 'grade'];

function plainForm(lines: readonly SourceLine[], first: SourceLine): QrelsForm {
  const separator = separatorOf(lines, first);
  const cells = qrelsCells(first.text, separator);
  const roles = cells.length === 4 ? trecColumns : cells.length === 3 ? beirColumns : null;
  if (roles === null) {
    if (cells.length === 2) {
      throw malformed(
        first,
        'has 2 columns and no grade; add a grade to each line, or a first line "query-id corpus-id" to judge every document relevant',
      );
    }
    throw malformed(
      first,
      `has ${cells.length} columns; write "query 0 document grade" (TREC) or query, document and grade separated by tabs (BEIR)`,
    );
  }
  refuseUnknownNames(lines, separator);
  refuseTwoReadings(lines, separator, roles);
  refuseRowNumbers(lines, separator, roles.length);
  return {
    separator,
    width: roles.length,
    widthLine: first.line,
    query: 0,
    document: roles.indexOf('document'),
    grade: roles.indexOf('grade'),
    headerLine: null,
    columns: roles.map((role, index) => ({ column: String(index + 1), readAs: role, reason: null })),
  };
}

/**
 * Returns `tabs` if every line contains a tab and the first line has at most four columns. Otherwise, returns the only
 * separator that splits the first line into the columns of a judgment, or `blanks` if no separator does; throws if
 * several do.
 */
function separatorOf(lines: readonly SourceLine[], first: SourceLine): LineSeparator {
  const tabs = first.text.split('\t').length;
  if (tabs > 1 && tabs < 5 && lines.every(({ text }) => text.includes('\t'))) return 'tabs';
  const fitting = (['blanks', ',', ';'] as const).filter((separator) => {
    const cells = qrelsCells(first.text, separator);
    const isWide = cells.length === 3 || cells.length === 4;
    return isWide && readGrade(cells.at(-1) ?? '') !== null;
  });
  const [separator = 'blanks', other] = fitting;
  if (other === undefined) return separator;
  throw malformed(
    first,
    `can be read with columns separated by either ${separatorNames[separator]} or ${separatorNames[other]}; separate the columns with tabs`,
  );
}

/**
 * Rejects a first line that consists of words if the second line ends with a number, because the first line is probably
 * a header with unknown column names.
 */
function refuseUnknownNames([first, second]: readonly SourceLine[], separator: LineSeparator): void {
  if (first === undefined || second === undefined) return;
  const [names, cells] = [first, second].map(({ text }) => qrelsCells(text, separator));
  const isWords = names?.length === cells?.length && names?.every((name) => /^\p{L}[^\d]*$/u.test(name)) === true;
  if (!isWords || readGrade(names?.at(-1) ?? '') !== null || decimalOf(cells?.at(-1) ?? '') === null) return;
  throw malformed(
    first,
    `seems to be a header with the unknown columns ${(names ?? []).map(quoted).join(', ')}; name them query-id, corpus-id and score, or remove the line`,
  );
}

function refuseTwoReadings(lines: readonly SourceLine[], separator: LineSeparator, roles: readonly ColumnRole[]): void {
  const rows = lines.map((line) => ({ line, cells: qrelsCells(line.text, separator) }));
  const fitting = rows.filter(({ cells }) => cells.length === roles.length);
  if (roles === beirColumns && separator === 'tabs' && lines.every(isTrecInBlanks)) {
    throw malformed(
      rows[0]?.line ?? { file: '', line: 1 },
      'can be read either as "query document grade" separated by tabs or as "query 0 document grade" separated by spaces and tabs; separate all columns with tabs',
    );
  }
  if (roles === beirColumns) {
    if (fitting.length < 2 || !fitting.every(({ cells }) => /^(0|Q0)$/i.test(cells[1] ?? ''))) return;
    throw malformed(
      fitting[0]?.line ?? lines[0] ?? { file: '', line: 1 },
      'can be read either as "query document grade" or as TREC judgments without a grade; write all four TREC columns',
    );
  }
  const odd = fitting.find(({ cells }) => !/^(Q0|\d{1,9})$/i.test(cells[1] ?? ''));
  if (odd !== undefined && separator === 'blanks') {
    throw malformed(
      odd.line,
      `has ${quoted(odd.cells[1] ?? '')} where TREC has 0, so the line may be "query document grade" with a space in an id; separate the columns with tabs`,
    );
  }
}

function isTrecInBlanks({ text }: SourceLine): boolean {
  const cells = qrelsCells(text, 'blanks');
  return cells.length === 4 && /^(0|Q0)$/i.test(cells[1] ?? '') && readGrade(cells[3] ?? '') !== null;
}

/** Rejects files whose first column may contain row numbers, which pandas writes by default. */
function refuseRowNumbers(lines: readonly SourceLine[], separator: LineSeparator, width: number): void {
  const rows = lines.map(({ text }) => qrelsCells(text, separator)).filter(({ length }) => length === width);
  const [first] = lines;
  const isNumbered =
    rows.every(([id]) => /^\d+$/.test(id ?? '')) && new Set(rows.map(([id]) => id)).size === rows.length;
  if (first === undefined || !isNumbered) return;
  // The second column of TREC judgments is always 0 or Q0. A value above the maximum grade is an id, not a grade.
  const seconds = new Set(rows.map(([, second = '']) => second));
  const isShifted =
    width === 4
      ? seconds.size > 1 || (rows.length > 1 && !seconds.has('0') && !seconds.has('Q0'))
      : rows.length > 2 &&
        rows.every(([id], i) => id === String(i)) &&
        rows.some((cells) => Number(cells[2]) > MAX_GRADE);
  if (!isShifted) return;
  const other = width === 4 ? 'TREC query ids' : 'query ids';
  throw malformed(
    first,
    `begins with numbers that never repeat, which may be ${other} or pandas row numbers; write the file with index=False, or with a header`,
  );
}

/** Maximum value that counts as a grade; grade scales rarely exceed 100. */
const MAX_GRADE = 100;

export function wrongWidth({ width, widthLine, columns, separator }: QrelsForm, found: number): string {
  const what = columns.map(({ readAs }) => readAs.replaceAll('_', ' ')).join(', ');
  const hint = separator === 'blanks' && found > width ? '; separate columns with tabs if ids contain spaces' : '';
  return `has ${found} columns, but line ${widthLine} has ${width} (${what})${hint || '; write the same number of columns'}`;
}
