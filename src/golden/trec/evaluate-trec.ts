/** Scores a TREC run against judgments, without a database. */

import { RecalldError } from '../../errors.ts';
import { createGradeEvaluator } from '../../ir/evaluate.ts';
import type { MetricKey } from '../../ir/metric-key.ts';
import { applyDuplicatePolicy, compareCodePoints, type DuplicatePolicy, orderLikeTrecEval } from '../../ir/ranking.ts';
import { ColumnScanner, parseGrade, parseScore } from '../../ir/trec-line.ts';
import { type MetricSummary, summarize } from '../../stats/descriptive.ts';
import { quoted } from '../../text/source-line.ts';
import { type Block, forEachLine, malformed, sizeOf } from './blocks.ts';
import type { QueryRows } from './document-rows.ts';
import { JudgmentTable } from './judgment-table.ts';
import { ResultTable } from './result-table.ts';

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
const RUN_COLUMNS = ['query-id', 'Q0', 'document-id', 'rank', 'score', 'tag'];
const RUN_DOCUMENT = 2;
const RUN_SCORE = 4;
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

  await forEachLine(path, scanner, (block, line) => {
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
  });
  const repeat = judgments.firstRepeat();
  if (repeat !== null) throw malformed(path, repeat.line, judgedTwice(repeat.queryId, repeat.documentId));
  if (judgments.queries.size === 0) throw empty(path, 'judgments', TREC_QRELS.columns);
  return judgments;
}

/**
 * Reads a TREC run (`query-id Q0 document-id rank score tag`, columns parted by blanks). As in trec_eval the second
 * column, the rank and whatever follows the score are ignored, and so are empty lines and lines that start with `#`;
 * unlike there, the tag may be missing.
 *
 * @returns at least one document
 * @throws RecalldError `file_unreadable`, or `file_malformed` with the line: wrong columns, a score that is no finite
 * decimal number, not UTF-8 text, no document at all
 */
