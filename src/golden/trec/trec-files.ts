/** Files of judgments: those of TREC and BEIR. */

import { RecalldError } from '../../errors.ts';
import { ColumnScanner, parseGrade } from '../../ir/trec-line.ts';
import { quoted } from '../../text/source-line.ts';
import { type Block, type BlockHandler, forEachBlock, malformed, sizeOf } from './blocks.ts';
import { JudgmentTable } from './tables.ts';

const NUMBER_SIGN = 0x23;

/** A form of qrels file: what its columns are called, and which of them hold the document and the grade. */
interface QrelsForm {
  readonly columns: readonly string[];
  readonly document: number;
  readonly grade: number;
}

const TREC_QRELS: QrelsForm = {
  columns: ['query-id', 'iteration', 'document-id', 'grade'],
  document: 2,
  grade: 3,
};
const BEIR_QRELS: QrelsForm = { columns: ['query-id', 'corpus-id', 'score'], document: 1, grade: 2 };
/** The query id is the first column of every form. */
const QUERY = 0;

/**
 * Reads relevance judgments: TREC qrels (`query-id iteration document-id grade`, columns parted by blanks) or the
 * qrels.tsv of BEIR, known by its header `query-id corpus-id score`, whose columns are parted by one tab.
 *
 * Grades are integers; a negative one means that the document was not judged. The iteration is ignored, and so are
 * empty lines and, in TREC files, lines that start with `#` (as in trec_eval 10).
 *
 * @returns at least one judgment
 * @throws RecalldError `file_unreadable`, or `file_malformed` with the line: wrong columns, a grade that is no
 * integer, a document judged twice for a query, not UTF-8 text, no judgment at all
 */
export async function readQrels(path: string): Promise<JudgmentTable> {
  const judgments = new JudgmentTable(await sizeOf(path));
  const scanner = new ColumnScanner(TREC_QRELS.columns.length, 'blanks');
  let form: QrelsForm | undefined;

  const addLine = (block: Block, line: number): void => {
    if (scanner.count === 0 || (form !== BEIR_QRELS && isComment(block, scanner))) return;
    if (form === undefined) {
      form = isHeader(block, scanner) ? BEIR_QRELS : TREC_QRELS;
      if (form === BEIR_QRELS) return scanner.separateBy('tabs');
    }
    if (scanner.count !== form.columns.length) {
      throw malformed(path, line, wrongColumns('A judgment', form.columns, scanner.count));
    }
    const grade = parseGrade(block.bytes, scanner.starts[form.grade] ?? 0, scanner.ends[form.grade] ?? 0);
    if (Number.isNaN(grade)) throw malformed(path, line, badGrade(column(block, scanner, form.grade)));
    judgments.add(
      block,
      line,
      scanner.starts[QUERY] ?? 0,
      scanner.ends[QUERY] ?? 0,
      scanner.starts[form.document] ?? 0,
      scanner.ends[form.document] ?? 0,
      grade,
    );
  };
  await forEachBlock(
    path,
    linesOf(scanner, addLine, judgments, () => form === TREC_QRELS),
  );
  const repeat = judgments.firstRepeat();
  if (repeat !== null) throw malformed(path, repeat.line, judgedTwice(repeat.queryId, repeat.documentId));
  if (judgments.queries.size === 0) throw empty(path, 'judgments', TREC_QRELS.columns);
  return judgments;
}

/** Adds a line that was scanned, and then those that the table reads by itself, as all of TREC may be. */
function linesOf(
  scanner: ColumnScanner,
  addLine: (block: Block, line: number) => void,
  table: JudgmentTable,
  isTrec: () => boolean,
): BlockHandler {
  return (block, firstLine) => {
    let line = firstLine;
    for (let next = 0; next < block.bytes.length; line++) {
      next = scanner.scan(block.bytes, next);
      addLine(block, line);
      if (!isTrec()) continue;
      const before = table.length;
      next = table.goOn(block, next, line + 1);
      line += table.length - before;
    }
    return line;
  };
}

function isComment(block: Block, scanner: ColumnScanner): boolean {
  return block.bytes[scanner.starts[0] ?? 0] === NUMBER_SIGN;
}

function isHeader(block: Block, scanner: ColumnScanner): boolean {
  const { columns } = BEIR_QRELS;
  return scanner.count === columns.length && columns.every((name, i) => column(block, scanner, i) === name);
}

function column(block: Block, scanner: ColumnScanner, index: number): string {
  return block.slice(scanner.starts[index] ?? 0, scanner.ends[index] ?? 0);
}

function wrongColumns(what: string, columns: readonly string[], found: number): string {
  const needed = `${what} needs the ${columns.length} columns "${columns.join(' ')}"`;
  if (found >= 0) return `${needed}, but the line has ${found}.`;
  return `${needed}, but a carriage return stands inside the line; end lines with a line feed.`;
}

function badGrade(text: string): string {
  return `The grade ${quoted(text)} is not an integer; write a whole number such as 0, 1 or 2.`;
}

function judgedTwice(query: string, document: string): string {
  return `The document ${quoted(document)} is judged twice for the query ${quoted(query)}; keep one judgment.`;
}

function empty(path: string, what: string, columns: readonly string[]): RecalldError {
  return new RecalldError('file_malformed', `${path} holds no ${what}; it needs lines of "${columns.join(' ')}".`);
}
