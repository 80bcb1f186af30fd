import { RecalldError } from '../../core/errors.ts';
import { ColumnScanner, parseGrade, parseScore } from '../../math/ir/trec-line.ts';
import { type Block, BlockBuffers, forEachBlock, malformed, sizeOf } from './blocks.ts';
import { ResultTable } from './result-table.ts';
import {
  decideRunLayout,
  isTrecLayout,
  MAX_COLUMNS,
  parseRank,
  problemOf,
  type RunLayout,
  type RunLine,
  TREC_LINE,
  wrongColumns,
} from './run-layout.ts';
import { RunPartitions } from './run-partitions.ts';

const [SPACE, NUMBER_SIGN] = [0x20, 0x23] as const;
/** Maximum number of lines used to detect the layout; all come from the first block that contains lines. */
const SAMPLE_LINES = 200;
/** The largest value of a signed 32-bit integer. */
const MAX_RANK = 2 ** 31 - 1;

/**
 * Assumed line length in bytes, which determines the initial capacity of a batch. The capacity grows if lines are
 * shorter.
 */
const ROOM_BYTES = 60;

/** Receives the lines of a run; see `RunPartitions`. */
type RunSink = Pick<RunPartitions, 'size' | 'add' | 'goOn'>;

/**
 * Reads a run in which the lines of each query are contiguous. The columns are `query-id Q0 document-id rank score
 * tag`, with or without the tag, or the columns that the first line names. The separator, the number of columns and the
 * header are detected once per file. Columns are separated by spaces and tabs, or by tabs alone; if tabs alone separate
 * columns, ids may contain spaces. As in trec_eval, scores determine the order; a run without scores is ordered by
 * rank. Empty lines and lines that start with `#` are skipped.
 *
 * @throws RecalldError `file_unreadable`, or `file_malformed` with the line, for unexpected columns, a rank that is not
 *   a whole number, a score that is not a finite decimal number, an ambiguous file, text that is not UTF-8, or a file
 *   without results. Errors of the handler pass through.
 */
export async function readRunInBatches(
  path: string,
  results: number,
  handle: (batch: ResultTable) => void,
): Promise<void> {
  const batch = new ResultTable(Math.min(await sizeOf(path), results * ROOM_BYTES));
  const buffers = new BlockBuffers();
  const flush = (scanned: Block | null): void => {
    handle(batch);
    buffers.giveBack(batch.clear().filter((block) => block !== scanned));
  };
  // `size` grows by the number of lines that a call to `goOn` adds. `size` drops to 0 when a batch ends, but never
  // during a call to `goOn`.
  const sink: RunSink = {
    get size() {
      return batch.size;
    },
    add(block, ids, score, rank) {
      if (batch.size >= results && !batch.isOfLastQuery(block, ids.queryStart, ids.queryEnd)) flush(block);
      batch.add(block, ids, score, rank);
    },
    goOn: (block, start, hasTabs) => batch.goOn(block, start, hasTabs),
  };
  await readResults(path, sink, buffers);
  flush(null);
}

/**
 * Reads a run like `readRunInBatches`, but accepts lines in any order. No query is split between two calls to `handle`.
 *
 * @param isJudgedQuery called once per query id; results of other queries are dropped
 */
export async function readRunByQuery(
  path: string,
  isJudgedQuery: (queryId: string) => boolean,
  handle: (results: ResultTable) => void,
): Promise<void> {
  const partitions = new RunPartitions(await sizeOf(path), isJudgedQuery);
  await readResults(path, partitions, new BlockBuffers(), true);
  partitions.drain(handle);
}