export async function readRun(path: string): Promise<ResultTable> {
  const results = new ResultTable(await sizeOf(path));
  const scanner = new ColumnScanner(RUN_COLUMNS.length, 'blanks');

  await forEachLine(path, scanner, (block, line) => {
    if (scanner.count === 0 || isComment(block, scanner)) return;
    if (scanner.count < RUN_COLUMNS.length - 1) {
      throw malformed(path, line, wrongColumns('A result', RUN_COLUMNS, scanner.count));
    }
    const score = parseScore(block.bytes, scanner.starts[RUN_SCORE] ?? 0, scanner.ends[RUN_SCORE] ?? 0);
    if (Number.isNaN(score)) throw malformed(path, line, badScore(column(block, scanner, RUN_SCORE)));
    results.add(
      block,
      scanner.starts[QUERY] ?? 0,
      scanner.ends[QUERY] ?? 0,
      scanner.starts[RUN_DOCUMENT] ?? 0,
      scanner.ends[RUN_DOCUMENT] ?? 0,
      score,
    );
  });
  if (results.size === 0) throw empty(path, 'results', RUN_COLUMNS);
  return results;
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

function badScore(text: string): string {
  return `The score ${quoted(text)} in column 5 is not a finite decimal number; write it as 12.5 or 1e-3.`;
}

function judgedTwice(query: string, document: string): string {
  return `The document ${quoted(document)} is judged twice for the query ${quoted(query)}; keep one judgment.`;
}

function empty(path: string, what: string, columns: readonly string[]): RecalldError {
  return new RecalldError('file_malformed', `${path} holds no ${what}; it needs lines of "${columns.join(' ')}".`);
}

export interface ScoringSettings {
  readonly keys: readonly MetricKey[];
  /** Least grade that means relevant, an integer >= 1. */
  readonly relevanceLevel: number;
  readonly duplicates: DuplicatePolicy;
}

export interface EvaluationCounts {
  readonly judgedQueries: number;
  /** Judged queries with at least one result in the run. */
  readonly answered: number;
  /** Judged queries without any; they score 0. */
  readonly missing: number;
  /** Queries of the run without judgments; they do not count. */
  readonly ignoredUnjudgedQueries: number;
  /** Places that repeat a document of the same ranking, over judged queries. */
  readonly duplicateDocuments: number;
  /**
   * Documents with the same score as the other document ranked right before them, over judged queries: the places
   * that were decided by document id and not by the retriever.
   */
  readonly scoreTies: number;
}

export interface TrecScores {
  readonly counts: EvaluationCounts;
  /** One column per key, one value per judged query. */
  readonly columns: readonly Float64Array[];
}

interface JudgedQueries {
  readonly judgments: JudgmentTable;
  /** Every judged query, in code-point order of the ids whatever the order of the file. */
  readonly queries: readonly (readonly [queryId: string, rows: QueryRows])[];
}

/** @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and the line */
export async function readJudgedQueries(qrelsPath: string): Promise<JudgedQueries> {
  const judgments = await readQrels(qrelsPath);
  return { judgments, queries: [...judgments.queries].toSorted(([a], [b]) => compareCodePoints(a, b)) };
}

/**
 * Scores a TREC run against judgments as `trec_eval -c` does: documents are ordered by score and id, and a judged
 * query without results scores 0.
 *
 * @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and the line
 */
export async function scoreTrecRun(
  judged: JudgedQueries,
  runPath: string,
  settings: ScoringSettings,
): Promise<TrecScores> {
  return scoreDocuments(judged, await readRun(runPath), runPath, settings);
}

function scoreDocuments(
  { judgments, queries }: JudgedQueries,
  run: ResultTable,
  runPath: string,
  { keys, relevanceLevel, duplicates }: ScoringSettings,
): TrecScores {
  const evaluate = createGradeEvaluator(keys, relevanceLevel);
  const columns = keys.map(() => new Float64Array(queries.length));
  let answered = 0;
  let duplicateDocuments = 0;
  let scoreTies = 0;
  for (const [row, [queryId, judged]] of queries.entries()) {
    const ranked = run.rank(queryId, judgments, judged, duplicates === 'collapse');
    if (ranked !== null) answered++;
    scoreTies += ranked?.scoreTies ?? 0;
    duplicateDocuments += ranked?.duplicates ?? 0;
    if (duplicates === 'reject' && ranked !== null && ranked.duplicates > 0)
      refuseRepeat(run, queryId, `${runPath}: The query "${queryId}"`);
    const values = evaluate(ranked?.grades ?? NO_GRADES, ranked?.length ?? 0, judgments.gradesOf(judged));
    for (const [i, column] of columns.entries()) column[row] = values[i] ?? 0;
  }
  return {
    counts: {
      judgedQueries: queries.length,
      answered,
      missing: queries.length - answered,
      ignoredUnjudgedQueries: run.size - answered,
      duplicateDocuments,
      scoreTies,
    },
    columns,
  };
}

const NO_GRADES = new Float64Array(0);

/** @throws RecalldError file_malformed */
function refuseRepeat(run: ResultTable, queryId: string, owner: string): void {
  const documents = run.get(queryId);
  if (documents !== undefined) applyDuplicatePolicy(orderLikeTrecEval(documents).ids, 'reject', owner);
}

export interface OfflineEvaluationRequest extends ScoringSettings {
  readonly qrelsPath: string;
  readonly runPath: string;
}

export interface MetricScores {
  readonly key: MetricKey;
  readonly summary: MetricSummary;
  /** One value per query of `queryIds`. */
  readonly values: Float64Array;
}

export interface OfflineEvaluation {
  readonly counts: EvaluationCounts;
  /** Every judged query, in code-point order of the ids whatever the order of the files. */
  readonly queryIds: readonly string[];
  /** Aligned with the requested keys. */
  readonly metrics: readonly MetricScores[];
}

/**
 * Scores a TREC run against judgments as `trec_eval -c` does: documents are ordered by score and id, the means are
 * over all judged queries, and a judged query without results scores 0.
 *
 * @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and the line
 */
export async function evaluateTrecFiles(request: OfflineEvaluationRequest): Promise<OfflineEvaluation> {
  const judged = await readJudgedQueries(request.qrelsPath);
  const { counts, columns } = await scoreTrecRun(judged, request.runPath, request);
  return {
    counts,
    queryIds: judged.queries.map(([queryId]) => queryId),
    metrics: request.keys.map((key, i) => {
      const values = columns[i] ?? new Float64Array(judged.queries.length);
      return { key, summary: summarize(values, key.measure), values };
    }),
  };
}
