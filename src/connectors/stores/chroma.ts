/** Chroma, over version 2 of its HTTP API, as described in a server's `/openapi.json`. */

import { createReservoir } from '../../math/stats/random.ts';
import { at, fieldsOf, keyHeader, numberOf, textOf, vectorOf } from '../../platform/outbound/json-api.ts';
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
  failureCode,
  type Hit,
  inPortions,
  knownIds,
  needsVectors,
  toChunks,
  toSample,
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

interface Collection extends StoreShape {
  readonly id: string;
}

const squaredL2 = { metric: 'l2', scoreKind: 'squared_l2' } as const;

/** Metrics by Chroma's name for the space; the default is l2. */
const spaces: Readonly<Record<string, ScoredMetric>> = {
  cosine: { metric: 'cosine', scoreKind: 'cosine_distance' },
  l2: squaredL2,
  ip: { metric: 'dot', scoreKind: 'one_minus_dot' },
};

/** Returns null for anything that is not a collection description. */
function readCollection(answer: unknown): Collection | null {
  const id = textOf(at(answer, 'id'));
  if (id === null) return null;
  const configuration = fieldsOf(at(answer, 'configuration_json'));
  const index = configuration['hnsw'] ?? configuration['spann'];
  const kinds = spaces[textOf(at(index, 'space')) ?? 'l2'] ?? squaredL2;
  return {
    id,
    dimensions: numberOf(at(answer, 'dimension')),
    ...kinds,
    traits: {
      collection: id,
      metric: kinds.metric,
      // Settings of the index and of the embedding function.
      configuration: JSON.stringify(configuration),
      // Metadata written by the owner, such as the index version.
      metadata: JSON.stringify(fieldsOf(at(answer, 'metadata'))),
    },
  };
}

interface Stored extends Entry {
  /** Chroma's id for the record. */
  readonly key: string;
}

type ChromaConfig = StoreConfigOf<'chroma'>;

/** Reads the records in a response, which contains a separate list for each property; null if it is malformed. */
function readRecords(answer: unknown, { id: idKey, version: versionKey }: ChromaConfig): Stored[] | null {
  const { ids, embeddings, documents, metadatas } = fieldsOf(answer);
  if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) return null;
  return ids.map((key, place) => ({
    key,
    id: idKey === undefined ? key : textOf(at(metadatas, place, idKey)),
    vector: vectorOf(at(embeddings, place)),
    content: textOf(at(documents, place)),
    version: versionKey === undefined ? null : textOf(at(metadatas, place, versionKey)),
  }));
}

/**
 * Reads the response to a query with one vector, in which each property has one list per vector; null if it is
 * malformed.
 */
function readHits(answer: unknown, keys: ChromaConfig): Hit[] | null {
  const parts = ['ids', 'embeddings', 'documents', 'metadatas', 'distances'].map((part) => [part, at(answer, part, 0)]);
  const { distances, ...lists } = Object.fromEntries(parts) as Record<string, unknown>;
  const records = readRecords(lists, keys);
  return records?.map((record, place) => ({ ...record, score: numberOf(at(distances, place)) })) ?? null;
}

type Where = Readonly<Record<string, unknown>>;

/**
 * Returns a condition that requires each field to have its value. Chroma does not compare texts with numbers, so a
 * value that looks like a number or a boolean is searched both as text and as that type. Returns no condition for an
 * empty filter.
 */
export function whereOf(filter: Readonly<Record<string, string>>): { readonly where?: Where } {
  const conditions = Object.entries(filter).map(([name, value]) => {
    const readings = readingsOf(value).map((reading) => ({ [name]: { $eq: reading } }));
    return oneOrJoined('$or', readings);
  });
  return conditions.length === 0 ? {} : { where: oneOrJoined('$and', conditions) };
}

/** Chroma rejects a conjunction with a single condition. */
function oneOrJoined(operator: '$and' | '$or', conditions: readonly Where[]): Where {
  const [only] = conditions;
  return conditions.length === 1 && only !== undefined ? only : { [operator]: conditions };
}

function readingsOf(value: string): (string | number | boolean)[] {
  if (value === 'true' || value === 'false') return [value, value === 'true'];
  const isNumber = value.trim() === value && value !== '' && Number.isFinite(Number(value));
  return isNumber ? [value, Number(value)] : [value];
}

/** Maximum number of ids per request. The limit is high, because ids without vectors are short. */
const IDS_PER_REQUEST = 5000;
/** Maximum number of vectors per request. A vector of 1,536 numbers is about 30 kB of JSON. */
const VECTORS_PER_REQUEST = 200;
/** The Chroma Cloud quota (docs.trychroma.com/cloud/quotas-limits); larger requests get 422. */
const CLOUD_QUOTA = 300;
/** Maximum number of values in one condition. */
const VALUES_PER_REQUEST = 250;

/** Names of the properties that a hit in a query response may lack. */
const placeOf = { score: 'ids with distances', id: 'ids with distances', vector: 'embeddings' };

