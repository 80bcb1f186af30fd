/**
 * Requests rows from a vector store in batches of bounded size. Converts the rows into the neighbors, samples and
 * existing ids that the `VectorStore` port returns, and converts exceptions into the port's outcomes.
 */
import { createReservoir } from '../../math/stats/random.ts';
import { cosineOfScore, cosineSimilarity, matrixOf } from '../../math/vector/matrix.ts';
import type { FailedCall } from '../../platform/outbound/json-api.ts';
import {
  MAX_CHUNKS,
  type Nearest,
  type NearestRequest,
  type Neighbour,
  type SampledVectors,
  type SampleRequest,
  type ScoreKind,
  type StoredChunk,
  type StoreOutcome,
} from './vector-store.ts';

/** A chunk in a response; missing properties are null. */
export interface Entry {
  /** Id of the document. */
  readonly id: string | null;
  readonly vector: Float32Array | null;
  readonly content: string | null;
  /** Version of the document; missing if it was not requested. */
  readonly version?: string | null;
}

export interface Hit extends Entry {
  readonly score: number | null;
}

/** True if hits must include their vectors because the score is not a cosine. */
export function needsVectors(
  kind: ScoreKind,
): kind is Exclude<ScoreKind, 'cosine' | 'cosine_distance' | 'shifted_cosine'> {
  return kind !== 'cosine' && kind !== 'cosine_distance' && kind !== 'shifted_cosine';
}

/**
 * @param hits best first, in the order of the store
 * @returns the neighbors, or the first required property that a hit lacks; a vector is required only if the score is
 *   not a cosine
 */
export function toNearest(
  hits: readonly Hit[],
  scoreKind: ScoreKind,
  request: NearestRequest,
): Nearest | 'score' | 'id' | 'vector' {
  const neighbours: Neighbour[] = [];
  for (const { id, score, vector, content } of hits) {
    if (score === null) return 'score';
    if (id === null) return 'id';
    const similarity = similarityOf(score, vector, scoreKind, request.vector);
    if (similarity === null) return 'vector';
    neighbours.push({ id, similarity, score, scoreKind, content: request.withContent ? content : null });
  }
  return { neighbours, isShort: neighbours.length < request.k };
}

function similarityOf(score: number, vector: Float32Array | null, kind: ScoreKind, query: Float32Array): number | null {
  if (!needsVectors(kind)) return cosineOfScore(score, kind);
  return vector?.length === query.length ? cosineSimilarity(query, vector) : null;
}

/**
 * Number of vector elements per batch, so that the JSON text of a batch stays near 10 MB and below the response size
 * limit.
 */
const NUMBERS_PER_CALL = 2 ** 19;

/** Returns how many vectors of this length to request at a time, from 1 to `most`. */
export function vectorsPerCall(dimensions: number | null, most: number): number {
  return Math.max(1, Math.min(most, Math.floor(NUMBERS_PER_CALL / (dimensions ?? 4096))));
}

export function inPortions<Item>(items: readonly Item[], size: number): Item[][] {
  const portions: Item[][] = [];
  for (let start = 0; start < items.length; start += size) portions.push(items.slice(start, start + size));
  return portions;
}

/**
 * Reads all keys of a store, page by page, and samples n of them with a seeded reservoir. Each key is equally likely.
 *
 * @param page given a start position (null for the first page), returns the keys on that page and the start position
 *   of the next page
 */
export async function chooseKeys<Key, Place>(
  n: number,
  seed: number,
  page: (from: Place | null) => Promise<{ readonly ids: readonly Key[]; readonly next: Place | null }>,
): Promise<readonly Key[]> {
  if (n < 1) return [];
  const reservoir = createReservoir<Key>(n, seed);
  let from: Place | null = null;
  do {
    const { ids, next } = await page(from);
    for (const id of ids) reservoir.offer(id);
    from = next;
  } while (from !== null);
  return reservoir.chosen();
}

/**
 * Like chooseKeys, for a store that has `count` keys.
 *
 * @param limit `most`: maximum number of keys to read; `because`: middle part of the error message for a larger store
 * @throws Refused
 */
export async function chooseCounted<Key, Place>(
  { n, seed }: SampleRequest,
  count: number,
  limit: { readonly most: number; readonly because: string },
  page: Parameters<typeof chooseKeys<Key, Place>>[2],
): Promise<readonly Key[]> {
  if (count > limit.most) throw unsupported(`A uniform sample ${limit.because} has too many (${count}).`);
  return chooseKeys(count === 0 ? 0 : n, seed, page);
}

/** Reads the sampled rows in batches. */
export async function readSample<Key>(
  drawn: readonly Key[],
  perCall: number,
  withContent: boolean,
  isSeeded: boolean,
  read: (keys: readonly Key[]) => Promise<readonly Entry[]>,
): Promise<SampledVectors> {
  const entries: Entry[] = [];
  for (const portion of inPortions(drawn, perCall)) entries.push(...(await read(portion)));
  return toSample(entries, withContent, isSeeded);
}

