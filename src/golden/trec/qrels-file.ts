import { RecalldError } from '../../core/errors.ts';
import { malformed, quoted, type SourceLine } from '../../core/text/source-line.ts';
import { ColumnScanner, parseGrade } from '../../math/ir/trec-line.ts';
import { decimalOf, gradeTextProblem } from '../rules/grade-text.ts';
import {
  decideQrelsForm,
  jsonCells,
  noChoices,
  type QrelsForm,
  qrelsCells,
  trimBlanks,
  wrongWidth,
} from '../rules/qrels-form.ts';
import { Block, type BlockHandler, forEachBlock, sizeOf } from './blocks.ts';
import type { LineIds } from './document-rows.ts';
import { JudgmentTable } from './tables.ts';

const [LINE_FEED, NUMBER_SIGN] = [0x0a, 0x23] as const;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

/** Maximum number of lines, and of bytes, that are read to detect the format of a file. */
const [HEAD_LINES, HEAD_BYTES] = [200, 64 * 1024] as const;

/** Size in bytes at which the collected rows are added as one block. */
const TEXT_LENGTH = 64 * 1024;

/**
 * Reads relevance judgments for an evaluation.
 *
 * @throws RecalldError the errors of `readJudgments`; also `file_malformed` if a document is judged twice for a query,
 * or if the file has no judgments
 */
export async function readQrels(path: string): Promise<JudgmentTable> {
  const { judgments } = await readJudgments(path);
  const repeat = judgments.firstRepeat();
  if (repeat !== null) {
    const what = `judges the document ${quoted(repeat.documentId)} twice for the query ${quoted(repeat.queryId)}`;
    throw malformed({ file: path, line: repeat.line }, `${what}; keep one judgment`);
  }
  if (judgments.queries.size > 0) return judgments;
  throw new RecalldError(
    'file_malformed',
    `${path} has no judgments; it needs lines of "query-id 0 document-id grade".`,
  );
}

/**
 * Reads relevance judgments in the format detected from the first lines of the file: TREC (`query-id 0 document-id
 * grade`, separated by spaces or tabs), BEIR (three columns, usually with a header), the same columns separated by
 * tabs, commas or semicolons, or one JSON object per line. Empty lines are ignored; in files without a header, lines
 * that start with `#` are ignored too.
 *
 * Grades are whole numbers (`3.0` is 3, true is 1); a negative grade means that the document was not judged.
 *
 * @throws RecalldError `file_unreadable`, or `file_malformed` with the line
 */
export async function readJudgments(
  path: string,
  choices = noChoices,
  hasFractions = false,
  see: (bytes: Uint8Array) => void = () => undefined,
) {
  const judgments = new JudgmentTable(await sizeOf(path));
  const decided: { form: QrelsForm | null; handle: BlockHandler | null } = { form: null, handle: null };
  const toGrade = (bytes: Uint8Array, start: number, end: number, place: SourceLine): number => {
    const grade = parseGrade(bytes, start, end);
    if (!Number.isNaN(grade)) return grade;
    const text = Buffer.from(bytes.subarray(start, end)).toString('utf8');
    const fraction = hasFractions ? decimalOf(text) : null;
    if (fraction !== null) return fraction;
    throw malformed(place, gradeTextProblem(text));
  };
  await forEachBlock(path, (block, line) => {
    see(block.bytes);
    if (decided.handle === null) {
      const head = headOf(block, path, line);
      if (head.length === 0) return line + lineFeeds(block.bytes);
      const form = decideQrelsForm(head, choices);
      Object.assign(decided, { form, handle: linesIn({ path, form, judgments, toGrade }) });
    }
    return decided.handle?.(block, line) ?? line;
  });
  return {
    judgments,
    /** Detected format of the file; null if it has no judgments. */
    form: decided.form,
  };
}

/** Returns the first lines of a block that are neither empty nor comments. */
function headOf(block: Block, path: string, firstLine: number): SourceLine[] {
  const end = block.bytes.length <= HEAD_BYTES ? block.bytes.length : block.bytes.lastIndexOf(LINE_FEED, HEAD_BYTES);
  // If the first line alone exceeds the limit, the whole block is used.
  const text = block.slice(0, end <= 0 ? block.bytes.length : end);
  const lines = text.split('\n', HEAD_LINES).map((line, index) => ({
    file: path,
    line: firstLine + index,
    text: line.replace(/^\uFEFF/, '').replace(/\r$/, ''),
  }));
  return lines.filter((line) => trimBlanks(line.text) !== '' && !line.text.trimStart().startsWith('#'));
}

function lineFeeds(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) count += 1;
  return count;
}

interface LineReading {
  readonly path: string;
  readonly form: QrelsForm;
  readonly judgments: JudgmentTable;
  readonly toGrade: (bytes: Uint8Array, start: number, end: number, place: SourceLine) => number;
}

function linesIn(reading: LineReading): BlockHandler {
  const { separator, width } = reading.form;
  return separator === 'blanks' ? blankLines(reading, new ColumnScanner(width, 'blanks')) : textLines(reading);
}