/**
 * Opens a collection. Nothing is sent before the first call. The fields of a filter are metadata keys.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createChromaStore(config: ChromaConfig, configField: string): VectorStore {
  const calls = createStoreCalls(config, {
    service: 'Chroma',
    configField,
    credentials: keyHeader('x-chroma-token', config.api_key),
    credentialsKey: 'api_key',
  });
  const shapes = rememberShape(calls.service, (attempt) => findCollection(config, calls, attempt));
  const store: Chroma = { ...config, calls, shapes, maxPerRequest: IDS_PER_REQUEST };
  return createRemoteStore({
    kind: 'chroma',
    shapes,
    noExactSearch: 'Chroma has no search that bypasses its index.',
    search: (shape, request, attempt) => search(store, shape, request, attempt),
    placeOf,
    unexpected: calls.unexpected,
    sample: (request, attempt) => sample(store, request, attempt),
    describe: (_, attempt) => describe(store, attempt),
    existing: (ids, attempt) => existing(store, ids, attempt),
    list: (from, attempt) => list(store, from, attempt),
    chunks: (ids, attempt) => chunksOf(store, ids, attempt),
    close: calls.close,
  });
}

type Chroma = ChromaConfig & {
  readonly calls: StoreCalls;
  /** The description of the collection, looked up by its name. */
  readonly shapes: RememberedShape<Collection>;
  /** Reduced when the server rejects a request for this many records. */
  maxPerRequest: number;
};

async function findCollection(config: ChromaConfig, calls: StoreCalls, attempt: Attempt): Promise<Collection> {
  const { collection: name, database, tenant } = config;
  const place = `${name} in the database ${database} of ${tenant}`;
  const missing = `there is no collection ${place}; check ${calls.configField}.collection, .database, .tenant and .url`;
  const path = `${collectionsPath(config)}/${encodeURIComponent(name)}`;
  const collection = readCollection(
    await calls.json({ method: 'GET', path, purpose: 'description', missing }, attempt),
  );
  if (collection === null) throw calls.unexpected('description', 'id of a collection');
  return collection;
}

function collectionsPath({ tenant, database }: ChromaConfig): string {
  return `/api/v2/tenants/${encodeURIComponent(tenant)}/databases/${encodeURIComponent(database)}/collections`;
}

/**
 * A collection that was recreated under the same name has another id, so a collection that is not found is looked up
 * again once.
 */
async function ask(store: Chroma, path: string, purpose: string, body: unknown, attempt: Attempt): Promise<unknown> {
  const method = body === undefined ? 'GET' : 'POST';
  const send = ({ id }: Collection): Promise<unknown> =>
    store.calls.json({ method, path: `${collectionsPath(store)}/${id}/${path}`, body, purpose }, attempt);
  try {
    return await send(await store.shapes.current(attempt));
  } catch (error) {
    if (failureCode(error) !== 'http_404') throw error;
    return send(await store.shapes.fresh(attempt));
  }
}

interface Page {
  readonly limit: number;
  readonly include: readonly string[];
  readonly ids?: readonly string[];
  readonly offset?: number;
  readonly where?: Where;
}

/** Returns null if the page was larger than the server allows; the next request is smaller. */
async function getPage(
  store: Chroma,
  page: Page,
  purpose: string,
  attempt: Attempt,
): Promise<readonly Stored[] | null> {
  try {
    const records = readRecords(await ask(store, 'get', purpose, page, attempt), store);
    if (records === null) throw store.calls.unexpected(purpose, 'ids');
    return records;
  } catch (error) {
    if (failureCode(error) !== 'http_422' || page.limit <= CLOUD_QUOTA) throw error;
    store.maxPerRequest = CLOUD_QUOTA;
    return null;
  }
}

/** Passes the id of every record to `take`, page by page. */
async function listKeys(store: Chroma, take: (key: string) => void, attempt: Attempt): Promise<void> {
  for (let offset = 0; ; ) {
    const page = await getPage(store, { include: [], limit: store.maxPerRequest, offset }, 'sample', attempt);
    if (page?.length === 0) return;
    for (const { key } of page ?? []) take(key);
    offset += page?.length ?? 0;
  }
}

async function list(store: Chroma, from: string | null, attempt: Attempt): Promise<ListedIds> {
  const offset = Number(from ?? 0);
  const include = store.id === undefined ? [] : ['metadatas'];
  const ask = () => getPage(store, { include, limit: store.maxPerRequest, offset }, 'list of ids', attempt);
  const page = (await ask()) ?? (await ask()) ?? [];
  const next = page.length === 0 ? null : String(offset + page.length);
  return { ids: page.flatMap(({ id }) => id ?? []), next };
}

