/** Builds a vector store from the operations of one product and the code that all products share. */

import { createHash } from 'node:crypto';
import { sizeClass } from '../../math/vector/size-class.ts';
import type { HttpServiceConfig } from '../../platform/config/connection.ts';
import { createJsonApi, type JsonCall } from '../../platform/outbound/json-api.ts';
import {
  type Attempt,
  dimensionMismatch,
  type Entry,
  failed,
  failureCode,
  type Hit,
  needsVectors,
  outcomeOf,
  outcomeOfScan,
  toChunks,
  toNearest,
  unsupported,
} from './store-rows.ts';
import {
  type ListedIds,
  MAX_CHUNKS,
  type NearestRequest,
  type SampledVectors,
  type SampleRequest,
  type ScoredMetric,
  type StoreDescription,
  type VectorStore,
} from './vector-store.ts';

/** Properties of a store that the adapters of all products report. */
export interface StoreShape extends ScoredMetric {
  /** Vector length; null if the store does not report it. */
  readonly dimensions: number | null;
  readonly traits: StoreDescription['traits'];
}

/** `withVector` is true if the score is not a cosine; each hit must then include its vector. */
type SearchRequest = NearestRequest & { readonly withVector: boolean };

/** The operations of one product. Each operation sends requests and reads the responses. @throws Refused */
export interface StoreOperations<S extends StoreShape> {
  readonly kind: string;
  readonly shapes: RememberedShape<S>;
  /** Reason why an exact search is impossible, if that is known without a request. */
  readonly noExactSearch?: string;
  /** Returns hits in the order of the store, best first; null if the filter cannot match anything. */
  search(shape: S, request: SearchRequest, attempt: Attempt): Promise<readonly Hit[] | null>;
  /** Names of the properties that a hit may lack, for error messages; a name is passed to `unexpected` as `lacking`. */
  readonly placeOf: Readonly<Record<'score' | 'id' | 'vector', string>>;
  /** Returns the error for a response that does not have the documented form. */
  unexpected(purpose: string, lacking: string): Error;
  sample(request: SampleRequest, attempt: Attempt): Promise<SampledVectors>;
  /**
   * Returns the properties of the store that are not in `shape`, except the size class, which is derived from `count`.
   */
  describe(
    shape: S,
    attempt: Attempt,
  ): Promise<Partial<StoreDescription> & { readonly count: number; readonly isExactCount: boolean }>;
  existing(ids: readonly string[], attempt: Attempt): Promise<ReadonlySet<string>>;
  list(from: string | null, attempt: Attempt): Promise<ListedIds>;
  /** Returns chunks, of which the first MAX_CHUNKS with an id are used. The list `ids` is never empty. */
  chunks(ids: readonly string[], attempt: Attempt): Promise<readonly Entry[]>;
  close(): void;
}

export function createRemoteStore<S extends StoreShape>(operations: StoreOperations<S>): VectorStore {
  const { kind, shapes, noExactSearch } = operations;
  return {
    kind,
    nearest: (request, signal) =>
      (request.exact ? outcomeOfScan : outcomeOf)(signal, async (attempt) => {
        if (request.exact && noExactSearch !== undefined) throw unsupported(noExactSearch);
        return shapes.search(request.vector, attempt, async (shape) => {
          const withVector = needsVectors(shape.scoreKind);
          const hits = await operations.search(shape, { ...request, withVector }, attempt);
          if (hits === null) return { neighbours: [], isShort: true };
          const nearest = toNearest(hits, shape.scoreKind, request);
          if (typeof nearest !== 'string') return nearest;
          throw operations.unexpected('search', operations.placeOf[nearest]);
        });
      }),
    sample: (request, signal) => outcomeOfScan(signal, (attempt) => operations.sample(request, attempt)),
    describe: (signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const shape = await shapes.fresh(attempt);
        const { count, isExactCount, traits } = await operations.describe(shape, attempt);
        const { dimensions, metric } = shape;
        return {
          count,
          isExactCount,
          dimensions,
          metric,
          traits: { ...shape.traits, ...traits, size_class: sizeClass(count) },
        };
      }),
    existing: (ids, signal) => outcomeOf(signal, (attempt) => operations.existing(ids, attempt)),
    list: (from, signal) => outcomeOf(signal, (attempt) => operations.list(from, attempt)),
    chunks: (ids, signal) =>
      outcomeOf(signal, async (attempt) => {
        const possible = ids.filter((id) => id !== '');
        return possible.length === 0 ? [] : toChunks(await operations.chunks(possible, attempt)).slice(0, MAX_CHUNKS);
      }),
    close: async () => operations.close(),
  };
}

