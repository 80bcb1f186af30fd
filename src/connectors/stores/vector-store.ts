import type { Matrix } from '../../math/vector/matrix.ts';

/** The distance of an index. */
export type VectorMetric = 'cosine' | 'l2' | 'dot';

/**
 * Meaning of a raw score, since stores differ: `cosine_distance` is 1 - cosine; `shifted_cosine` (1 + cosine) / 2;
 * `negative_dot` and `one_minus_dot` turn a dot product into a distance (lower is better); `inverse_squared_l2` is 1 /
 * (1 + d²); `shifted_dot` is dot + 1, and 1 / (1 - dot) for a negative dot product.
 */
export type ScoreKind =
  | 'cosine'
  | 'cosine_distance'
  | 'shifted_cosine'
  | 'dot'
  | 'negative_dot'
  | 'one_minus_dot'
  | 'shifted_dot'
  | 'l2'
  | 'squared_l2'
  | 'inverse_squared_l2';

export interface Neighbour {
  /** Id of the document, from the configured field; several chunks of one document have the same. */
  readonly id: string;
  /** Cosine of the angle to the query, -1 to 1, whatever the metric of the index. */
  readonly similarity: number;
  /**
   * Raw score of the store, never NaN: the cosine distance to a zero vector, which has no direction, is 1, even where
   * the store returns NaN, as pgvector does.
   */
  readonly score: number;
  readonly scoreKind: ScoreKind;
  /** Text of the chunk, if it was requested and the config names its field. */
  readonly content: string | null;
}

export interface NearestRequest {
  readonly vector: Float32Array;
  readonly k: number;
  /** Required field values of a chunk. */
  readonly filter: Readonly<Record<string, string>>;
  /** Compares with every vector instead of using the index, to measure the recall of the index. */
  readonly exact: boolean;
  /** `digest`: texts only need to be distinguishable, so a store may return something short instead of each text. */
  readonly withContent: boolean | 'digest';
}

export interface Nearest {
  /**
   * Chunks, best first by the score of the store, at most k. An id occurs once for each chunk of its document, so there
   * may be fewer documents than neighbours.
   */
  readonly neighbours: readonly Neighbour[];
  /** True if fewer than k were returned: the store is small, or a filter or an approximate index lost some. */
  readonly isShort: boolean;
}

export interface SampleRequest {
  readonly n: number;
  readonly seed: number;
  readonly withContent: boolean;
}

export interface SampledVectors {
  /** Document id of each vector. An id occurs once for each drawn chunk of its document. */
  readonly ids: readonly string[];
  /** One row for each id. */
  readonly vectors: Matrix;
  readonly contents: readonly (string | null)[];
  /** True if the same seed gives the same sample while the store does not change. */
  readonly isSeeded: boolean;
}

/** A page of document ids. */
export interface ListedIds {
  /** In no meaningful order; the id of a document with several chunks may occur again, here or on a later page. */
  readonly ids: readonly string[];
  /** Position of the next page in the store's own format; null after the last page. */
  readonly next: string | null;
}

export interface StoredChunk {
  /** Id of the document. */
  readonly id: string;
  /** Version, hash or time of the chunk's document; null if the config names no field or the chunk has no value. */
  readonly version: string | null;
  /** Null if the store keeps no text of it. */
  readonly content: string | null;
}

/** Maximum of chunks of one call; of documents with more, some are left out. */
export const MAX_CHUNKS = 2000;

export interface StoreDescription {
  readonly count: number;
  /** True if `count` is exact, false if it is an estimate of the store. */
  readonly isExactCount: boolean;
  /** Length of the vectors; null while the store is empty and does not report it. */
  readonly dimensions: number | null;
  readonly metric: VectorMetric;
  /**
   * Properties of the store by name: version, index and its settings, mapping. Writing a document changes none of them;
   * a rebuilt index, another setting or another embedding model does.
   */
  readonly traits: Readonly<Record<string, string>>;
}

/**
 * Outcome of a call. `unsupported` means that this store cannot do it, with the reason; the port never imitates a
 * missing feature. `failed` is an outcome and never thrown; `code` is short and stable, `message` names the store, the
 * call and the fix, and contains no secret and no vector.
 */
export type StoreOutcome<Value> =
  | { readonly kind: 'ok'; readonly value: Value; readonly latencyMs: number }
  | { readonly kind: 'unsupported'; readonly reason: string }
  | {
      readonly kind: 'failed';
      readonly code: string;
      readonly message: string;
      readonly latencyMs: number;
    };

/**
 * The vector store of a retriever, read only: no call needs write permission.
 *
 * `timeout_ms` of the config limits one request. Requests that may read the whole store, and that no user waits for,
 * may take 30 times as long: those of `sample`, `describe` and `nearest` with `exact`. If these first read the shape of
 * the store, that call keeps the short timeout, so that a store that hangs is noticed soon.
 *
 * Every method rejects only with the reason of `signal` when it aborts.
 */
export interface VectorStore {
  /** `pgvector`, `qdrant`, ...: for people and labels. */
  readonly kind: string;
  /**
   * Returns the k nearest neighbours of a vector. A vector of the wrong length is `failed` with code
   * `dimension_mismatch`.
   */
  nearest(request: NearestRequest, signal: AbortSignal): Promise<StoreOutcome<Nearest>>;
  /**
   * Draws a uniform random sample without replacement of min(n, count) vectors: each stored vector is equally likely,
   * whatever the order of insertion.
   */
  sample(request: SampleRequest, signal: AbortSignal): Promise<StoreOutcome<SampledVectors>>;
  describe(signal: AbortSignal): Promise<StoreOutcome<StoreDescription>>;
  /** Returns the ids that are in the store. */
  existing(ids: readonly string[], signal: AbortSignal): Promise<StoreOutcome<ReadonlySet<string>>>;
  /**
   * Lists the ids of all documents, page by page. A write during the listing may hide an id or return it twice. The
   * store may forget a position after a minute, which is `failed`; then start again from the first page.
   *
   * @param from null for the first page, then `next` of the page before
   */
  list(from: string | null, signal: AbortSignal): Promise<StoreOutcome<ListedIds>>;
  /** Returns the chunks of these documents, at most MAX_CHUNKS; documents that are not in the store have none. */
  chunks(ids: readonly string[], signal: AbortSignal): Promise<StoreOutcome<readonly StoredChunk[]>>;
  /** Closes connections. */
  close(): Promise<void>;
}
