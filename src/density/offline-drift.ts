import { setImmediate } from 'node:timers/promises';
import { RecalldError } from '../errors.ts';
import { distinctRows, type Matrix, selectRows } from '../vector/matrix.ts';
import { meanSimilarities, nearestNeighbours } from '../vector/nearest-neighbours.ts';
import { compareEmbeddings, type EmbeddingDrift } from './rules/embedding-drift.ts';
import { type CoverageVerdict, judgeCoverage, type QueryDensity, queryDensity } from './rules/query-density.ts';
import { baselineScores, NO_REGION, percentile, surpriseOf } from './rules/query-score.ts';
import { assignRegions, findRegions, regionCount } from './rules/regions.ts';
import {
  type KolmogorovSmirnov,
  kolmogorovSmirnov,
  mannWhitney,
  populationStabilityIndex,
  wassersteinDistance,
} from './rules/two-sample-statistics.ts';
import { readSessions, readVectors } from './vector-files.ts';

export interface OfflineDriftRequest {
  readonly storePath: string;
  readonly referencePath: string;
  readonly currentPath: string;
  /** One session per row of the current file; null = each row is a session. */
  readonly sessionsPath: string | null;
  /** Chunks whose mean cosine is the score of a query, >= 1. */
  readonly k: number;
  /** Regions of the percentiles; 0 and 1 = one for all; null = by the size of the reference. */
  readonly regions: number | null;
  /** Level of the verdict, in (0, 0.5]. */
  readonly alpha: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly showProgress: (progress: { readonly answered: number; readonly total: number }) => void;
}

export interface OfflineDrift {
  readonly counts: { readonly store: number; readonly reference: number; readonly current: number };
  /** Chunks of the store that are no copy of an earlier one. */
  readonly distinctChunks: number;
  /** 1 = one percentile for all. */
  readonly regions: number;
  readonly density: QueryDensity;
  readonly coverage: CoverageVerdict;
  /** Of the mean similarities of the current queries against those of the reference. */
  readonly score: ScoreDrift;
  /** Of the vectors, scaled to length 1. */
  readonly embedding: EmbeddingDrift;
}

interface ScoreDrift {
  /** P(current > reference) + half of P(equal). */
  readonly mannWhitneyA: number;
  readonly wasserstein: number;
  readonly kolmogorovSmirnov: KolmogorovSmirnov;
  readonly psi: number;
}

const PSI_BINS = 10;

/** Multiplications between two looks at the signal: about half a second. */
const STEPS_PER_SLICE = 1e9;

/**
 * Holds current queries against reference queries, both measured by exact search in the store: query density as the
 * daemon defines it, the distributions of the scores, and those of the vectors.
 *
 * @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and what is wrong; `interrupted`
 */
export async function compareVectorFiles(request: OfflineDriftRequest): Promise<OfflineDrift> {
  const { k, seed } = request;
  const { store, reference, current, sessions } = await readInputs(request);
  const distinct = distinctRows(store);
  const chunks = distinct.length === store.rows ? store : selectRows(store, distinct);
  const total = reference.rows + current.rows;
  const scoreAll = async (queries: Matrix, before: number): Promise<Float64Array> =>
    scoreQueries(chunks, queries, k, request.signal, (answered) =>
      request.showProgress({ answered: before + answered, total }),
    );
  const referenceScores = await scoreAll(reference, 0);
  const scores = await scoreAll(current, reference.rows);
  const regions = Math.max(1, request.regions ?? regionCount(reference.rows));
  const located = locate(reference, current, regions, seed);
  const baseline = baselineScores(referenceScores, located.reference, regions);
  const percentiles = scores.map((score, i) => percentile(score, located.current[i] ?? NO_REGION, baseline));
  const density = queryDensity(percentiles, percentiles.map(surpriseOf), located.current, sessions);
  if (density === null) throw new Error('A current file without rows was read.');
  await pause(request.signal);
  const embedding = compareEmbeddings(reference, current, seed);
  await pause(request.signal);
  return {
    counts: { store: store.rows, reference: reference.rows, current: current.rows },
    distinctChunks: distinct.length,
    regions,
    density,
    coverage: judgeCoverage(density, baseline, request.alpha),
    score: {
      mannWhitneyA: mannWhitney(scores, referenceScores).a,
      wasserstein: wassersteinDistance(scores, referenceScores),
      kolmogorovSmirnov: kolmogorovSmirnov(scores, referenceScores),
      psi: populationStabilityIndex(referenceScores, scores, PSI_BINS).psi,
    },
    embedding,
  };
}

interface Inputs {
  readonly store: Matrix;
  readonly reference: Matrix;
  readonly current: Matrix;
  readonly sessions: Uint32Array;
}

async function readInputs(request: OfflineDriftRequest): Promise<Inputs> {
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
        `${path} has vectors of ${columns} numbers and ${storePath} of ${store.columns}; take all from one embedding model`,
      );
    }
    if (rows < 2) throw malformed(`${path} holds a single vector; give at least two`);
  }
  const sessions =
    sessionsPath === null
      ? Uint32Array.from({ length: current.rows }, (_, row) => row)
      : await readSessions(sessionsPath);
  if (sessions.length !== current.rows) {
    throw malformed(
      `${sessionsPath} names ${sessions.length} sessions and ${currentPath} has ${current.rows} rows; write one line for each row`,
    );
  }
  return { store, reference, current, sessions };
}

/** Mean cosine of each query to its k nearest chunks, in slices, so that the search can be interrupted. */
async function scoreQueries(
  chunks: Matrix,
  queries: Matrix,
  k: number,
  signal: AbortSignal,
  show: (answered: number) => void,
): Promise<Float64Array> {
  const slice = Math.max(32, Math.floor(STEPS_PER_SLICE / (chunks.rows * chunks.columns)));
  const scores = new Float64Array(queries.rows);
  for (let from = 0; from < queries.rows; from += slice) {
    const to = Math.min(from + slice, queries.rows);
    const data = queries.data.subarray(from * queries.columns, to * queries.columns);
    const neighbours = nearestNeighbours(chunks, { rows: to - from, columns: queries.columns, data }, k);
    scores.set(meanSimilarities(neighbours, to - from), from);
    show(to);
    await pause(signal);
  }
  return scores;
}

/** The region of each query; none when there is one for all. */
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

/** Lets the signals of the process come in. */
async function pause(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}

function malformed(sentence: string): RecalldError {
  return new RecalldError('file_malformed', `${sentence}.`);
}