type RememberedShape<S extends StoreShape> = ReturnType<typeof rememberShape<S>>;

/** Caches the store properties on which searches depend. The properties are read on first use. */
export function rememberShape<S extends StoreShape>(service: string, ask: (attempt: Attempt) => Promise<S>) {
  let remembered: S | undefined;
  const fresh = async (attempt: Attempt): Promise<S> => {
    remembered = undefined;
    // Reading the shape is fast, so this call uses the normal timeout instead of the longer timeout of a scan. recalld
    // therefore detects a hung store sooner.
    remembered = await ask({ ...attempt, patience: 1 });
    return remembered;
  };
  const current = async (attempt: Attempt): Promise<S> => remembered ?? fresh(attempt);
  const check = (shape: S, vector: Float32Array): void => {
    if (shape.dimensions !== null && shape.dimensions !== vector.length) {
      throw dimensionMismatch(service, shape.dimensions, vector.length);
    }
  };

  return {
    /** Returns the shape, which is read only on the first call. */
    current,
    /** Reads the shape again. */
    fresh,
    /**
     * Runs a search with the cached shape. If the query vector and the store's vectors differ in length, reads the
     * shape again, because the store may have been rebuilt. If the lengths still differ, rejects the vector. Also reads
     * the shape again after the store has rejected a search.
     */
    async search<Value>(vector: Float32Array, attempt: Attempt, run: (shape: S) => Promise<Value>): Promise<Value> {
      const isKnown = remembered !== undefined;
      let shape = await current(aside(attempt));
      if (isKnown && shape.dimensions !== vector.length) shape = await fresh(aside(attempt));
      check(shape, vector);
      try {
        return await run(shape);
      } catch (error) {
        if (isKnown && isAboutTheRequest(error)) {
          check(await fresh(aside(attempt)), vector);
        }
        throw error;
      }
    },
  };
}

function isAboutTheRequest(error: unknown): boolean {
  return /^(http_4(00|22)|collection_missing|request_refused)$/.test(failureCode(error) ?? '');
}

/** Returns the attempt with a separate stopwatch, so that the search latency excludes the calls that read the shape. */
function aside(attempt: Attempt): Attempt {
  return { ...attempt, stopwatch: { latencyMs: 0 } };
}

interface StoreCall extends JsonCall {
  /** Explanation of a 404 if the configured address is right, such as `there is no collection docs; check ...`. */
  readonly missing?: string;
}

export type StoreCalls = ReturnType<typeof createStoreCalls>;

/**
 * Returns the response to a call; null if the service denies the call or does not support it (status 401, 403, 404 or
 * 405).
 */
export async function unlessForbidden(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    if (/^http_40[1345]$/.test(failureCode(error) ?? '')) return null;
    throw error;
  }
}

/**
 * @param credentials headers made from the config key `credentialsKey`
 * @throws the errors of createJsonApi
 */
export function createStoreCalls(
  service: string,
  config: HttpServiceConfig,
  configField: string,
  credentials: Readonly<Record<string, string>>,
  credentialsKey = 'api_key',
) {
  const api = createJsonApi(config, { service, configField, credentials, credentialsKey });
  return {
    service,
    configField,
    close: (): void => api.close(),
    /** Returns the JSON in the response. @throws Refused `failed` */
    async json({ missing, ...call }: StoreCall, { signal, stopwatch, patience }: Attempt): Promise<unknown> {
      const answer = await api.call({ ...call, patience }, signal);
      stopwatch.latencyMs += answer.latencyMs;
      if (answer.kind === 'answer') return answer.json;
      if (answer.status === 404 && missing !== undefined) {
        throw failed('collection_missing', `${service} ${call.purpose} failed: ${missing}.`);
      }
      if (answer.status === 401 || answer.status === 403) {
        throw failed(answer.code, answer.message.replace(/\.$/, '; read permission is enough.'));
      }
      throw failed(answer.code, answer.message);
    },
    /** Returns the error for a response that differs from the public description of the API. */
    unexpected: (purpose: string, lacking: string): Error => {
      const fix = `check that ${configField}.url is the address of ${service}, and check the ${service} version`;
      return failed('unexpected_answer', `${service} ${purpose} failed: the response has no ${lacking}; ${fix}.`);
    },
  };
}

/**
 * Returns a short hash of settings, for use as the value of a trait. Adding or deleting documents does not change the
 * hash, and the order of the keys does not matter.
 */
export function settingsHash(settings: unknown): string {
  return createHash('sha256').update(canonicalText(settings)).digest('hex').slice(0, 12);
}

function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalText(inner)}`).join(',')}}`;
}
