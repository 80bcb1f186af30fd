import { quoted } from '../../core/text/source-line.ts';
import { parseScore, type Separator } from '../../math/ir/trec-line.ts';
import { malformed } from './blocks.ts';

export interface RunLayout {
  readonly separator: Separator;
  readonly columns: readonly string[];
  readonly query: number;
  readonly document: number;
  /** Index of the rank column; null if there is none. */
  readonly rank: number | null;
  /**
   * Index of the score column; null if there is none. Without a score column, the score of a result is its negated
   * rank.
   */
  readonly score: number | null;
  /** Number of the header line, from 1; null if there is none. */
  readonly headerLine: number | null;
}

export interface RunLine {
  readonly line: number;
  readonly text: string;
}

export const MAX_COLUMNS = 64;
const TREC_COLUMNS = ['query-id', 'Q0', 'document-id', 'rank', 'score', 'tag'];

/** True for the six columns of TREC, which almost all runs have. */
export function isTrecLayout({ columns, headerLine }: RunLayout): boolean {
  return headerLine === null && columns.length === TREC_COLUMNS.length;
}

/** The expected form of a line, for messages. */
export const TREC_LINE: string = TREC_COLUMNS.join(' ');

/**
 * Detects the columns and the separator of a run from its first lines: TREC with or without a tag, or the columns that
 * a header names.
 *
 * @param lines without empty lines and comments, starting with the first line of the file
 * @returns null if the file has no lines
 * @throws RecalldError `file_malformed` if the lines are not a run, or fit two layouts
 */
export function decideRunLayout(path: string, lines: readonly RunLine[]): RunLayout | null {
  const [first] = lines;
  if (first === undefined) return null;
  if (first.text.includes('\r')) throw malformed(path, first.line, wrongColumns(trec('blanks', TREC_COLUMNS), -1));
  const header = headerOf(path, first);
  if (header !== null) return header;
  const fitting = (first.text.includes('\t') ? (['tabs', 'blanks'] as const) : (['blanks'] as const)).flatMap((by) => {
    const cells = cellsOf(first.text, by);
    const layout = trec(by, TREC_COLUMNS.slice(0, Math.max(cells.length, TREC_COLUMNS.length - 1)));
    return problemOf(cells, layout) === null ? [layout] : [];
  });
  if (fitting.length === 0) throw malformed(path, first.line, problemOfFirst(first.text));
  const throughout = fitting.filter((layout) => lines.every(({ text }) => fits(text, layout)));
  const [layout = fitting[0], other] = throughout;
  if (layout === undefined) return null;
  if (other !== undefined) {
    const differing = lines.find(({ text }) => !isReadAlike(text, layout, other));
    if (differing !== undefined) throw malformed(path, differing.line, twoReadings(differing.text, layout, other));
    // If any line has a space next to a tab, spaces and tabs only align the columns. Otherwise, tabs separate the
    // columns, because an id on a later line may contain a space.
    if (lines.some(({ text }) => / \t|\t /.test(text))) return other;
  }
  refuseNumericTags(path, lines, layout);
  refuseShiftedColumns(path, lines, layout);
  return layout;
}

/** Rejects a run that seems to lack only the tag, because a different TREC column may be missing or empty. */
function refuseShiftedColumns(path: string, lines: readonly RunLine[], layout: RunLayout): void {
  if (layout.columns.length !== TREC_COLUMNS.length - 1) return;
  const rows = lines.map(({ text }) => cellsOf(text, layout.separator));
  const [first] = lines;
  const isRanked = rows.every(([, second = '', third = '']) => !/^(Q0|0)$/i.test(second) && /^\d+$/.test(third));
  if (first === undefined || !isRanked) return;
  const [, second = '', third = ''] = rows[0] ?? [];
  throw malformed(
    path,
    first.line,
    `The line is ambiguous: either the document is ${quoted(third)} and the tag is missing, or the document is ` +
      `${quoted(second)} and the column Q0 is missing. Write all six columns "${TREC_LINE}" on every line.`,
  );
}

