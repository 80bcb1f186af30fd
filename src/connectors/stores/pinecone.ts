/**
 * Pinecone over its data plane, API version 2026-04.
 *
 * Source: the types generated from Pinecone's OpenAPI description, src/pinecone-generated-ts-fetch/db_data in
 * github.com/pinecone-io/pinecone-ts-client, and docs.pinecone.io/reference/api.
 */

import { createReservoir } from '../../math/stats/random.ts';
import {
  at,
  fieldAt,
  fieldsOf,
  type JsonCall,
  keyHeader,
  listOf,
  numberOf,
  textOf,
  vectorOf,
} from '../../platform/outbound/json-api.ts';
import type { StoreConfigOf } from './config.ts';
import {
  createRemoteStore,
  createStoreCalls,
  type RememberedShape,
  rememberShape,
  type StoreCalls,
  type StoreShape,
} from './remote-store.ts';
import {
  type Attempt,
  type Entry,
  type Hit,
  inPortions,
  knownIds,
  needsVectors,
  toChunks,
  toSample,
  unsupported,
} from './store-rows.ts';
import {
  type ListedIds,
  MAX_CHUNKS,
  type NearestRequest,
  type SampledVectors,
  type SampleRequest,
  type ScoredMetric,
  type StoredChunk,
  type VectorStore,
} from './vector-store.ts';

interface IndexShape extends StoreShape {
  readonly count: number;
}

const API_VERSION = '2026-04';
/** Maximum number of ids on a page of the list. */
const PAGE = 100;
const MAX_PAGES = 10_000;
/** Ids are part of the request URL, whose length is limited. */
const FETCHED_IDS = 100;
const ADDRESS_LENGTH = 4000;
/** Number of documents whose chunks are requested together, so that the chunks fit on one page. */
const DOCUMENTS_PER_CALL = 5;

const metrics: Readonly<Record<string, ScoredMetric>> = {
  cosine: { metric: 'cosine', scoreKind: 'cosine' },
  dotproduct: { metric: 'dot', scoreKind: 'dot' },
  euclidean: { metric: 'l2', scoreKind: 'squared_l2' },
};

