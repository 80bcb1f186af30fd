import type { Matrix } from '../../math/vector/matrix.ts';

/** The distance that an index was built for. */
export type VectorMetric = 'cosine' | 'l2' | 'dot';

/**
 * What a raw score is, since stores differ: `cosine_distance` is 1 - cosine; `shifted_cosine` (1 + cosine) / 2;
 * `negative_dot` and `one_minus_dot` turn a dot product into something that is better when low; `inverse_squared_l2`
 * is 1 / (1 + d²); `shifted_dot` is dot + 1, and 1 / (1 - dot) for a negative dot product.
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
  /** Of the document, as the config says where it stands; several chunks of one document have the same. */
  readonly id: string;
  /** Cosine of the angle to the query, -1 to 1, whatever the metric of the index. */
  readonly similarity: number;
  /**
   * As the store gave it, always a number: the cosine distance to a zero vector, which has no direction, is 1, also
   * where the store says NaN, as pgvector does.
   */
  readonly score: number;
  readonly scoreKind: ScoreKind;
  /** Text of the chunk, when it was asked for and the config names its field. */
  readonly content: string | null;
}

export interface NearestRequest {
  readonly vector: Float32Array;
  readonly k: number;
  /** Fields of a chunk that must have these values. */
  readonly filter: Readonly<Record<string, string>>;
  /** Compare with every vector in place of asking the index, to measure the recall of the index. */
  readonly exact: boolean;
  /** `digest`: texts are only told apart, so that a store may give something short in the place of each. */
  readonly withContent: boolean | 'digest';
}

export interface Nearest {
  /**
   * Chunks, best first by the score of the store, at most k. An id comes as often as its document has chunks among
   * them, so that there may be fewer documents than neighbours.
   */
  readonly neighbours: readonly Neighbour[];
  /** Fewer than k came back: the store is small, or a filter or an approximate index lost some on the way. */
  readonly isShort: boolean;
}

export interface SampleRequest {
  readonly n: number;
  readonly seed: number;
  readonly withContent: boolean;
}

export interface SampledVectors {
  /** Of the document of each vector. An id comes as often as chunks of its document were drawn. */
  readonly ids: readonly string[];
  /** One row for each id. */
  readonly vectors: Matrix;
  readonly contents: readonly (string | null)[];
  /** Whether the same seed gives the same sample while the store stays as it is. */
  readonly isSeeded: boolean;
}

/** Ids of documents, some of all. */
export interface ListedIds {
  /** In no order of use; the id of a document with several chunks may come again, here or on a later page. */
  readonly ids: readonly string[];
  /** What to ask for next, in the words of the store; null when this was the last page. */
  readonly next: string | null;
}

export interface StoredChunk {
  /** Of its document. */
  readonly id: string;
  /** Version, hash or time of the document that it was made of; null where the config names no field or it has none. */
  readonly version: string | null;
  /** Null where the store keeps no text of it. */
  readonly content: string | null;
}

/** Chunks that one call gives at most; of documents with more, some are left out. */
export const MAX_CHUNKS = 2000;

export interface StoreDescription {
  readonly count: number;
  /** Whether `count` is exact or an estimate of the store. */
  readonly isExactCount: boolean;
  /** Length of the vectors, null while the store is empty and does not say. */
  readonly dimensions: number | null;
  readonly metric: VectorMetric;
  /**
   * What the store is made of, by name: version, index and its settings, mapping. A write of a document changes
   * none of them; a rebuilt index, another setting or another embedding model does.
   */
  readonly traits: Readonly<Record<string, string>>;
}

/**
 * What became of a call. `unsupported` is what this store cannot do at all, with the reason: it is never imitated
 * behind the caller's back. `failed` is an outcome and never thrown; `code` is short and stable, `message` names
 * store, call and the way out, and holds no secret and no vector.
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
 * The vector store behind a retriever, read only: no call needs the right to write.
 *
 * `timeout_ms` of the config bounds one request, and 30 times as much one that may read the whole store and that no
 * user waits for: those of `sample`, of `describe` and of `nearest` with `exact`. Where these begin with a call of its
 * own for what the store is made of, that one keeps the short bound, so that a store that hangs is noticed soon.
 *
 * Every method rejects only with the reason of `signal` when it aborts.
 */
export interface VectorStore {
  /** `pgvector`, `qdrant`, ...: for people and labels. */
  readonly kind: string;
  /** The k nearest to a vector. A vector of the wrong length is `failed` with code `dimension_mismatch`. */
  nearest(request: NearestRequest, signal: AbortSignal): Promise<StoreOutcome<Nearest>>;
  /**
   * A uniform random sample without replacement of min(n, count) vectors: each stored vector is as likely as any
   * other, in whatever order they were inserted.
   */
  sample(request: SampleRequest, signal: AbortSignal): Promise<StoreOutcome<SampledVectors>>;
  describe(signal: AbortSignal): Promise<StoreOutcome<StoreDescription>>;
  /** Which of these ids are in the store. */
  existing(ids: readonly string[], signal: AbortSignal): Promise<StoreOutcome<ReadonlySet<string>>>;
  /**
   * The ids of all documents, page by page. A write while they are listed may hide one or show it twice. A place to go
   * on from may be forgotten by the store after a minute, which is `failed`; then the list begins anew.
   *
   * @param from null for the first page, then `next` of the page before
   */
  list(from: string | null, signal: AbortSignal): Promise<StoreOutcome<ListedIds>>;
  /** The chunks of these documents, at most MAX_CHUNKS; nothing of a document that is not there. */
  chunks(ids: readonly string[], signal: AbortSignal): Promise<StoreOutcome<readonly StoredChunk[]>>;
  /** Gives connections back. */
  close(): Promise<void>;
}
