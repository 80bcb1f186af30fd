/** A golden run query by query: what was asked, what came of it, how it scored, which labels are gone. */
import { formatMetricKey } from '../../ir/metric-key.ts';
import type { GoldenQuery, QueryOutcome } from '../../model.ts';
import { type ListedQuery, listQueries, type QueryView } from '../rules/listed-queries.ts';
import type { GoldenRun, QueryAnswer } from '../rules/run.ts';
import { type RunMetricKey, scoreQueries, scoresBy } from '../rules/score-run.ts';
import { answersAsIn, readComparedSide, type StoredRuns } from './stored-runs.ts';

export interface RunQuery {
  readonly query: GoldenQuery;
  /** Null while it has none. */
  readonly answer: QueryAnswer | null;
  /** By metric key. */
  readonly scores: Readonly<Record<string, number>>;
  /** Judged documents that left the store. */
  readonly staleDocuments: readonly string[];
}

export interface RunQuerySelection {
  /** Only queries that came to this. */
  readonly outcome: QueryOutcome | null;
  /** Lowest first by this metric, ties by id; null for the order of the set. */
  readonly orderBy: RunMetricKey | null;
  /** Place of the first one, from 0. */
  readonly from: number;
  readonly limit: number;
}

/** @returns the queries of the page, and how many the selection has in all */
export async function readRunQueries(
  deps: StoredRuns,
  run: GoldenRun,
  { outcome, orderBy, from, limit }: RunQuerySelection,
): Promise<{ readonly page: readonly RunQuery[]; readonly total: number }> {
  const [{ queries, answers }, stale] = await Promise.all([readComparedSide(deps, run), deps.runs.staleLabels(run.id)]);
  const answerOf = new Map(answers.map((answer) => [answer.queryId, answer]));
  const selected = queries.filter(({ id }) => outcome === null || answerOf.get(id)?.outcome === outcome);
  const ordered = orderBy === null ? selected : lowestScoresFirst(selected, answers, run, orderBy);
  const page = ordered.slice(from, from + limit);
  const { keys, columns } = scoreQueries(page, answers, run.settings);
  return {
    total: ordered.length,
    page: page.map((query, row) => ({
      query,
      answer: answerOf.get(query.id) ?? null,
      scores: scoresOf(keys, columns, row),
      staleDocuments: stale.flatMap(({ queryId, documentId }) => (queryId === query.id ? [documentId] : [])),
    })),
  };
}

function lowestScoresFirst(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  { settings }: GoldenRun,
  key: RunMetricKey,
): GoldenQuery[] {
  const scores = scoresBy(key, queries, answers, settings.relevanceLevel);
  return queries
    .map((query, row) => ({ query, score: scores[row] ?? 0 }))
    .toSorted((a, b) => a.score - b.score || (a.query.id < b.query.id ? -1 : 1))
    .map(({ query }) => query);
}

function scoresOf(
  keys: readonly RunMetricKey[],
  columns: readonly Float64Array[],
  row: number,
): Record<string, number> {
  return Object.fromEntries(keys.map((key, column) => [formatMetricKey(key), columns[column]?.[row] ?? 0]));
}

/** The queries of a stored golden run as people look through them, one page at a time. */
interface RunTableSelection {
  readonly view: QueryView;
  /** By which queries are scored. */
  readonly key: RunMetricKey;
  /** Place of the first one, from 0. */
  readonly from: number;
  readonly limit: number;
}

/**
 * @param against the run that queries are held against; null for none
 * @returns the queries of the page, and how many the view has in all
 */
export async function readRunTable(
  deps: StoredRuns,
  run: GoldenRun,
  against: GoldenRun | null,
  { view, key, from, limit }: RunTableSelection,
): Promise<{ readonly page: readonly ListedQuery[]; readonly total: number }> {
  const [side, other, stale] = await Promise.all([
    readComparedSide(deps, run),
    against === null ? null : readOther(deps, run, against),
    deps.runs.staleLabels(run.id),
  ]);
  const staleDocuments = new Map<string, number>();
  for (const { queryId } of stale) staleDocuments.set(queryId, (staleDocuments.get(queryId) ?? 0) + 1);
  const before = other === null ? null : { ...other, queries: other.queries ?? side.queries };
  const listed = listQueries({ run: side, against: before, staleDocuments }, view, key);
  return { page: listed.slice(from, from + limit), total: listed.length };
}

/** Without its queries where they are those of the run: of one version there is one list of questions. */
async function readOther(deps: StoredRuns, run: GoldenRun, against: GoldenRun) {
  const isSame =
    run.goldenSet === against.goldenSet &&
    run.goldenSetVersion === against.goldenSetVersion &&
    run.queryIds === null &&
    against.queryIds === null;
  if (!isSame) return readComparedSide(deps, against);
  return { queries: null, answers: await answersAsIn(deps, run, against), settings: against.settings };
}
