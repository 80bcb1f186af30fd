/** Types and functions that the contract suite for vector stores shares with the test file of each store. */
import type { StoreOutcome, VectorMetric, VectorStore } from '../../src/connectors/stores/vector-store.ts';
import type { Outage } from '../support/outage.ts';
import type { CorpusShape, VectorDocument } from '../support/vector-documents.ts';

/** Capabilities of a store that are known before it starts. */
export interface StoreAbilities {
  readonly metrics: readonly [VectorMetric, ...VectorMetric[]];
  /** True if a search can compare the query with every vector; if false, the exact search must be `unsupported`. */
  readonly exactSearch: boolean;
  /** True if the same seed gives the same sample. */
  readonly seededSample: boolean;
  /**
   * Default: any values. `plain`: a filter language without escapes, so the adapter must refuse values that it cannot
   * write.
   */
  readonly filterValues?: 'plain';
  /** Default: false. True if a document's id is a key, so that a document has only one chunk. */
  readonly oneChunk?: true;
  /** Default: true. False if the store cannot list the ids of all documents; the list must then be `unsupported`. */
  readonly lists?: false;
  /** Default: false. True if the store runs in this process, so no connection can fail. */
  readonly isInProcess?: true;
  /** Default: false. True if one request can search for several vectors. */
  readonly searchesSeveral?: true;
  /** Default: 0.95. Minimum recall of the approximate search, for an engine whose graph of neighbors is random. */
  readonly minRecall?: number;
  /** Number of documents in the large index; the stand-in for a store may use fewer than 20,000. */
  readonly manyDocuments: number;
}

export interface StoreAccess {
  /** Address at which the adapter reaches the store. */
  readonly url: string;
  readonly timeoutMs: number;
  /** Number of retries; only stores that use HTTP retry calls. */
  readonly retries: number;
}

/** An index created by a test; only tests write to stores. */
export interface TestIndex {
  /** Name of the index in the store; missing if no test needs the name. */
  readonly name?: string;
  /** Writes documents, and resolves when a search finds them. */
  add(documents: readonly VectorDocument[]): Promise<void>;
  /** Deletes documents, and resolves when no search finds them; missing in stand-ins. */
  remove?(ids: readonly string[]): Promise<void>;
  /** Rebuilds the index with other settings; missing if the store cannot do this. */
  rebuild?(): Promise<void>;
  /**
   * Opens the adapter, which reads `content` and the fields `topic` and `language` of the documents, and uses
   * `language` as the version.
   */
  open(access: StoreAccess): VectorStore;
  drop(): Promise<void>;
}

export interface StoreService {
  readonly url: string;
  createIndex(plan: { readonly metric: VectorMetric; readonly dimensions: number }): Promise<TestIndex>;
  /** Puts a faulty proxy between the adapter and the store. */
  startOutage(): Promise<Outage>;
  stop(): Promise<void>;
}

export interface LargeIndex {
  readonly index: TestIndex;
  readonly documents: readonly VectorDocument[];
  readonly shape: CorpusShape;
}

/** Functions that all tests of the suite share. */
export interface Bench {
  readonly abilities: StoreAbilities;
  /** Creates and fills an index that exists until the end of the suite. */
  makeIndex(documents: readonly VectorDocument[], dimensions: number, metric?: VectorMetric): Promise<TestIndex>;
  /** Returns an index with `manyDocuments` documents, which is created on the first call. */
  large(): Promise<LargeIndex>;
  /** Opens an adapter for the index, and closes it at the end of the test. */
  open(index: TestIndex, access?: Partial<StoreAccess>): VectorStore;
  /** Starts the faulty proxy, and stops it at the end of the test. */
  startOutage(): Promise<Outage>;
}

export const never = new AbortController().signal;

/** Returns the value of an outcome, which must be `ok`. */
export function valueOf<Value>(outcome: StoreOutcome<Value>): Value {
  if (outcome.kind === 'ok') return outcome.value;
  throw new Error(`the store said ${JSON.stringify(outcome)}`);
}