function blankLines(reading: LineReading, scanner: ColumnScanner): BlockHandler {
  const { path, form, judgments, toGrade } = reading;
  const addLine = (block: Block, line: number): void => {
    const { starts, ends, count } = scanner;
    if (count === 0 || line === form.headerLine) return;
    const place = { file: path, line, text: '' };
    const start = skipMark(block.bytes, starts[0] ?? 0);
    if (form.headerLine === null && block.bytes[start] === NUMBER_SIGN) return;
    if (count < 0) throw malformed(place, 'has a carriage return; end lines with a line feed');
    if (count !== form.width) throw malformed(place, wrongWidth(form, count));
    starts[0] = start;
    const { query, document, grade } = form;
    const found = grade === null ? 1 : toGrade(block.bytes, starts[grade] ?? 0, ends[grade] ?? 0, place);
    judgments.add(block, line, idsIn(starts, ends, query, document), found);
  };
  return (block, firstLine) => {
    let line = firstLine;
    for (let next = 0; next < block.bytes.length; line++) {
      next = scanner.scan(block.bytes, next);
      addLine(block, line);
    }
    return line;
  };
}

function textLines(reading: LineReading): BlockHandler {
  const { path, form, judgments, toGrade } = reading;
  const { query, document, grade, separator, headerLine } = form;
  const texts = new TextRows(judgments, path);
  return (block, firstLine) => {
    const lines = block.slice(0, block.bytes.length).split('\n');
    if (lines.at(-1) === '') lines.pop();
    for (const [index, raw] of lines.entries()) {
      const text = raw.replace(/^\uFEFF/, '').replace(/\r$/, '');
      const place = { file: path, line: firstLine + index, text };
      const isComment = headerLine === null && separator !== 'json' && text.startsWith('#');
      if (place.line === headerLine || trimBlanks(text) === '' || isComment) continue;
      const cells = separator === 'json' ? jsonCells(place, form.columns) : cellsOf(text, separator, headerLine);
      if (cells.length !== form.width) throw malformed(place, wrongWidth(form, cells.length));
      for (const role of [query, document]) refuseEmpty((cells[role] ?? '') !== '', form, role, place);
      texts.add(place, cells[query] ?? '', cells[document] ?? '', gradeOfText(cells, grade, place, toGrade));
    }
    texts.flush();
    return firstLine + lines.length;
  };
}

/**
 * Keeps quotes in tab-separated files without a header, because in TREC files they belong to the ids. All other files
 * may come from CSV libraries, which quote some cells.
 */
function cellsOf(text: string, separator: Exclude<QrelsForm['separator'], 'json'>, headerLine: number | null) {
  const isPlain = separator === 'tabs' && headerLine === null;
  return isPlain ? text.split('\t').map(trimBlanks) : qrelsCells(text, separator);
}

function idsIn(starts: Int32Array, ends: Int32Array, query: number, document: number): LineIds {
  const [queryStart = 0, queryEnd = 0] = [starts[query], ends[query]];
  return { queryStart, queryEnd, start: starts[document] ?? 0, end: ends[document] ?? 0 };
}

function gradeOfText(
  cells: readonly string[],
  grade: number | null,
  place: SourceLine,
  toGrade: LineReading['toGrade'],
): number {
  if (grade === null) return 1;
  const bytes = Buffer.from(cells[grade] ?? '');
  return toGrade(bytes, 0, bytes.length, place);
}

function refuseEmpty(isFilled: boolean, { columns }: QrelsForm, index: number, place: SourceLine): void {
  if (isFilled) return;
  const what = columns[index]?.readAs === 'document' ? 'document' : 'query';
  throw malformed(place, `has an empty ${what} id; write the ${what} id`);
}

/** Collects parsed rows and adds them to the table in blocks of a few thousand. */
class TextRows {
  private readonly judgments: JudgmentTable;
  private readonly path: string;
  private readonly rows: (LineIds & { readonly line: number; readonly grade: number })[] = [];
  private text: Buffer[] = [];
  private length = 0;

  constructor(judgments: JudgmentTable, path: string) {
    this.judgments = judgments;
    this.path = path;
  }

  add({ line }: SourceLine, query: string, document: string, grade: number): void {
    const [queryBytes, documentBytes] = [Buffer.from(query), Buffer.from(document)];
    const queryStart = this.length;
    const queryEnd = queryStart + queryBytes.length;
    this.text.push(queryBytes, documentBytes);
    this.length = queryEnd + documentBytes.length;
    this.rows.push({ line, grade, queryStart, queryEnd, start: queryEnd, end: this.length });
    if (this.length > TEXT_LENGTH) this.flush();
  }

  flush(): void {
    if (this.rows.length === 0) return;
    const block = new Block(Buffer.concat(this.text), this.path, this.rows[0]?.line ?? 1);
    for (const { line, grade, ...ids } of this.rows) this.judgments.add(block, line, ids, grade);
    this.rows.length = 0;
    this.text = [];
    this.length = 0;
  }
}

function skipMark(bytes: Uint8Array, start: number): number {
  const [first, second, third] = BYTE_ORDER_MARK;
  if (bytes[start] !== first) return start;
  return bytes[start + 1] === second && bytes[start + 2] === third ? start + BYTE_ORDER_MARK.length : start;
}
