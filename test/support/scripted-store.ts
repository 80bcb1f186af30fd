/** A vector store with scripted answers. */
import type {
  Nearest,
  NearestRequest,
  SampledVectors,
  StoreDescription,
  StoredChunk,
  StoreOutcome,
  VectorStore,
} from '../../src/connectors/stores/vector-store.ts';

export interface Script {
  describe(): StoreOutcome<StoreDescription>;
  sample(request: { readonly n: number; readonly seed: number }): StoreOutcome<SampledVectors>;
  nearest(request: NearestRequest): StoreOutcome<Nearest>;
  existing(ids: readonly string[]): StoreOutcome<ReadonlySet<string>>;
  chunks(ids: readonly string[]): StoreOutcome<readonly StoredChunk[]>;
}

export function ok<Value>(value: Value): StoreOutcome<Value> {
  return { kind: 'ok', value, latencyMs: 1 };
}

export function failed(message: string, code = 'http_500'): Extract<StoreOutcome<never>, { kind: 'failed' }> {
  return { kind: 'failed', code, message, latencyMs: 1 };
}

/** Neighbors with these ids and similarities, best first. */
export function neighbours(...found: readonly (readonly [string, number])[]): Nearest {
  return {
    neighbours: found.map(([id, similarity]) => ({
      id,
      similarity,
      score: similarity,
      scoreKind: 'cosine',
      content: null,
    })),
    isShort: false,
  };
}

/** Returns a store in which every call that is not scripted has the outcome `unsupported`. */
export function scriptedStore(script: Partial<Script>): VectorStore {
  const unsupported = { kind: 'unsupported', reason: 'This store was not told what to answer.' } as const;
  return {
    kind: 'scripted',
    nearest: async (request) => script.nearest?.(request) ?? unsupported,
    sample: async (request) => script.sample?.(request) ?? unsupported,
    describe: async () => script.describe?.() ?? unsupported,
    list: async () => unsupported,
    chunks: async (ids) => script.chunks?.(ids) ?? unsupported,
    existing: async (ids) => script.existing?.(ids) ?? unsupported,
    close: async () => undefined,
  };
}
