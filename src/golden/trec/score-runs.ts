import { stat } from 'node:fs/promises';
import { createGradeEvaluator } from '../../math/ir/evaluate.ts';
import type { MetricKey } from '../../math/ir/metric-key.ts';
import {
  applyDuplicatePolicy,
  compareCodePoints,
  type DuplicatePolicy,
  orderLikeTrecEval,
} from '../../math/ir/ranking.ts';
import { createUnionEvaluator } from '../../math/ir/union.ts';
import { summarize } from '../../math/stats/descriptive.ts';
import { describeIdDifference, type IdDifference } from '../rules/id-mismatch.ts';
import type { QueryRows } from './document-rows.ts';
import { readQrels } from './qrels-file.ts';
import type { ResultTable } from './result-table.ts';
import { readRunByQuery, readRunInBatches } from './run-file.ts';
import { RunSteps } from './run-steps.ts';
import type { JudgmentTable } from './tables.ts';

export interface ScoringSettings {
  readonly keys: readonly MetricKey[];
  /** Minimum grade that counts as relevant; a whole number of at least 1. */
  readonly relevanceLevel: number;
  readonly duplicates: DuplicatePolicy;
}

/**
 * Difference that is reported if the run returns judged documents, but only for queries for which they are not judged.
 */
export const OTHER_QUERY = 'query';

/** Explains why no result of a run is judged. */
export interface RunMismatch extends IdDifference {
  /** `query` if the judgments and the run share no query id, otherwise `document`. */
  readonly ids: 'query' | 'document';
}

export type TrecScores = ReturnType<typeof scoresOf>;

/**
 * Scores TREC runs against judgments as `trec_eval -c` does: documents are ordered by score and id, and a judged query
 * without results scores 0. A run is read in batches of whole queries. If a query's results span two batches, the file
 * is read again, and all results are stored by query before they are scored.
 *
 * @returns the judged queries in code-point order of their ids, and the scores of each run
 * @throws RecalldError `file_unreadable` or `file_malformed`, with the file and the line
 */
export async function scoreTrecRuns(
  qrelsPath: string,
  runPaths: readonly string[],
  settings: ScoringSettings,
): Promise<{ readonly queryIds: readonly string[]; readonly scores: readonly TrecScores[] }> {
  const judged = await readJudgedQueries(qrelsPath, settings.relevanceLevel);
  const scores: TrecScores[] = [];
  for (const path of runPaths) {
    // A pipe can be read only once.
    const inBatches = (await isFile(path)) ? await scoreInBatches(judged, path, settings) : null;
    const run = inBatches ?? (await scoreByQuery(judged, path, settings));
    scoreSteps(judged, qrelsPath, settings, run);
    scores.push(scoresOf(path, judged, run));
  }
  return { queryIds: judged.ids, scores };
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found?.isFile() === true;
}

function scoresOf(path: string, judged: JudgedQueries, scores: RunScores) {
  const { columns, unjudged, steps, judgedFound, ranksAgree, ranksDisagree, repeat } = scores;
  const answered = scores.answered.reduce((sum, isAnswered) => sum + isAnswered, 0);
  return {
    path,
    counts: {
      judgedQueries: judged.ids.length,
      /** Number of judged queries with at least one result in the run. */
      answered,
      /** Number of judged queries without results; they score 0. */
      missing: judged.ids.length - answered,
      /**
       * Number of judged queries without a relevant document; these queries score 0 in most measures, but are included
       * in the means.
       */
      queriesWithoutRelevant: judged.queriesWithoutRelevant,
      /** Number of judgments with a grade of 0 or more. */
      judgedDocuments: judged.judgedDocuments,
      /** Number of judgments with a grade of 0 or more whose document the run returned for the same query. */
      judgedDocumentsFound: judgedFound,
      /** Number of unjudged queries in the run; these queries are ignored. */
      ignoredUnjudgedQueries: unjudged.size,
      /** Number of judged queries whose steps have results in the run, under query ids such as `q1#2`. */
      queriesWithSteps: steps.size,
      /** Number of results that repeat a document of the same ranking, summed over all judged queries. */
      duplicateDocuments: scores.duplicateDocuments,
      /**
       * Number of results with the same score as the previous, different document, summed over all judged queries.
       * Results with equal scores are ordered by document id, not by the retriever.
       */
      scoreTies: scores.scoreTies,
    },
    /** Likely cause of a mismatch; null if at least one judged document is found, or if no document is judged. */
    mismatch: judged.judgedDocuments > 0 && judgedFound === 0 ? mismatchOf(judged, scores, answered) : null,
    /**
     * Numbers of pairs of adjacent results in score order: pairs whose higher-scoring result has the better rank
     * (`agree`), and pairs whose higher-scoring result has the worse rank (`disagree`).
     */
    ranks: { agree: ranksAgree, disagree: ranksDisagree },
    repeat,
    /** `count`: number of steps; `unread`: a query id that looks like a step but is not one, or null. */
    steps: { count: steps.count, unread: steps.unread },
    /** One column per metric key, with one value per judged query. */
    columns,
  };
}

