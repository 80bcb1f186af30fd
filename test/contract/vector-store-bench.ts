/** What the contract suite of vector stores is given by a store's test file, and what its parts work with. */
import type { StoreOutcome, VectorMetric, VectorStore } from '../../src/connectors/stores/vector-store.ts';
import type { Outage } from '../support/outage.ts';
import type { CorpusShape, VectorDocument } from '../support/vector-documents.ts';

/** What a store can do at all, known before it is started. */
export interface StoreAbilities {
  readonly metrics: readonly [VectorMetric, ...VectorMetric[]];
  /** Whether a search can compare with every vector; without it that must be `unsupported`. */
  readonly exactSearch: boolean;
  /** Whether the same seed gives the same sample. */
  readonly seededSample: boolean;
  /** Left out: any. `plain`: a filter language without escapes, which must refuse what it cannot write. */
  readonly filterValues?: 'plain';
  /** Left out: no. The id of a document is a key, so that it has one chunk. */
  readonly oneChunk?: true;
  /** Left out: yes. Whether it lists the ids of all documents; without it that must be `unsupported`. */
  readonly lists?: false;
  /** Left out: no. It runs in this process, so that no connection can fail. */
  readonly isInProcess?: true;
  /** Documents of the large index; a stand-in for a store may ask for fewer than 20,000. */
  readonly manyDocuments: number;
}

export interface StoreAccess {
  /** In place of the address of the store. */
  readonly url: string;
  readonly timeoutMs: number;
  /** For those that speak HTTP. */
  readonly retries: number;
}

/** An index that a test has made. Only tests write. */
export interface TestIndex {
  /** Its name in the store; left out where no test needs it. */
  readonly name?: string;
  /** Returns when a search finds them. */
  add(documents: readonly VectorDocument[]): Promise<void>;
  /** Returns when no search finds documents with these ids; left out of stand-ins. */
  remove?(ids: readonly string[]): Promise<void>;
  /** Builds the index anew, with other settings; left out where a store cannot. */
  rebuild?(): Promise<void>;
  /** The adapter, with `content` and the fields `topic` and `language` of the documents in reach; `language` is their version. */
  open(access: StoreAccess): VectorStore;
  drop(): Promise<void>;
}

export interface StoreService {
  readonly url: string;
  createIndex(plan: { readonly metric: VectorMetric; readonly dimensions: number }): Promise<TestIndex>;
  /** Puts something that fails between the adapter and the store. */
  startOutage(): Promise<Outage>;
  stop(): Promise<void>;
}

export interface LargeIndex {
  readonly index: TestIndex;
  readonly documents: readonly VectorDocument[];
  readonly shape: CorpusShape;
}

/** What the parts of the suite work with. */
export interface Bench {
  readonly abilities: StoreAbilities;
  /** Makes and fills an index that lives until the end of the suite. */
  makeIndex(documents: readonly VectorDocument[], dimensions: number, metric?: VectorMetric): Promise<TestIndex>;
  /** An index of `manyDocuments`, made once. */
  large(): Promise<LargeIndex>;
  /** Closed at the end of the test. */
  open(index: TestIndex, access?: Partial<StoreAccess>): VectorStore;
  /** Ended at the end of the test. */
  startOutage(): Promise<Outage>;
}

export const never = new AbortController().signal;

/** The value of an outcome that must be `ok`. */
export function valueOf<Value>(outcome: StoreOutcome<Value>): Value {
  if (outcome.kind === 'ok') return outcome.value;
  throw new Error(`the store said ${JSON.stringify(outcome)}`);
}