/** Omits rows without an id or a vector: such rows were deleted after sampling, or no search can return them. */
export function toSample(entries: readonly Entry[], withContent: boolean, isSeeded: boolean): SampledVectors {
  const stored = entries.flatMap(({ id, vector, content }) =>
    id === null || vector === null ? [] : [{ id, vector, content: withContent ? content : null }],
  );
  return {
    ids: stored.map(({ id }) => id),
    vectors: matrixOf(stored.map(({ vector }) => vector)),
    contents: stored.map(({ content }) => content),
    isSeeded,
  };
}

/** Reads the chunks of many documents in portions, up to MAX_CHUNKS in total. `read` returns at most `limit` rows. */
export async function chunksInPortions(
  ids: readonly string[],
  size: number,
  read: (some: readonly string[], limit: number) => Promise<readonly Entry[]>,
): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (const some of inPortions(ids, size)) {
    if (entries.length < MAX_CHUNKS) entries.push(...(await read(some, MAX_CHUNKS - entries.length)));
  }
  return entries;
}

/** Omits rows without an id, because their document is unknown. */
export function toChunks(entries: readonly Entry[]): StoredChunk[] {
  return entries.flatMap(({ id, content, version = null }) => (id === null ? [] : [{ id, content, version }]));
}

/**
 * Finds which of many ids are in a store where several chunks may have the same id. Requests the ids in batches. If a
 * response reaches its limit, requests the remaining ids again, because the chunks of one document may have filled the
 * response. Each further call finds at least one more id, so there are at most as many calls as ids.
 *
 * @param ask returns the ids found among `wanted`, one per chunk, at most `limit`
 */
export async function knownIds(
  ids: readonly string[],
  portion: number,
  limit: number,
  ask: (wanted: readonly string[], limit: number) => Promise<readonly string[]>,
): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  for (const wanted of inPortions([...new Set(ids)], portion)) {
    for (let open = wanted; open.length > 0; ) {
      const asked = new Set(open);
      const answer = await ask(open, limit);
      const found = answer.filter((id) => asked.has(id));
      for (const id of found) known.add(id);
      if (answer.length < limit || found.length === 0) break;
      open = open.filter((id) => !known.has(id));
    }
  }
  return known;
}

type Refusal = { readonly kind: 'unsupported'; readonly reason: string } | Omit<FailedCall, 'latencyMs'>;

/** Thrown inside a store method to make it return an outcome other than `ok`. */
export class Refused extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.kind === 'failed' ? refusal.message : refusal.reason);
    this.refusal = refusal;
  }
}

/** @param reason one sentence that states what the store cannot do, and why */
export function unsupported(reason: string): Refused {
  return new Refused({ kind: 'unsupported', reason });
}

/** @param message one sentence that names the store, the call and the fix, without a secret or a vector */
export function failed(code: string, message: string): Refused {
  return new Refused({ kind: 'failed', code, message });
}

/** Returns the code of a thrown failure; null for anything else. */
export function failureCode(error: unknown): string | null {
  return error instanceof Refused && error.refusal.kind === 'failed' ? error.refusal.code : null;
}

/** True if the code of a failure means that the store is unavailable or overloaded, not that the request is wrong. */
export function isAway(code: string): boolean {
  return /^(timeout|connection_\w+|host_unreachable|dns_\w+|tls_error|busy|rate_limited|too_many_connections|http_429|http_5\d\d)$/.test(
    code,
  );
}

/** Parameters of all requests that one store method makes. */
export interface Attempt {
  readonly signal: AbortSignal;
  /** Sums the durations of the calls behind a response, excluding waits for the rate limit or for a retry. */
  readonly stopwatch: { latencyMs: number };
  /** Factor by which `timeout_ms` is multiplied for each call. */
  readonly patience: number;
}

/** Timeout multiplier for counts, samples and exact searches, which read the whole store while no user is waiting. */
export const SCAN_PATIENCE = 30;

/**
 * Runs one store method. Returns `ok` with the return value of `work`; if `work` throws Refused, returns the outcome
 * that the exception contains. Rethrows any other exception, such as the signal's reason or a bug.
 */
export async function outcomeOf<Value>(
  signal: AbortSignal,
  work: (attempt: Attempt) => Promise<Value>,
): Promise<StoreOutcome<Value>> {
  signal.throwIfAborted();
  const stopwatch = { latencyMs: 0 };
  try {
    const value = await work({ signal, stopwatch, patience: 1 });
    return { kind: 'ok', value, latencyMs: stopwatch.latencyMs };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { refusal } = error;
    return refusal.kind === 'failed' ? { ...refusal, latencyMs: stopwatch.latencyMs } : refusal;
  }
}

/** Like outcomeOf, but with a longer timeout, for a method that reads the whole store. */
export function outcomeOfScan<Value>(
  signal: AbortSignal,
  work: (attempt: Attempt) => Promise<Value>,
): Promise<StoreOutcome<Value>> {
  return outcomeOf(signal, (attempt) => work({ ...attempt, patience: SCAN_PATIENCE }));
}

/**
 * Returns the error for a vector whose length differs from the length of the stored vectors, which means that the
 * embedding model is different.
 */
export function dimensionMismatch(service: string, expected: number, got: number): Refused {
  const fix = 'the config must name the embedding model that computed the stored vectors';
  return failed(
    'dimension_mismatch',
    `${service} received a query vector with ${got} numbers, but its vectors have ${expected}; ${fix}.`,
  );
}