function mismatchOf({ ids }: JudgedQueries, scores: RunScores, answered: number): RunMismatch {
  const shared = [...scores.judgedIds].find((id) => scores.returnedIds.has(id));
  if (shared !== undefined) return { ids: 'document', judged: shared, returned: shared, differences: [OTHER_QUERY] };
  return answered === 0
    ? { ids: 'query', ...describeIdDifference(ids, [...scores.unjudged]) }
    : { ids: 'document', ...describeIdDifference([...scores.judgedIds], [...scores.returnedIds]) };
}

type JudgedQueries = Awaited<ReturnType<typeof readJudgedQueries>>;

async function readJudgedQueries(qrelsPath: string, relevanceLevel: number) {
  const judgments = await readQrels(qrelsPath);
  let [judgedDocuments, queriesWithoutRelevant] = [0, 0];
  for (const query of judgments.queries.values()) {
    let highest = -1;
    for (const grade of judgments.gradesOf(query)) {
      if (grade >= 0) judgedDocuments += 1;
      if (grade > highest) highest = grade;
    }
    if (highest < relevanceLevel) queriesWithoutRelevant += 1;
  }
  const ids = [...judgments.queries.keys()].toSorted(compareCodePoints);
  return {
    judgments,
    judgedDocuments,
    queriesWithoutRelevant,
    /** Every judged query, in code-point order regardless of the order in the file. */
    ids,
    /** Index in `ids`, keyed by query id. */
    places: new Map(ids.map((id, place) => [id, place])),
  };
}

async function scoreByQuery(judged: JudgedQueries, path: string, settings: ScoringSettings): Promise<RunScores> {
  const scores = noScores(judged, path, settings);
  const isJudged = (queryId: string): boolean => {
    if (judged.places.has(queryId) || scores.steps.read(queryId) !== null) return true;
    ignore(scores, queryId);
    return false;
  };
  await readRunByQuery(path, isJudged, scorer(judged, path, settings, scores));
  return scores;
}

function ignore({ unjudged, steps }: RunScores, queryId: string): void {
  unjudged.add(queryId);
  steps.notice(queryId);
}

/** Number of results per batch: few enough that a batch fits into the processor cache. */
const BATCH_RESULTS = 2000;

/** Error that stops the reading of a run that cannot be scored in batches. */
const splitQuery = new Error('a query is split across two batches');

/** Returns null if the results of a query span two batches. */
async function scoreInBatches(
  judged: JudgedQueries,
  path: string,
  settings: ScoringSettings,
): Promise<RunScores | null> {
  const scores = noScores(judged, path, settings);
  const score = scorer(judged, path, settings, scores);
  const handle = (batch: ResultTable): void => {
    for (const id of batch.queries.keys()) if (isIn(scores, judged, id)) throw splitQuery;
    score(batch);
  };
  try {
    await readRunInBatches(path, BATCH_RESULTS, handle);
    return scores;
  } catch (error) {
    if (error === splitQuery) return null;
    throw error;
  }
}

function isIn({ answered, unjudged, steps }: RunScores, { places }: JudgedQueries, id: string): boolean {
  const place = places.get(id);
  if (place !== undefined) return answered[place] === 1;
  const step = steps.read(id);
  return step === null ? unjudged.has(id) : steps.has(step);
}

type RunScores = ReturnType<typeof noScores>;

type Repeat = { readonly queryId: string; readonly documentId: string; readonly times: number };

function noScores({ ids, places }: JudgedQueries, path: string, { keys }: ScoringSettings) {
  return {
    /** One column per metric key, with one value per judged query; 0 for queries without results in the run. */
    columns: keys.map(() => new Float64Array(ids.length)),
    /** 1 for each judged query with results, otherwise 0. */
    answered: new Uint8Array(ids.length),
    unjudged: new Set<string>(),
    steps: new RunSteps(path, places),
    duplicateDocuments: 0,
    scoreTies: 0,
    judgedFound: 0,
    ranksAgree: 0,
    ranksDisagree: 0,
    /** The first repeated document in the results of a query; null if no document is repeated. */
    repeat: null as Repeat | null,
    /** Examples of judged document ids; collected until a judged document is found in the results. */
    judgedIds: new Set<string>(),
    returnedIds: new Set<string>(),
  };
}

