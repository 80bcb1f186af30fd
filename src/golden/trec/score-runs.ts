/**
 * Scores TREC runs against judgments, without a database; large files in two threads, each of which reads one half of
 * every run.
 */
import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { createGradeEvaluator } from '../../ir/evaluate.ts';
import type { MetricKey } from '../../ir/metric-key.ts';
import { applyDuplicatePolicy, compareCodePoints, type DuplicatePolicy, orderLikeTrecEval } from '../../ir/ranking.ts';
import { type MetricSummary, summarize } from '../../stats/descriptive.ts';
import { createThreadPool } from '../../threads/thread-pool.ts';
import { type ByteRange, middleOf } from './blocks.ts';
import type { JudgmentTable, ResultTable } from './tables.ts';
import { readQrels, readRunInBatches } from './trec-files.ts';

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
  /** Every judged query, in code-point order whatever the order of the file. */
  readonly ids: readonly string[];
  /** Of each id in that order. */
  readonly places: ReadonlyMap<string, number>;
}

/** What the lines of a part of a run come to. */
interface PartScores {
  /** One column per key, one value per judged query; 0 where the part does not answer it. */
  readonly columns: readonly Float64Array[];
  /** 1 for each judged query that the part has results of. */
  readonly answered: Uint8Array;
  /** Ids of its queries without judgments. */
  readonly unjudged: Set<string>;
  duplicateDocuments: number;
  scoreTies: number;
}

interface RunPart {
  readonly path: string;
  readonly range: ByteRange;
}

interface PartsRequest {
  readonly qrelsPath: string;
  readonly settings: ScoringSettings;
  /** Of each run; null: nothing. */
  readonly parts: readonly (RunPart | null)[];
}

/** What the second thread is asked: null for a part that is not to be read, or cannot be. */
export const tasks = {
  async scoreParts({ qrelsPath, settings, parts }: PartsRequest): Promise<(PartScores | null)[]> {
    const judged = await readJudgedQueries(qrelsPath);
    const scores: (PartScores | null)[] = [];
    for (const part of parts) scores.push(part === null ? null : await scorePart(judged, part, settings));
    return scores;
  },
} as const;

/** Below so many bytes of a run a second thread takes longer to start than it saves. */
const LEAST_BYTES = 16 * 1024 * 1024;

/**
 * Scores TREC runs against judgments as `trec_eval -c` does: documents are ordered by score and id, and a judged
 * query without results scores 0. A run is read in batches of whole queries, the second half of a large one by another thread
 * with judgments of its own. Where that fails, or a query stands in two batches, the run is read again as a whole, so that
 * nothing else tells which way it went.
 *
 * @returns the judged queries in code-point order of their ids, and the scores of each run
 * @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and the line
 */
export async function scoreTrecRuns(
  qrelsPath: string,
  runPaths: readonly string[],
  { keys, relevanceLevel, duplicates }: ScoringSettings,
): Promise<{ readonly queryIds: readonly string[]; readonly scores: readonly TrecScores[] }> {
  // Alone what a thread can be sent.
  const settings = { keys, relevanceLevel, duplicates };
  // A pipe can be read but once.
  const threads = (await sizeOfFile(qrelsPath)) === null ? 1 : availableParallelism();
  const parts = await Promise.all(runPaths.map((path) => partsOf(path, threads)));
  const seconds = parts.map(([, second = null]) => second);
  const pool = createThreadPool<typeof tasks>({
    tasks: import.meta.url,
    threads: 1,
    mostWaiting: 0,
    refusal: 'A run is scored already.',
  });
  try {
    const others = seconds.every((part) => part === null)
      ? Promise.resolve([])
      : pool.run('scoreParts', { qrelsPath, settings, parts: seconds }, new AbortController().signal).catch(() => []);
    const judged = await readJudgedQueries(qrelsPath);
    const firsts: (PartScores | null)[] = [];
    for (const [first] of parts) firsts.push(first === undefined ? null : await scorePart(judged, first, settings));
    const ends = await others;
    const scores: TrecScores[] = [];
    for (const [i, path] of runPaths.entries()) {
      const found = seconds[i] === null ? firsts[i] : joined(firsts[i] ?? null, ends[i] ?? null);
      scores.push(scoresOf(judged, found ?? (await scoreWhole(judged, path, settings))));
    }
    return { queryIds: judged.ids, scores };
  } finally {
    await pool.close();
  }
}

/** Two halves of a large file, one part of another; none of what is no file. */
async function partsOf(path: string, threads: number): Promise<readonly RunPart[]> {
  const size = await sizeOfFile(path);
  if (size === null) return [];
  const middle = size >= LEAST_BYTES && threads > 1 ? await middleOf(path, size) : null;
  const ends = middle === null ? [size] : [middle, size];
  return ends.map((to, i) => ({ path, range: { from: ends[i - 1] ?? 0, to } }));
}

/** Null for what is no file, such as a pipe. */
async function sizeOfFile(path: string): Promise<number | null> {
  const found = await stat(path).catch(() => null);
  return found?.isFile() === true ? found.size : null;
}