async function existing(store: Chroma, ids: readonly string[], attempt: Attempt): Promise<ReadonlySet<string>> {
  const { id: idKey } = store;
  if (idKey === undefined) return new Set((await get(store, ids, [], attempt)).map(({ key }) => key));
  const limit = Math.min(IDS_PER_REQUEST, store.maxPerRequest);
  return knownIds(ids, Math.min(VALUES_PER_REQUEST, limit), limit, async (wanted) => {
    const page = await withIds(store, idKey, wanted, { limit, include: ['metadatas'] }, attempt);
    return page.flatMap(({ id }) => id ?? []);
  });
}

async function chunksOf(store: Chroma, ids: readonly string[], attempt: Attempt): Promise<readonly StoredChunk[]> {
  const { id: idKey } = store;
  const include = ['documents', 'metadatas'];
  if (idKey === undefined) return toChunks(await get(store, ids, include, attempt));
  const limit = Math.min(MAX_CHUNKS, store.maxPerRequest);
  const entries: Stored[] = [];
  for (const portion of inPortions(ids, VALUES_PER_REQUEST)) {
    if (entries.length < MAX_CHUNKS)
      entries.push(...(await withIds(store, idKey, portion, { limit, include }, attempt)));
  }
  return toChunks(entries).slice(0, MAX_CHUNKS);
}

/** Returns the records of these documents, by a metadata key. */
async function withIds(
  store: Chroma,
  idKey: string,
  ids: readonly string[],
  page: Page,
  attempt: Attempt,
): Promise<readonly Stored[]> {
  const where = oneOrJoined(
    '$or',
    // As in a filter, an id that looks like a number may be stored as a number.
    [ids, ids.flatMap((id) => (Number.isFinite(Number(id)) && id.trim() === id && id !== '' ? [Number(id)] : []))]
      .filter((values) => values.length > 0)
      .map((values) => ({ [idKey]: { $in: values } })),
  );
  const asked = { ...page, where };
  const shorter = (): Page => ({ ...asked, limit: Math.min(page.limit, store.maxPerRequest) });
  const purpose = 'look-up of ids';
  return (await getPage(store, asked, purpose, attempt)) ?? (await getPage(store, shorter(), purpose, attempt)) ?? [];
}

/**
 * Returns the existing records with these ids, in the server's order, with the requested parts, such as `embeddings`.
 */
async function get(
  store: Chroma,
  ids: readonly string[],
  include: readonly string[],
  attempt: Attempt,
): Promise<readonly Stored[]> {
  const records: Stored[] = [];
  const purpose = include.length === 0 ? 'check of ids' : 'sample';
  const most = include.length === 0 ? IDS_PER_REQUEST : VECTORS_PER_REQUEST;
  for (let start = 0; start < ids.length; ) {
    const some = ids.slice(start, start + Math.min(most, store.maxPerRequest));
    const page = await getPage(store, { ids: some, include, limit: some.length }, purpose, attempt);
    records.push(...(page ?? []));
    if (page !== null) start += some.length;
  }
  return records;
}

async function search(
  store: Chroma,
  { scoreKind }: Collection,
  request: NearestRequest,
  attempt: Attempt,
): Promise<Hit[]> {
  const body = {
    query_embeddings: [Array.from(request.vector)],
    n_results: request.k,
    include: [
      'distances',
      ...(request.withContent ? ['documents'] : []),
      ...(store.id === undefined ? [] : ['metadatas']),
      ...(needsVectors(scoreKind) ? ['embeddings'] : []),
    ],
    ...whereOf(request.filter),
  };
  const hits = readHits(await ask(store, 'query', 'search', body, attempt), store);
  if (hits === null) throw store.calls.unexpected('search', placeOf.id);
  return hits;
}

/** Lists all ids, samples from them, and reads the vectors of the sampled ids. */
async function sample(
  store: Chroma,
  { n, seed, withContent }: SampleRequest,
  attempt: Attempt,
): Promise<SampledVectors> {
  const reservoir = createReservoir<string>(n, seed);
  await listKeys(store, (key) => reservoir.offer(key), attempt);
  // If a write occurs during the listing, an id may be returned twice.
  const keys = [...new Set(reservoir.chosen())];
  const named = store.id === undefined ? [] : ['metadatas'];
  const parts = ['embeddings', ...named, ...(withContent ? ['documents'] : [])];
  const found = new Map((await get(store, keys, parts, attempt)).map((record) => [record.key, record]));
  // A record that was deleted since the listing is omitted.
  const drawn = keys.flatMap((key) => found.get(key) ?? []);
  return toSample(drawn, withContent, true);
}

async function describe(store: Chroma, attempt: Attempt) {
  const { calls } = store;
  const count = numberOf(await ask(store, 'count', 'count', undefined, attempt));
  if (count === null) throw calls.unexpected('count', 'number of records');
  const call = { method: 'GET', path: '/api/v2/version', purpose: 'version' } as const;
  const traits = { chroma: textOf(await calls.json(call, attempt)) ?? 'unknown' };
  return { count, isExactCount: true, traits };
}