/** Describes what is wrong with the cells of a line, and how to fix it; null if they fit the layout. */
export function problemOf(cells: readonly string[], layout: RunLayout): string | null {
  if (cells.length !== layout.columns.length) return wrongColumns(layout, cells.length);
  for (const column of [layout.query, layout.document]) {
    if (cells[column] === '') return `Column ${column + 1} ("${layout.columns[column]}") is empty; write the id.`;
  }
  const rank = layout.rank === null ? null : (cells[layout.rank] ?? '');
  if (rank !== null && Number.isNaN(parseRank(rank))) {
    const hint = layout.separator === 'blanks' ? '; if ids contain spaces, separate the columns with tabs' : '';
    return `The rank ${quoted(rank)} in column ${(layout.rank ?? 0) + 1} is not a whole number${hint}.`;
  }
  const score = layout.score === null ? null : (cells[layout.score] ?? '');
  if (score === null || isScore(score)) return null;
  const fix = /^[+-]?nan$/i.test(score)
    ? 'remove the line'
    : 'write it as 12.5 or 1e-3, or as -1e308 to rank the document last';
  return `The score ${quoted(score)} in column ${(layout.score ?? 0) + 1} is not a finite decimal number; ${fix}.`;
}

/** Describes what is wrong with a line that has `found` columns or, if `found` is -1, contains a carriage return. */
export function wrongColumns(layout: RunLayout, found: number): string {
  const { columns } = layout;
  const needed = `A result needs the ${columns.length} columns "${columns.join(' ')}"`;
  if (found < 0) return `${needed}, but the line has a carriage return inside it; end lines with a line feed.`;
  return `${needed}, but the line has ${found}${columnHint(layout, found)}.`;
}

function columnHint({ columns, separator, headerLine }: RunLayout, found: number): string {
  if (headerLine !== null && found === columns.length + 1) {
    return '; name every column, or write the file without row numbers (index=False in pandas)';
  }
  if (separator === 'tabs') return '; the first lines separate columns with tabs, so every line must';
  return found > columns.length ? '; if ids contain spaces, separate the columns with tabs' : '';
}

/** Parses a whole number such as `7` or `7.0`; NaN for anything else. */
export function parseRank(text: string): number {
  return /^[+-]?[0-9]+(?:\.0*)?$/.test(text) ? Number(text) : Number.NaN;
}

function isScore(text: string): boolean {
  const bytes = Buffer.from(text);
  return !Number.isNaN(parseScore(bytes, 0, bytes.length));
}

function trec(separator: Separator, columns: readonly string[]): RunLayout {
  return { separator, columns, query: 0, document: 2, rank: 3, score: 4, headerLine: null };
}

function cellsOf(text: string, separator: Separator): string[] {
  const cells = text.split(separator === 'tabs' ? /\t+/ : /[ \t\v\f]+/).map((cell) => cell.replace(/^ +| +$/g, ''));
  return cells.slice(cells[0] === '' ? 1 : 0, cells.at(-1) === '' ? -1 : undefined);
}

function fits(text: string, layout: RunLayout): boolean {
  return problemOf(cellsOf(text, layout.separator), layout) === null;
}

/** Returns the cells that are read from a line: query, document, rank and score. */
function readOf(text: string, layout: RunLayout): readonly string[] {
  const cells = cellsOf(text, layout.separator);
  return [layout.query, layout.document, layout.rank ?? -1, layout.score ?? -1].map((column) => cells[column] ?? '');
}

function isReadAlike(text: string, one: RunLayout, other: RunLayout): boolean {
  const [a, b] = [readOf(text, one), readOf(text, other)];
  return a.every((cell, i) => cell === b[i]);
}

function twoReadings(text: string, one: RunLayout, other: RunLayout): string {
  const readings = [one, other].map((layout) => {
    const by = layout.separator === 'tabs' ? 'tabs' : 'spaces and tabs';
    return `separated by ${by}, the document is ${quoted(readOf(text, layout)[1] ?? '')}`;
  });
  return `The line is ambiguous: ${readings.join('; ')}. Write all six columns "${TREC_LINE}" on every line.`;
}