/**
 * Creates the store. Nothing is sent before the first call.
 *
 * Pinecone cannot return random vectors. A sample reads the ids of the whole namespace, 100 per call and up to
 * 1,000,000, through a seeded reservoir, then fetches up to 100 vectors per call. This costs 1 read unit per page and 1
 * per 10 vectors. Pod-based indexes cannot list ids. There is no exact search. Counts and lists lag behind writes by
 * seconds.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createPineconeStore(config: PineconeConfig, configField: string): VectorStore {
  const headers = { ...config.headers, 'x-pinecone-api-version': API_VERSION };
  const calls = createStoreCalls(
    { ...config, headers },
    {
      service: 'Pinecone',
      configField,
      credentials: keyHeader('api-key', config.api_key),
      credentialsKey: 'api_key',
    },
  );
  const missing = `there is no such index; check ${calls.configField}.url, which is the host of the index`;
  const ask: Pinecone['ask'] = async (call, attempt) => calls.json({ missing, ...call }, attempt);
  const shapes = rememberShape(calls.service, (attempt) => readIndex(config, calls, ask, attempt));
  const store: Pinecone = { ...config, ask, shapes };
  return createRemoteStore({
    kind: 'pinecone',
    shapes,
    search: (shape, request, attempt) => search(store, shape, request, attempt),
    placeOf: {
      score: 'matches[].score',
      id: `metadata key ${config.id ?? 'id'} of a match`,
      vector: 'matches[].values',
    },
    unexpected: calls.unexpected,
    sample: (request, attempt) => sample(store, request, attempt),
    describe: async ({ count }) => ({ count, isExactCount: false }),
    existing: (ids, attempt) => existing(store, ids, attempt),
    list: (from, attempt) => list(store, from, attempt),
    chunks: (ids, attempt) => chunksOf(store, ids, attempt),
    close: calls.close,
  });
}

type PineconeConfig = StoreConfigOf<'pinecone'>;

type Pinecone = PineconeConfig & {
  readonly ask: (call: JsonCall, attempt: Attempt) => Promise<unknown>;
  readonly shapes: RememberedShape<IndexShape>;
};

async function readIndex(
  { url, namespace }: PineconeConfig,
  calls: StoreCalls,
  ask: Pinecone['ask'],
  attempt: Attempt,
): Promise<IndexShape> {
  const call = { method: 'POST', path: '/describe_index_stats', body: {}, purpose: 'description' } as const;
  const stats = await ask(call, attempt);
  const metric = textOf(at(stats, 'metric'));
  if (metric === null) throw calls.unexpected('description', 'metric');
  const kinds = metrics[metric];
  if (kinds === undefined || textOf(at(stats, 'vectorType')) === 'sparse') {
    throw unsupported(`Scores of Pinecone's metric ${metric} for sparse vectors cannot be converted to a cosine.`);
  }
  const namespaces = fieldsOf(at(stats, 'namespaces'));
  // The default namespace is called both `__default__` and an empty string.
  const summary = namespaces[namespace] ?? (namespace === '' ? namespaces['__default__'] : undefined);
  const dimensions = numberOf(at(stats, 'dimension'));
  const count = numberOf(at(summary, 'vectorCount')) ?? 0;
  const traits = {
    index: addressOf(url),
    namespace,
    metric,
    dimensions: String(dimensions ?? 'unknown'),
  };
  return { dimensions, ...kinds, count, traits };
}

async function search(
  store: Pinecone,
  { scoreKind }: IndexShape,
  request: NearestRequest,
  attempt: Attempt,
): Promise<Hit[]> {
  if (request.exact) throw unsupported('Pinecone searches only its approximate index.');
  const conditions = Object.entries(request.filter).map(([key, value]) => [key, { $eq: value }]);
  const body = {
    namespace: store.namespace,
    vector: [...request.vector],
    topK: request.k,
    ...(conditions.length === 0 ? {} : { filter: Object.fromEntries(conditions) as unknown }),
    includeMetadata: store.id !== undefined || (request.withContent && store.content !== undefined),
    includeValues: needsVectors(scoreKind),
  };
  const answer = await store.ask({ method: 'POST', path: '/query', body, purpose: 'search' }, attempt);
  return listOf(at(answer, 'matches')).map((match) => ({
    ...entryOf(store, match),
    score: numberOf(at(match, 'score')),
  }));
}

async function sample(store: Pinecone, request: SampleRequest, attempt: Attempt): Promise<SampledVectors> {
  const { n, seed, withContent } = request;
  const { count } = await store.shapes.fresh(attempt);
  if (count > MAX_PAGES * PAGE) {
    throw unsupported(`A uniform sample of Pinecone must read every id, and there are too many (${count}).`);
  }
  const ids = n < 1 || count === 0 ? [] : await walkedIds(store, n, seed, attempt);
  const vectors = await fetched(store, ids, 'sample', attempt);
  return toSample(
    vectors.map((vector) => entryOf(store, vector)),
    withContent,
    true,
  );
}

async function walkedIds(store: Pinecone, n: number, seed: number, attempt: Attempt): Promise<string[]> {
  const reservoir = createReservoir<string>(n, seed);
  let token: string | null = null;
  do {
    const page: ListedIds = await pageOfKeys(store, token, 'sample', attempt);
    for (const id of page.ids) reservoir.offer(id);
    token = page.next;
  } while (token !== null);
  return reservoir.chosen();
}

async function pageOfKeys(
  store: Pinecone,
  token: string | null,
  purpose: string,
  attempt: Attempt,
): Promise<ListedIds> {
  const next: Record<string, string> = token === null ? {} : { paginationToken: token };
  const query = { namespace: store.namespace, limit: String(PAGE), ...next };
  const answer = await store.ask({ method: 'GET', path: '/vectors/list', query, purpose }, attempt);
  const ids = listOf(at(answer, 'vectors')).flatMap((vector) => textOf(at(vector, 'id')) ?? []);
  return { ids, next: textOf(at(answer, 'pagination', 'next')) || null };
}

async function list(store: Pinecone, from: string | null, attempt: Attempt): Promise<ListedIds> {
  if (store.id === undefined) return pageOfKeys(store, from, 'list of ids', attempt);
  throw unsupported('Pinecone lists vector ids, but not metadata keys.');
}

async function chunksOf(store: Pinecone, ids: readonly string[], attempt: Attempt): Promise<readonly StoredChunk[]> {
  const { id: idKey } = store;
  const purpose = 'look-up of chunks';
  if (idKey === undefined) {
    const vectors = await fetched(store, ids.slice(0, MAX_CHUNKS), purpose, attempt);
    return toChunks(vectors.map((vector) => entryOf(store, vector)));
  }
  const vectors: unknown[] = [];
  for (const portion of inPortions(ids, DOCUMENTS_PER_CALL)) {
    if (vectors.length >= MAX_CHUNKS) break;
    vectors.push(...(await withIds(store, { idKey, ids: portion, limit: PAGE, purpose }, attempt)));
  }
  return toChunks(vectors.map((vector) => entryOf(store, vector))).slice(0, MAX_CHUNKS);
}

async function withIds(
  { ask, namespace }: Pinecone,
  {
    idKey,
    ids,
    limit,
    purpose,
  }: {
    readonly idKey: string;
    readonly ids: readonly string[];
    readonly limit: number;
    readonly purpose: string;
  },
  attempt: Attempt,
): Promise<readonly unknown[]> {
  const body = { namespace, filter: { [idKey]: { $in: ids } }, limit };
  const answer = await ask({ method: 'POST', path: '/vectors/fetch_by_metadata', body, purpose }, attempt);
  return Object.values(fieldsOf(at(answer, 'vectors')));
}

/** Returns vectors by id, in the order of the ids. */
async function fetched(store: Pinecone, ids: readonly string[], purpose: string, attempt: Attempt): Promise<unknown[]> {
  const vectors: unknown[] = [];
  for (const portion of inAddresses(ids)) {
    const query = { ids: portion, namespace: store.namespace };
    const answer = await store.ask({ method: 'GET', path: '/vectors/fetch', query, purpose }, attempt);
    const found = fieldsOf(at(answer, 'vectors'));
    for (const id of portion) if (found[id] !== undefined) vectors.push(found[id]);
  }
  return vectors;
}

