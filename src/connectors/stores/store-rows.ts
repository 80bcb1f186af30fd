/**
 * Entries as a product gives them -> the neighbours, samples and known ids of the port, asked for in bounded portions;
 * and code that throws -> the outcomes of the port.
 */
import { cosineOfScore, cosineSimilarity, matrixOf } from '../../math/vector/matrix.ts';
import type {
  Nearest,
  NearestRequest,
  Neighbour,
  SampledVectors,
  SampleRequest,
  ScoreKind,
  StoredChunk,
  StoreOutcome,
} from './vector-store.ts';

/** What an answer says of one chunk; null is what it does not say. */
export interface Entry {
  /** Of the document. */
  readonly id: string | null;
  readonly vector: Float32Array | null;
  readonly content: string | null;
  /** Of the document that it was made of; left out where it was not asked for. */
  readonly version?: string | null;
}

export interface Hit extends Entry {
  readonly score: number | null;
}

/** Whether hits must come with their vectors, since the score is no cosine. */
export function needsVectors(kind: ScoreKind): boolean {
  return kind !== 'cosine' && kind !== 'cosine_distance' && kind !== 'shifted_cosine';
}

/**
 * @param hits best first, as the store ordered them
 * @returns what a hit lacks without which it is no neighbour, its vector only where the score says nothing of the angle
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
  if (kind === 'cosine' || kind === 'cosine_distance' || kind === 'shifted_cosine') {
    return cosineOfScore(score, kind);
  }
  return vector?.length === query.length ? cosineSimilarity(query, vector) : null;
}

/** Numbers of one portion, so that its JSON text stays near 10 MB and below the limit of an answer. */
const NUMBERS_PER_CALL = 2 ** 19;

/** How many vectors of this length to ask for at a time, 1 to `most`. */
export function vectorsPerCall(dimensions: number | null, most: number): number {
  return Math.max(1, Math.min(most, Math.floor(NUMBERS_PER_CALL / (dimensions ?? 4096))));
}

export function inPortions<Item>(items: readonly Item[], size: number): Item[][] {
  const portions: Item[][] = [];
  for (let start = 0; start < items.length; start += size) portions.push(items.slice(start, start + size));
  return portions;
}

/** The sample of what was drawn, read in portions. */
export async function readSample<Key>(
  drawn: readonly Key[],
  perCall: number,
  { withContent, isSeeded }: Pick<SampleRequest, 'withContent'> & Pick<SampledVectors, 'isSeeded'>,
  read: (keys: readonly Key[]) => Promise<readonly Entry[]>,
): Promise<SampledVectors> {
  const entries: Entry[] = [];
  for (const portion of inPortions(drawn, perCall)) entries.push(...(await read(portion)));
  return toSample(entries, { withContent, isSeeded });
}

/** Leaves out what has no id or no vector: it was deleted since it was drawn, or is no neighbour either. */
export function toSample(
  entries: readonly Entry[],
  { withContent, isSeeded }: Pick<SampleRequest, 'withContent'> & Pick<SampledVectors, 'isSeeded'>,
): SampledVectors {
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

/** Leaves out what has no id: nobody can tell whose it is. */
export function toChunks(entries: readonly Entry[]): StoredChunk[] {
  return entries.flatMap(({ id, content, version = null }) => (id === null ? [] : [{ id, content, version }]));
}

/**
 * Which of many ids a store knows, where several chunks may carry the same id. Asks in portions, and again for those
 * that were not found while an answer was as long as it could be: the chunks of one document may have filled it. Each
 * further call finds at least one more id, so the calls are bounded by the number of ids.
 *
 * @param ask ids that were found among `wanted`, one for each chunk, at most `limit` of them
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

type Refusal =
  | { readonly kind: 'unsupported'; readonly reason: string }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

/** Ends the work of one method of a store with an outcome other than `ok`. */
export class Refused extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.kind === 'failed' ? refusal.message : refusal.reason);
    this.refusal = refusal;
  }
}

/** @param reason one sentence: what the store cannot do, and why */
export function unsupported(reason: string): Refused {
  return new Refused({ kind: 'unsupported', reason });
}

/** @param message one sentence that names store, call and way out, without a secret or a vector */
export function failed(code: string, message: string): Refused {
  return new Refused({ kind: 'failed', code, message });
}

/** The code of a failure that was thrown; null for anything else. */
export function failureCode(error: unknown): string | null {
  return error instanceof Refused && error.refusal.kind === 'failed' ? error.refusal.code : null;
}

/** Whether a code says that the store did not answer or had no time, and not that something asked of it is wrong. */
export function isAway(code: string): boolean {
  return /^(timeout|connection_\w+|host_unreachable|dns_\w+|tls_error|busy|rate_limited|too_many_connections|http_429|http_5\d\d)$/.test(
    code,
  );
}

/** Adds up how long the calls took that belong to the answer, without waits for a turn or for a retry. */
interface Stopwatch {
  latencyMs: number;
}

/** What every call of one method needs. */
export interface Attempt {
  readonly signal: AbortSignal;
  readonly stopwatch: Stopwatch;
  /** How many times `timeout_ms` each call may take. */
  readonly patience: number;
}

/** Patience of counts, samples and exact searches: they read the whole store, and no user waits for them. */
export const SCAN_PATIENCE = 30;

/**
 * Runs one method of a store. What `work` returns is `ok`, a Refused that it throws is the outcome; anything else
 * goes on to the caller: the reason of the signal, or a bug.
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

/** As outcomeOf, for a method that reads the whole store, with the patience of a scan. */
export function outcomeOfScan<Value>(
  signal: AbortSignal,
  work: (attempt: Attempt) => Promise<Value>,
): Promise<StoreOutcome<Value>> {
  return outcomeOf(signal, (attempt) => work({ ...attempt, patience: SCAN_PATIENCE }));
}

/** A vector whose length is not that of the store: the embedding model is another one. */
export function dimensionMismatch(service: string, expected: number, got: number): Refused {
  const wayOut = 'the embedder of the config must be the model that filled the store';
  return failed(
    'dimension_mismatch',
    `${service} was asked for the neighbours of ${got} numbers but holds vectors of ${expected}; ${wayOut}.`,
  );
}