/** True if the score is a whole number and the tag a fraction, which suggests that the columns are shifted. */
const looksShifted = ([, , , , score = '', tag = '']: readonly string[]): boolean =>
  /^[0-9]+$/.test(score) && /^[+-]?[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?$/.test(tag);

/**
 * Rejects files whose last column of six may be the score instead of the tag, because document ids may contain a space.
 */
function refuseNumericTags(path: string, lines: readonly RunLine[], layout: RunLayout): void {
  if (layout.separator === 'tabs' || layout.columns.length < TREC_COLUMNS.length) return;
  const rows = lines.map(({ text }) => cellsOf(text, layout.separator)).filter((cells) => cells.length === 6);
  const tags = new Set(rows.map(([, , , , , tag]) => tag));
  const [first] = lines;
  if (first === undefined || tags.size < 2 || !rows.every(looksShifted)) return;
  const [, , document = '', rank = ''] = rows[0] ?? [];
  throw malformed(
    path,
    first.line,
    `The line is ambiguous: either the document is ${quoted(document)} and the last column is a tag, or the document is ` +
      `${quoted(`${document} ${rank}`)} and the last column is the score. Separate the columns with tabs.`,
  );
}

const roles = {
  query: [
    ['queryid', 'qid', 'topicid'],
    ['query', 'topic'],
  ],
  document: [
    ['documentid', 'docid', 'docno', 'corpusid', 'pid', 'passageid', 'chunkid'],
    ['document', 'doc', 'passage'],
  ],
  rank: [['rank']],
  score: [['score', 'similarity', 'sim']],
} as const;

/** Returns null if the first line is not a header. */
function headerOf(path: string, { line, text }: RunLine): RunLayout | null {
  const separator = text.includes('\t') ? 'tabs' : 'blanks';
  const columns = cellsOf(text, separator);
  const names = columns.map((name) => name.toLowerCase().replaceAll(/[ _-]/g, ''));
  const places = (role: keyof typeof roles): number[] => {
    for (const known of roles[role]) {
      const found = names.flatMap((name, i) => ((known as readonly string[]).includes(name) ? [i] : []));
      if (found.length > 0) return found;
    }
    return [];
  };
  const found = { query: places('query'), document: places('document'), rank: places('rank'), score: places('score') };
  if (found.query.length === 0 || found.document.length === 0) return null;
  for (const [role, own] of Object.entries(found)) {
    if (own.length < 2) continue;
    const both = own.map((place) => quoted(columns[place] ?? '')).join(' and ');
    throw malformed(path, line, `The header has ${both}, and both may be the ${role}; rename or remove one.`);
  }
  const [rank = null, score = null] = [found.rank[0], found.score[0]];
  if (columns.length > MAX_COLUMNS) {
    throw malformed(path, line, `The header names ${columns.length} columns; keep at most ${MAX_COLUMNS}.`);
  }
  if (rank === null && score === null) {
    throw malformed(path, line, 'The header names neither a rank nor a score; a run needs at least one of them.');
  }
  return {
    separator,
    columns,
    query: found.query[0] ?? 0,
    document: found.document[0] ?? 0,
    rank,
    score,
    headerLine: line,
  };
}

/** Describes what is wrong with the first line of a file that is not a TREC run, and what the file may be. */
function problemOfFirst(text: string): string {
  const separator = text.includes('\t') ? 'tabs' : 'blanks';
  const cells = cellsOf(text, separator);
  if (/^\s*[[{]/.test(text)) {
    return `The line is JSON, but each line of a TREC run is "${TREC_LINE}". Write one line per query and document, with the score in column 5.`;
  }
  const plain = cellsOf(text, 'blanks');
  const sign = [',', ';'].find((one) => plain.length < 5 && text.split(one).length > 2);
  if (sign !== undefined) {
    return `The columns are separated by ${sign === ',' ? 'commas' : 'semicolons'}, but a TREC run requires tabs or spaces. Write each line as "${TREC_LINE}".`;
  }
  if (cells.length === 3) {
    return (
      'A line of 3 columns may be "query-id document-id rank" (MS MARCO) or "query-id document-id score". Add a header ' +
      `that names the columns, such as ${separator === 'tabs' ? '"query-id<TAB>document-id<TAB>rank"' : '"query-id document-id rank"'}, or write "${TREC_LINE}".`
    );
  }
  const layout = trec(separator, TREC_COLUMNS.slice(0, cells.length === 5 ? 5 : 6));
  const problem = problemOf(cells, layout) ?? wrongColumns(layout, cells.length);
  if (cells.length !== 4) return problem;
  return /^[0-9]+$/.test(cells[2] ?? '') && isScore(cells[3] ?? '')
    ? `${problem} If the columns are query, document, rank and score, add the header "${['query-id', 'document-id', 'rank', 'score'].join(separator === 'tabs' ? '<TAB>' : ' ')}".`
    : problem;
}