async function existing(store: Pinecone, ids: readonly string[], attempt: Attempt): Promise<ReadonlySet<string>> {
  const { id: idKey } = store;
  const possible = ids.filter((id) => id !== '');
  if (idKey === undefined) {
    const found = await fetched(store, possible, 'check of ids', attempt);
    return new Set(found.flatMap((vector) => textOf(at(vector, 'id')) ?? []));
  }
  return knownIds(possible, PAGE, PAGE, async (wanted, limit) => {
    const vectors = await withIds(store, { idKey, ids: wanted, limit, purpose: 'check of ids' }, attempt);
    return vectors.flatMap((vector) => entryOf(store, vector).id ?? []);
  });
}

function entryOf({ id, content, version }: Pinecone, vector: unknown): Entry {
  const metadata = at(vector, 'metadata');
  return {
    id: textOf(id === undefined ? at(vector, 'id') : fieldAt(metadata, id)),
    vector: vectorOf(at(vector, 'values')),
    content: content === undefined ? null : textOf(fieldAt(metadata, content)),
    version: version === undefined ? null : textOf(fieldAt(metadata, version)),
  };
}

/** Uses host and path, because a proxy may serve several indexes. */
function addressOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname.replace(/\/+$/, '')}`;
}

/** Splits ids into groups that fit into the URL of one request. */
function inAddresses(ids: readonly string[]): string[][] {
  const portions: string[][] = [];
  let [current, length]: [string[], number] = [[], 0];
  for (const id of ids) {
    const size = encodeURIComponent(id).length + 5;
    if (current.length === FETCHED_IDS || (current.length > 0 && length + size > ADDRESS_LENGTH)) {
      portions.push(current);
      [current, length] = [[], 0];
    }
    current.push(id);
    length += size;
  }
  return current.length === 0 ? portions : [...portions, current];
}