/** The scores of two halves as those of one; null where one is missing or they share a query. */
function joined(one: PartScores | null, other: PartScores | null): PartScores | null {
  if (one === null || other === null) return null;
  if ([...other.unjudged].some((id) => one.unjudged.has(id))) return null;
  if (one.answered.some((isAnswered, row) => isAnswered === 1 && other.answered[row] === 1)) return null;
  return {
    // What a half does not answer is 0 in it.
    columns: one.columns.map((column, i) => column.map((value, row) => value + (other.columns[i]?.[row] ?? 0))),
    answered: one.answered.map((isAnswered, row) => isAnswered + (other.answered[row] ?? 0)),
    unjudged: new Set([...one.unjudged, ...other.unjudged]),
    duplicateDocuments: one.duplicateDocuments + other.duplicateDocuments,
    scoreTies: one.scoreTies + other.scoreTies,
  };
}

function scoresOf({ ids }: JudgedQueries, part: PartScores): TrecScores {
  const { columns, unjudged, duplicateDocuments, scoreTies } = part;
  const answered = part.answered.reduce((sum, isAnswered) => sum + isAnswered, 0);
  return {
    counts: {
      judgedQueries: ids.length,
      answered,
      missing: ids.length - answered,
      ignoredUnjudgedQueries: unjudged.size,
      duplicateDocuments,
      scoreTies,
    },
    columns,
  };
}

async function readJudgedQueries(qrelsPath: string): Promise<JudgedQueries> {
  const judgments = await readQrels(qrelsPath);
  const ids = [...judgments.queries.keys()].toSorted(compareCodePoints);
  return { judgments, ids, places: new Map(ids.map((id, place) => [id, place])) };
}

/** All lines of the run at once. */
async function scoreWhole(judged: JudgedQueries, path: string, settings: ScoringSettings): Promise<PartScores> {
  const scores = emptyPart(judged, settings);
  const handle = scorer(judged, path, settings, scores);
  await readRunInBatches(path, { results: Number.POSITIVE_INFINITY, handle });
  return scores;
}

/** A batch of so many results stays in the cache of a processor. */
const BATCH_RESULTS = 10_000;

/** A part in batches; null where a query comes in two of them, or the part cannot be read. */
async function scorePart(
  judged: JudgedQueries,
  { path, range }: RunPart,
  settings: ScoringSettings,
): Promise<PartScores | null> {
  const scores = emptyPart(judged, settings);
  const score = scorer(judged, path, settings, scores);
  const handle = (batch: ResultTable): void => {
    for (const id of batch.queryIds) if (isIn(scores, judged, id)) throw new Error('a query stands in two batches');
    score(batch);
  };
  try {
    await readRunInBatches(path, { range, results: BATCH_RESULTS, handle });
    return scores;
  } catch {
    // Read as a whole, the run says what is wrong.
    return null;
  }
}

function isIn({ answered, unjudged }: PartScores, { places }: JudgedQueries, id: string): boolean {
  const place = places.get(id);
  return place === undefined ? unjudged.has(id) : answered[place] === 1;
}

function emptyPart({ ids }: JudgedQueries, { keys }: ScoringSettings): PartScores {
  const columns = keys.map(() => new Float64Array(ids.length));
  return { columns, answered: new Uint8Array(ids.length), unjudged: new Set(), duplicateDocuments: 0, scoreTies: 0 };
}

/** Adds the scores of a batch to those of its part. */
function scorer(
  { judgments, places }: JudgedQueries,
  path: string,
  { keys, relevanceLevel, duplicates }: ScoringSettings,
  scores: PartScores,
): (batch: ResultTable) => void {
  const evaluate = createGradeEvaluator(keys, relevanceLevel);
  return (batch) => {
    for (const id of batch.queryIds) {
      const [place, judged] = [places.get(id), judgments.queries.get(id)];
      if (place === undefined || judged === undefined) {
        scores.unjudged.add(id);
        continue;
      }
      const ranked = batch.rank(id, judgments, judged, duplicates === 'collapse');
      scores.answered[place] = 1;
      scores.scoreTies += ranked.scoreTies;
      scores.duplicateDocuments += ranked.duplicates;
      if (duplicates === 'reject' && ranked.duplicates > 0) refuseRepeat(batch, id, `${path}: The query "${id}"`);
      const values = evaluate(ranked.grades, ranked.length, judgments.gradesOf(judged));
      for (const [i, column] of scores.columns.entries()) column[place] = values[i] ?? 0;
    }
  };
}

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
  const { queryIds, scores } = await scoreTrecRuns(request.qrelsPath, [request.runPath], request);
  const [{ counts, columns }] = scores as [TrecScores];
  return {
    counts,
    queryIds,
    metrics: request.keys.map((key, i) => {
      const values = columns[i] ?? new Float64Array(queryIds.length);
      return { key, summary: summarize(values, key.measure), values };
    }),
  };
}
