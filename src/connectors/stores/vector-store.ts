import type { Matrix } from '../../math/vector/matrix.ts';
import type { FailedCall } from '../../platform/outbound/json-api.ts';

/** Distance metric of an index. */
export type VectorMetric = 'cosine' | 'l2' | 'dot';

/**
 * Meaning of a raw score, which differs between stores.
 *
 * - `cosine_distance` is 1 - cosine.
 * - `shifted_cosine` is (1 + cosine) / 2.
 * - `negative_dot` and `one_minus_dot` convert a dot product into a distance, so that lower is better.
 * - `inverse_squared_l2` is 1 / (1 + d²), where d is the L2 distance.
 * - `shifted_dot` is dot + 1 if the dot product is at least 0, and 1 / (1 - dot) if it is negative.
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
  /** Document id from the configured field; several chunks of one document share it. */
  readonly id: string;
  /** Cosine of the angle between the chunk and the query, from -1 to 1, regardless of the index's metric. */
  readonly similarity: number;
  /**
   * Raw score from the store, never NaN. A zero vector has no direction; its cosine distance is 1 even if the store
   * returns NaN, as pgvector does.
   */
  readonly score: number;
  readonly scoreKind: ScoreKind;
  /**
   * Text of the chunk; null if the text was not requested or is unavailable, for example because the config names no
   * text field.
   */
  readonly content: string | null;
}

export interface NearestRequest extends NearestOfEachRequest {
  readonly vector: Float32Array;
}

export interface NearestOfEachRequest {
  readonly k: number;
  /** Required field values of a chunk. */
  readonly filter: Readonly<Record<string, string>>;
  /**
   * True to compare the query with every vector instead of using the index. The index's recall is measured against
   * exact results.
   */
  readonly exact: boolean;
  /** With `digest`, a store may return a short hash instead of each text; the caller then only compares the hashes. */
  readonly withContent: boolean | 'digest';
}

export interface Nearest {
  /**
   * At most k chunks, best first by the store's score. An id occurs once for each chunk of its document, so there may
   * be fewer documents than neighbors.
   */
  readonly neighbours: readonly Neighbour[];
  /**
   * True if fewer than k chunks were returned: the store is small, or a filter or an approximate index lost some
   * neighbors.
   */
  readonly isShort: boolean;
}

/** Metric by which a product compares vectors, and the kind of its scores. */
export interface ScoredMetric {
  readonly metric: VectorMetric;
  readonly scoreKind: ScoreKind;
}

export interface SampleRequest {
  readonly n: number;
  readonly seed: number;
  readonly withContent: boolean;
}

export interface SampledVectors {
  /** Document id of each vector. An id occurs once for each sampled chunk of its document. */
  readonly ids: readonly string[];
  /** One row per element of `ids`. */
  readonly vectors: Matrix;
  readonly contents: readonly (string | null)[];
  /** True if the same seed returns the same sample of an unchanged store. */
  readonly isSeeded: boolean;
}

/** A page of document ids. */
export interface ListedIds {
  /** Ids in arbitrary order. If a document has several chunks, its id may occur again, on this page or a later one. */
  readonly ids: readonly string[];
  /** Position of the next page in the store's own format; null after the last page. */
  readonly next: string | null;
}

export interface StoredChunk {
  /** Id of the document. */
  readonly id: string;
  /** Version, hash or time of the chunk's document; null if the config names no field, or if the chunk has no value. */
  readonly version: string | null;
  /** Text of the chunk; null if the store has none. */
  readonly content: string | null;
}

/** Maximum number of chunks per call. If the documents of a call have more chunks, some chunks are omitted. */
export const MAX_CHUNKS = 2000;

export interface StoreDescription {
  readonly count: number;
  /** True if `count` is exact, false if the store estimates it. */
  readonly isExactCount: boolean;
  /** Vector length; null if the store is empty and does not report the length. */
  readonly dimensions: number | null;
  readonly metric: VectorMetric;
  /**
   * Properties of the store, keyed by name, such as the version, the index with its settings, and the mapping. Writing
   * a document changes no trait, except that the size class follows the number of chunks. Rebuilding the index,
   * changing a setting or using another embedding model changes at least one trait.
   */
  readonly traits: Readonly<Record<string, string>>;
}

/**
 * Outcome of a call. `unsupported` means that this store cannot do what was requested; `reason` says why. An adapter
 * never emulates a missing feature. `failed` is returned and never thrown. `code` is short and stable; `message` names
 * the store, the call and the fix, and contains no secret and no vector.
 */
export type StoreOutcome<Value> =
  | { readonly kind: 'ok'; readonly value: Value; readonly latencyMs: number }
  | { readonly kind: 'unsupported'; readonly reason: string }
  | FailedCall;

/**
 * A retriever's vector store, read-only: no call needs write permission.
 *
 * The configured `timeout_ms` limits one request. Requests for `sample`, `describe`, and `nearest` with `exact` may
 * take 30 times `timeout_ms`, because they may read the whole store and no user waits for them. Some of these methods
 * first read the store's shape with a request limited to `timeout_ms`, so that a hung store is detected soon.
 *
 * A method rejects only if `signal` aborts, with the signal's reason.
 */
export interface VectorStore {
  /** Kind of the store, such as `pgvector` or `qdrant`, for messages and labels. */
  readonly kind: string;
  /**
   * Returns the k nearest neighbors of a vector. If the vector has the wrong length, returns `failed` with the code
   * `dimension_mismatch`.
   */
  nearest(request: NearestRequest, signal: AbortSignal): Promise<StoreOutcome<Nearest>>;
  /**
   * Returns the k nearest neighbors of each vector, in order, with one request. The method is missing if recalld cannot
   * send such a request to this product.
   */
  nearestOfEach?(
    vectors: readonly Float32Array[],
    request: NearestOfEachRequest,
    signal: AbortSignal,
  ): Promise<StoreOutcome<readonly Nearest[]>>;
  /**
   * Returns min(n, count) vectors, sampled uniformly without replacement. Each stored vector is equally likely,
   * regardless of insertion order.
   */
  sample(request: SampleRequest, signal: AbortSignal): Promise<StoreOutcome<SampledVectors>>;
  describe(signal: AbortSignal): Promise<StoreOutcome<StoreDescription>>;
  /** Returns the ids among `ids` that are in the store. */
  existing(ids: readonly string[], signal: AbortSignal): Promise<StoreOutcome<ReadonlySet<string>>>;
  /**
   * Lists the ids of all documents, page by page. If a write occurs during the listing, an id may be missing or
   * returned twice. A position may become invalid after a minute. A call with an invalid position returns `failed`;
   * start again from the first page.
   *
   * @param from null for the first page, then `next` from the previous page
   */
  list(from: string | null, signal: AbortSignal): Promise<StoreOutcome<ListedIds>>;
  /** Returns the chunks of these documents, at most MAX_CHUNKS. A document that is not in the store has no chunks. */
  chunks(ids: readonly string[], signal: AbortSignal): Promise<StoreOutcome<readonly StoredChunk[]>>;
  /** Closes connections. */
  close(): Promise<void>;
}