/** @param isCopied true if the sink copies what it needs and keeps no part of a block */
async function readResults(path: string, sink: RunSink, buffers: BlockBuffers, isCopied = false): Promise<void> {
  let layout: RunLayout | null = null;
  let scanner = new ColumnScanner(MAX_COLUMNS, 'blanks');
  let hasResult = false;
  const addLine = (block: Block, line: number, read: RunLayout): void => {
    const { bytes } = block;
    const { starts, ends, count } = scanner;
    if (count === 0 || line === read.headerLine || bytes[starts[0] ?? 0] === NUMBER_SIGN) return;
    if (count !== read.columns.length) throw malformed(path, line, wrongColumns(read, count));
    trim(bytes, scanner);
    const [queryStart, queryEnd] = [starts[read.query] ?? 0, ends[read.query] ?? 0];
    const [start, end] = [starts[read.document] ?? 0, ends[read.document] ?? 0];
    const rank = read.rank === null ? 0 : rankAt(block, starts[read.rank] ?? 0, ends[read.rank] ?? 0);
    const score = read.score === null ? -rank : parseScore(bytes, starts[read.score] ?? 0, ends[read.score] ?? 0);
    if (queryStart === queryEnd || start === end || Number.isNaN(rank) || Number.isNaN(score)) {
      throw malformed(path, line, problemOf(cellsOf(block, scanner), read) ?? wrongColumns(read, count));
    }
    hasResult = true;
    const ids = { queryStart, queryEnd, start, end };
    sink.add(block, ids, score, Math.max(-MAX_RANK, Math.min(MAX_RANK, rank)));
  };
  await forEachBlock(
    path,
    (block, firstLine) => {
      if (layout === null) {
        layout = decideRunLayout(path, sampleOf(block, firstLine));
        if (layout !== null) scanner = new ColumnScanner(MAX_COLUMNS, layout.separator);
      }
      const isTrec = layout !== null && isTrecLayout(layout);
      const hasTabs = layout?.separator === 'tabs';
      let line = firstLine;
      for (let next = 0; next < block.bytes.length; line++) {
        next = scanner.scan(block.bytes, next);
        if (layout === null) continue;
        addLine(block, line, layout);
        if (!isTrec) continue;
        const before = sink.size;
        next = sink.goOn(block, next, hasTabs);
        line += sink.size - before;
      }
      if (isCopied) buffers.giveBack([block]);
      return line;
    },
    buffers,
  );
  if (!hasResult)
    throw new RecalldError('file_malformed', `${path} has no results; write each result as "${TREC_LINE}".`);
}

/** Parses a rank. Reads plain integers from the bytes, because a text slice would require decoding the whole block. */
function rankAt(block: Block, start: number, end: number): number {
  const rank = parseGrade(block.bytes, start, end);
  return Number.isNaN(rank) ? parseRank(block.slice(start, end)) : rank;
}

/** Returns the first lines of a block as text, without empty lines and comments. */
function sampleOf(block: Block, firstLine: number): RunLine[] {
  const lines: RunLine[] = [];
  const scanner = new ColumnScanner(MAX_COLUMNS, 'blanks');
  let line = firstLine;
  for (let start = 0; start < block.bytes.length && lines.length < SAMPLE_LINES; line++) {
    const next = scanner.scan(block.bytes, start);
    const isComment = block.bytes[scanner.starts[0] ?? 0] === NUMBER_SIGN;
    if (scanner.count !== 0 && !isComment) lines.push({ line, text: lineText(block, start, next) });
    start = next;
  }
  return lines;
}

const lineText = (block: Block, start: number, end: number): string =>
  block
    .slice(start, Math.min(end, block.bytes.length))
    .replace(/^\ufeff/, '')
    .replace(/\r?\n?$/, '');

function cellsOf(block: Block, { starts, ends, count }: ColumnScanner): string[] {
  return Array.from({ length: Math.min(count, MAX_COLUMNS) }, (_, i) => block.slice(starts[i] ?? 0, ends[i] ?? 0));
}

/** Trims spaces around columns. Only tab-separated columns can be padded with spaces. */
function trim(bytes: Uint8Array, { starts, ends, count }: ColumnScanner): void {
  for (let i = 0; i < count; i++) {
    while ((starts[i] ?? 0) < (ends[i] ?? 0) && bytes[starts[i] ?? 0] === SPACE) starts[i] = (starts[i] ?? 0) + 1;
    while ((starts[i] ?? 0) < (ends[i] ?? 0) && bytes[(ends[i] ?? 0) - 1] === SPACE) ends[i] = (ends[i] ?? 0) - 1;
  }
}
