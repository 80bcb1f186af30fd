import { setImmediate } from 'node:timers/promises';
import { RecalldError } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import { distinctRows, groupEqualRows, type Matrix, meanDirection, selectRows } from '../math/vector/matrix.ts';
import { meanSimilarities, type Neighbours, nearestNeighbours } from '../math/vector/nearest-neighbours.ts';
import { assignRegions, findRegions, regionCount } from './rules/baseline-spread.ts';
import { compareEmbeddings } from './rules/embedding-drift.ts';
import {
  expectedSurprises,
  MATCHED_QUERIES,
  matchedDensity,
  type ReferenceQueries,
  referenceHalves,
} from './rules/matched-density.ts';
import { classifyCoverage, DENSITY_THRESHOLD, queryDensity } from './rules/query-density.ts';
import {
  baselineScores,
  coverageScores,
  NO_REGION,
  surprisesOf,
  type TiedRanks,
  tiedRanks,
} from './rules/query-score.ts';
import {
  kolmogorovSmirnov,
  mannWhitney,
  populationStabilityIndex,
  wassersteinDistance,
} from './rules/two-sample-statistics.ts';
import { readSessions, readVectors } from './vector-files.ts';

export type OfflineDrift = Awaited<ReturnType<typeof compareVectorFiles>>;

/** `top-1-less-mean`: the score that the daemon uses. `mean-top-k`: mean cosine of a query to its k nearest chunks. */
export const scoreNames = ['top-1-less-mean', 'mean-top-k'] as const;

export type ScoreChoice =
  | { readonly name: 'top-1-less-mean' }
  /** k >= 1. */
  | { readonly name: 'mean-top-k'; readonly k: number };

export interface OfflineDriftRequest {
  readonly storePath: string;
  readonly referencePath: string;
  readonly currentPath: string;
  /** File with the session of each row in the current file; null if each row is its own session. */
  readonly sessionsPath: string | null;
  readonly score: ScoreChoice;
  /**
   * Number of regions within which scores are ranked: 0 or 1 for a single region; null to derive this number from the
   * number of reference queries.
   */
  readonly regions: number | null;
  /** Significance level, in (0, 0.5]. */
  readonly alpha: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly showProgress: (progress: { readonly answered: number; readonly total: number }) => void;
}

const PSI_BINS = 10;

/** Number of multiplications between two checks of the abort signal: about half a second of work. */
const STEPS_PER_SLICE = 1e9;

/**
 * Compares current queries with reference queries, both measured by exact search in the store.
 *
 * @throws RecalldError `file_unreadable` or `file_malformed`, which name the file and the problem, or `interrupted`
 */
export async function compareVectorFiles(request: OfflineDriftRequest) {
  const { store, reference, current, sessions } = await readInputs(request);
  const distinct = distinctRows(store);
  const chunks = distinct.length === store.rows ? store : selectRows(store, distinct);
  const { scores, referenceScores, ...coverage } = await compareCoverage({
    ...request,
    chunks,
    reference,
    current,
    sessions,
  });
  const embedding = compareEmbeddings(reference, current, request.seed);
  await pause(request.signal);
  return {
    counts: { store: store.rows, reference: reference.rows, current: current.rows },
    distinctChunks: distinct.length,
    ...coverage,
    score: {
      mannWhitneyA: mannWhitney(scores, referenceScores),
      wasserstein: wassersteinDistance(scores, referenceScores),
      kolmogorovSmirnov: kolmogorovSmirnov(scores, referenceScores),
      psi: populationStabilityIndex(referenceScores, scores, PSI_BINS),
    },
    /** Comparison of the vectors, each scaled to length 1. */
    embedding,
  };
}

type CoverageRequest = Pick<OfflineDriftRequest, 'score' | 'regions' | 'alpha' | 'seed' | 'signal' | 'showProgress'> & {
  /** Excludes duplicates. */
  readonly chunks: Matrix;
  readonly reference: Matrix;
  readonly current: Matrix;
  /** Session number of each current query. */
  readonly sessions: Uint32Array;
};

export async function compareCoverage(request: CoverageRequest) {
  const { chunks, reference, current, sessions, alpha, seed, signal } = request;
  const scoring = scoreFor(chunks, request.score);
  const total = reference.rows + current.rows;
  const scoreAll = (queries: Matrix, before: number): Promise<Float64Array> =>
    valuesOf(queries, chunks, scoring.neighbours, signal, scoring.of, (answered) =>
      request.showProgress({ answered: before + answered, total }),
    );
  const referenceScores = await scoreAll(reference, 0);
  const scores = await scoreAll(current, reference.rows);
  const regions = Math.max(1, request.regions ?? regionCount(reference.rows));
  const located = locate(reference, current, regions, seed);
  const baseline = baselineScores(referenceScores, located.reference, regions);
  const rankAll = (values: Float64Array, places: Int32Array): TiedRanks[] =>
    Array.from(values, (score, i) => tiedRanks(score, places[i] ?? NO_REGION, baseline));
  const ranks = rankAll(scores, located.current);
  const surprises = surprisesOf(ranks);
  const density = queryDensity(ranks, surprises, located.current, sessions);
  if (density === null) throw new RangeError('There are no current queries to compare.');
  await pause(signal);
  const referenceSurprises = surprisesOf(rankAll(referenceScores, located.reference));
  const excess = await excessSurprises(
    { vectors: reference, surprises: referenceSurprises },
    { vectors: current, surprises },
    signal,
  );
  const matched = matchedDensity(excess.current, sessions, excess.reference, alpha / 2);
  const whole = classifyCoverage(density, baseline, alpha / 2);
  const coverage = {
    ...whole,
    /** `worse_covered` if either upper limit is below the threshold. Each limit uses half of alpha. */
    verdict: matched.upperLimit < DENSITY_THRESHOLD ? ('worse_covered' as const) : whole.verdict,
    matched,
  };
  return { regions, density, coverage, scores, referenceScores };
}

