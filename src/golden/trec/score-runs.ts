/** Scores TREC runs against judgments, without a database. */
import { stat } from 'node:fs/promises';
import { createGradeEvaluator } from '../../ir/evaluate.ts';
import type { MetricKey } from '../../ir/metric-key.ts';
import { applyDuplicatePolicy, compareCodePoints, type DuplicatePolicy, orderLikeTrecEval } from '../../ir/ranking.ts';
import { type MetricSummary, summarize } from '../../stats/descriptive.ts';
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

/** What the lines of a run come to, or those that were read so far. */
interface RunScores {
  /** One column per key, one value per judged query; 0 where the run does not answer it. */
  readonly columns: readonly Float64Array[];
  /** 1 for each judged query that the run has results of. */
  readonly answered: Uint8Array;
  /** Ids of its queries without judgments. */
  readonly unjudged: Set<string>;
  duplicateDocuments: number;
  scoreTies: number;
}

/**
 * Scores TREC runs against judgments as `trec_eval -c` does: documents are ordered by score and id, and a judged
 * query without results scores 0. A run is read in batches of whole queries. Where a query stands in two of them, or
 * a line is wrong, it is read again as a whole, so that nothing else tells which way it went.
 *
 * @returns the judged queries in code-point order of their ids, and the scores of each run
 * @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and the line
 */
export async function scoreTrecRuns(
  qrelsPath: string,
  runPaths: readonly string[],
  settings: ScoringSettings,
): Promise<{ readonly queryIds: readonly string[]; readonly scores: readonly TrecScores[] }> {
  const judged = await readJudgedQueries(qrelsPath);
  const scores: TrecScores[] = [];
  for (const path of runPaths) {
    // A pipe can be read but once.
    const inBatches = (await isFile(path)) ? await scoreInBatches(judged, path, settings) : null;
    scores.push(scoresOf(judged, inBatches ?? (await scoreWhole(judged, path, settings))));
  }
  return { queryIds: judged.ids, scores };
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found?.isFile() === true;
}

function scoresOf({ ids }: JudgedQueries, scores: RunScores): TrecScores {
  const { columns, unjudged, duplicateDocuments, scoreTies } = scores;
  const answered = scores.answered.reduce((sum, isAnswered) => sum + isAnswered, 0);
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
async function scoreWhole(judged: JudgedQueries, path: string, settings: ScoringSettings): Promise<RunScores> {
  const scores = noScores(judged, settings);
  const handle = scorer(judged, path, settings, scores);
  await readRunInBatches(path, { results: Number.POSITIVE_INFINITY, handle });
  return scores;
}

/** A batch of so many results stays in the cache of a processor. */
const BATCH_RESULTS = 2000;

/** Null where a query comes in two batches, or a line is wrong. */
async function scoreInBatches(
  judged: JudgedQueries,
  path: string,
  settings: ScoringSettings,
): Promise<RunScores | null> {
  const scores = noScores(judged, settings);
  const score = scorer(judged, path, settings, scores);
  const handle = (batch: ResultTable): void => {
    for (const id of batch.queryIds) if (isIn(scores, judged, id)) throw new Error('a query stands in two batches');
    score(batch);
  };
  try {
    await readRunInBatches(path, { results: BATCH_RESULTS, handle });
    return scores;
  } catch {
    // Read as a whole, the run says what is wrong.
    return null;
  }
}

function isIn({ answered, unjudged }: RunScores, { places }: JudgedQueries, id: string): boolean {
  const place = places.get(id);
  return place === undefined ? unjudged.has(id) : answered[place] === 1;
}

function noScores({ ids }: JudgedQueries, { keys }: ScoringSettings): RunScores {
  const columns = keys.map(() => new Float64Array(ids.length));
  return { columns, answered: new Uint8Array(ids.length), unjudged: new Set(), duplicateDocuments: 0, scoreTies: 0 };
}

/** Adds the scores of a batch to those of its run. */
function scorer(
  { judgments, places }: JudgedQueries,
  path: string,
  { keys, relevanceLevel, duplicates }: ScoringSettings,
  scores: RunScores,
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