function scorer(
  { judgments, places }: JudgedQueries,
  path: string,
  { keys, relevanceLevel, duplicates }: ScoringSettings,
  scores: RunScores,
): (batch: ResultTable) => void {
  const evaluate = createGradeEvaluator(keys, relevanceLevel);
  return (batch) => {
    for (const id of batch.queries.keys()) {
      const place = places.get(id);
      const step = place === undefined ? scores.steps.read(id) : null;
      const judged = judgments.queries.get(step?.query ?? id);
      if (judged === undefined) {
        ignore(scores, id);
        continue;
      }
      const ranked = batch.rank(id, judgments, judged, duplicates === 'collapse');
      scores.scoreTies += ranked.scoreTies;
      scores.duplicateDocuments += ranked.duplicates;
      scores.ranksAgree += ranked.ranksAgree;
      scores.ranksDisagree += ranked.ranksDisagree;
      if (ranked.duplicates > 0) scores.repeat = firstRepeat(scores.repeat, batch, id);
      if (place !== undefined) scores.judgedFound += ranked.judgedFound;
      if (scores.judgedFound === 0) sampleIds(scores, judgments, judged, batch, id);
      if (step !== null) scores.steps.add(id, step, batch.get(id) ?? { ids: [], scores: [] }, duplicates);
      if (place === undefined) continue;
      scores.answered[place] = 1;
      if (duplicates === 'reject' && ranked.duplicates > 0) refuseRepeat(batch, id, `${path}: The query "${id}"`);
      const values = evaluate(ranked.grades, ranked.length, judgments.gradesOf(judged));
      for (const [i, column] of scores.columns.entries()) column[place] = values[i] ?? 0;
    }
  };
}

/** Scores the queries that have results of steps, once all results of steps have been read. */
function scoreSteps(
  { judgments, ids }: JudgedQueries,
  qrelsPath: string,
  { keys, relevanceLevel }: ScoringSettings,
  scores: RunScores,
): void {
  const evaluate = createUnionEvaluator(keys, relevanceLevel);
  for (const [place, steps] of scores.steps.queries(scores.answered, ids, qrelsPath)) {
    const ranges = judgments.queries.get(ids[place] ?? '') ?? [];
    const grades = new Map<string, number>();
    for (let i = 0; i < ranges.length; i += 2)
      for (let row = ranges[i] ?? 0; row < (ranges[i + 1] ?? 0); row++)
        grades.set(judgments.text(row), judgments.gradeOf(row));
    const values = evaluate(steps, grades);
    for (const [i, column] of scores.columns.entries()) column[place] = values[i] ?? 0;
    scores.answered[place] = 1;
    const returned = new Set(steps.flat());
    scores.judgedFound += [...grades].filter(([id, grade]) => grade >= 0 && returned.has(id)).length;
  }
}

/** Maximum number of example ids, in total and per query, that show how ids in the judgments and in the run differ. */
const [SAMPLED_IDS, SAMPLED_OF_QUERY] = [2000, 100] as const;

function sampleIds(
  { judgedIds, returnedIds }: RunScores,
  judgments: JudgmentTable,
  [start = 0, end = 0]: QueryRows,
  batch: ResultTable,
  queryId: string,
): void {
  if (judgedIds.size >= SAMPLED_IDS || returnedIds.size >= SAMPLED_IDS) return;
  const rows = Array.from({ length: Math.min(SAMPLED_OF_QUERY, end - start) }, (_, i) => start + i);
  // Relevant documents come first, because they are better examples.
  for (const row of rows.toSorted((a, b) => judgments.gradeOf(b) - judgments.gradeOf(a))) {
    judgedIds.add(judgments.text(row));
  }
  for (const id of (batch.get(queryId)?.ids ?? []).slice(0, SAMPLED_OF_QUERY)) returnedIds.add(id);
}

/**
 * Chooses the query with the lowest id and returns its repeated document, so that the order of lines does not matter.
 */
function firstRepeat(before: Repeat | null, batch: ResultTable, queryId: string): Repeat | null {
  if (before !== null && compareCodePoints(before.queryId, queryId) < 0) return before;
  const times = new Map<string, number>();
  for (const id of batch.get(queryId)?.ids ?? []) times.set(id, (times.get(id) ?? 0) + 1);
  const [first] = [...times].toSorted((a, b) => b[1] - a[1] || compareCodePoints(a[0], b[0]));
  return first === undefined ? before : { queryId, documentId: first[0], times: first[1] };
}

function refuseRepeat(run: ResultTable, queryId: string, owner: string): void {
  const documents = run.get(queryId);
  if (documents !== undefined) applyDuplicatePolicy(orderLikeTrecEval(documents).ids, 'reject', owner);
}

export interface OfflineEvaluationRequest extends ScoringSettings {
  readonly qrelsPath: string;
  readonly runPath: string;
}

export type OfflineEvaluation = Awaited<ReturnType<typeof evaluateTrecFiles>>;

/**
 * Scores a TREC run against judgments as `trec_eval -c` does: documents are ordered by score and id, the means are over
 * all judged queries, and a judged query without results scores 0.
 *
 * @throws RecalldError `file_unreadable` or `file_malformed`, with the file and the line
 */
export async function evaluateTrecFiles(request: OfflineEvaluationRequest) {
  const { queryIds, scores } = await scoreTrecRuns(request.qrelsPath, [request.runPath], request);
  const [run] = scores as [TrecScores];
  return {
    run,
    /** Every judged query, in code-point order of the ids regardless of the order in the files. */
    queryIds,
    metrics: request.keys.map((key, i) => {
      const values = run.columns[i] ?? new Float64Array(queryIds.length);
      return {
        key,
        summary: summarize(values, key.measure),
        /** Scores, one per query in `queryIds`. */
        values,
      };
    }),
  };
}