async function readInputs(request: OfflineDriftRequest) {
  const { storePath, referencePath, currentPath, sessionsPath } = request;
  const store = await readVectors(storePath);
  const reference = await readVectors(referencePath);
  const current = await readVectors(currentPath);
  for (const [path, { rows, columns }] of [
    [referencePath, reference],
    [currentPath, current],
  ] as const) {
    if (columns !== store.columns) {
      throw malformed(
        `${path} has ${columns}-dimensional vectors, but those in ${storePath} have ${store.columns} dimensions; use vectors from the same embedding model`,
      );
    }
    if (rows < 2) throw malformed(`${path} has a single vector; at least two are needed`);
  }
  const sessions =
    sessionsPath === null
      ? Uint32Array.from({ length: current.rows }, (_, row) => row)
      : await readSessions(sessionsPath);
  if (sessions.length !== current.rows) {
    throw malformed(
      `${sessionsPath} has ${plural(sessions.length, 'line')}, but ${currentPath} has ${plural(current.rows, 'row')}; write one line per row`,
    );
  }
  return { store, reference, current, sessions };
}

function scoreFor(chunks: Matrix, choice: ScoreChoice) {
  const isMean = choice.name === 'mean-top-k';
  const storeMean = isMean ? new Float64Array(0) : meanDirection(chunks);
  return {
    neighbours: isMean ? choice.k : 1,
    of: (found: Neighbours, queries: Matrix) =>
      isMean ? meanSimilarities(found, queries.rows) : coverageScores(found, queries, storeMean),
  };
}

/**
 * Computes a value for each query from the query's neighbors. Searches equal queries only once, because users repeat
 * queries. Searches the queries in slices, so that the search can be interrupted.
 *
 * @param valuesIn computes the values of the queries in one slice
 * @param show receives the number of queries that already have a value
 */
async function valuesOf(
  queries: Matrix,
  rows: Matrix,
  neighbours: number,
  signal: AbortSignal,
  valuesIn: (found: Neighbours, slice: Matrix) => Float64Array,
  show: (done: number) => void = () => undefined,
): Promise<Float64Array> {
  const { distinct, groupOf } = groupEqualRows(queries);
  const values = new Float64Array(distinct.length);
  const size = Math.max(32, Math.floor(STEPS_PER_SLICE / (rows.rows * rows.columns)));
  for (let from = 0; from < distinct.length; from += size) {
    const slice = selectRows(queries, distinct.subarray(from, from + size));
    values.set(valuesIn(nearestNeighbours(rows, slice, neighbours), slice), from);
    show(Math.floor((queries.rows * (from + slice.rows)) / distinct.length));
    await pause(signal);
  }
  return Float64Array.from(groupOf, (group) => values[group] ?? 0);
}

type SurprisedQueries = Pick<ReferenceQueries, 'vectors' | 'surprises'>;

/**
 * Computes how much the surprise of each query exceeds the surprise of the most similar reference queries. Each half of
 * the reference queries is compared with the other half. The current queries are compared with each half, and the two
 * values of a query are averaged.
 */
async function excessSurprises(
  reference: SurprisedQueries,
  current: SurprisedQueries,
  signal: AbortSignal,
): Promise<{ readonly reference: Float64Array; readonly current: Float64Array }> {
  const halves = referenceHalves(reference.vectors.rows).map((rows) => partOf(reference, rows));
  const excess = { reference: [] as number[], current: new Float64Array(current.surprises.length) };
  for (const [i, half] of halves.entries()) {
    const other = halves[1 - i] ?? half;
    excess.reference.push(...(await excessOver(half, other, signal)));
    const ofCurrent = await excessOver(half, current, signal);
    for (const [query, value] of ofCurrent.entries()) excess.current[query] = (excess.current[query] ?? 0) + value / 2;
  }
  return { reference: Float64Array.from(excess.reference), current: excess.current };
}

async function excessOver(
  known: SurprisedQueries,
  { vectors, surprises }: SurprisedQueries,
  signal: AbortSignal,
): Promise<Float64Array> {
  const expected = await valuesOf(vectors, known.vectors, MATCHED_QUERIES, signal, (found, { rows }) =>
    expectedSurprises(found, rows, known.surprises),
  );
  return surprises.map((surprise, query) => surprise - (expected[query] ?? 0));
}

function partOf({ vectors, surprises }: SurprisedQueries, rows: readonly number[]): SurprisedQueries {
  return {
    vectors: selectRows(vectors, rows),
    surprises: Float64Array.from(rows, (row) => surprises[row] ?? 0),
  };
}

/** Returns the region of each query; NO_REGION for all queries if there is only one region. */
function locate(
  reference: Matrix,
  current: Matrix,
  count: number,
  seed: number,
): { readonly reference: Int32Array; readonly current: Int32Array } {
  if (count === 1) {
    return {
      reference: new Int32Array(reference.rows).fill(NO_REGION),
      current: new Int32Array(current.rows).fill(NO_REGION),
    };
  }
  const regions = findRegions(reference, seed, count);
  return { reference: assignRegions(reference, regions), current: assignRegions(current, regions) };
}

/** Yields to the event loop, so that the process can handle signals such as SIGINT. */
async function pause(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}

function malformed(sentence: string): RecalldError {
  return new RecalldError('file_malformed', `${sentence}.`);
}
