/**
 * Qdrant over its REST interface.
 *
 * Source: Qdrant's OpenAPI description, docs/redoc/master/openapi.json in github.com/qdrant/qdrant.
 */
import { createReservoir } from '../../../math/stats/random.ts';
import {
  at,
  fieldAt,
  fieldsOf,
  keyHeader,
  listOf,
  numberOf,
  textOf,
  vectorOf,
} from '../../../platform/outbound/json-api.ts';
import type { StoreConfigOf } from '../config.ts';
import {
  createRemoteStore,
  createStoreCalls,
  type RememberedShape,
  rememberShape,
  type StoreCalls,
} from '../remote-store.ts';
import {
  type Attempt,
  type Entry,
  type Hit,
  inPortions,
  knownIds,
  needsVectors,
  readSample,
  toChunks,
  unsupported,
  vectorsPerCall,
} from '../store-rows.ts';
import {
  type ListedIds,
  MAX_CHUNKS,
  type NearestRequest,
  type SampledVectors,
  type SampleRequest,
  type StoredChunk,
  type VectorStore,
} from '../vector-store.ts';
import { type CollectionShape, readCollection } from './collection.ts';
import { equals, isAnyOf, mayBeIntegers, payloadPath } from './filter.ts';

const IDS_PER_CALL = 1000;
/** Maximum number of calls for listing a collection with user-defined shards, enough for five million points. */
const MAX_PAGES = 5000;

/**
 * Creates the store. Nothing is sent before the first call.
 *
 * A sample takes one call for random ids and one call per batch of up to 1,000 vectors. The server samples each segment
 * in proportion to its size, and points are assigned to default shards by the hash of their ids, so no topic is
 * preferred; there is no seed. User-defined shards can differ in size, and the server does not compensate for this. To
 * sample such shards, all ids are read in pages of 1,000, up to 5,000,000, through a seeded reservoir.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createQdrantStore(config: StoreConfigOf<'qdrant'>, configField: string): VectorStore {
  const calls = createStoreCalls(config, {
    service: 'Qdrant',
    configField,
    credentials: keyHeader('api-key', config.api_key),
    credentialsKey: 'api_key',
  });
  const shapes = rememberShape(calls.service, (attempt) =>
    readCollection(calls, config.collection, config.vector_name, attempt),
  );
  const store: Qdrant = { ...config, calls, shapes };
  return createRemoteStore({
    kind: 'qdrant',
    shapes,
    search: (shape, request, attempt) => search(store, shape, request, attempt),
    placeOf: {
      score: 'result.points[].score',
      id: `payload key ${config.id ?? 'id'} of a point`,
      vector: 'vectors',
    },
    unexpected: calls.unexpected,
    sample: (request, attempt) => sample(store, request, attempt),
    describe: async ({ count }) => ({ count, isExactCount: false }),
    existing: (ids, attempt) =>
      config.id === undefined ? existingPoints(store, ids, attempt) : existingKeys(store, config.id, ids, attempt),
    list: (from, attempt) => list(store, from, attempt),
    chunks: (ids, attempt) => chunksOf(store, ids, attempt),
    close: calls.close,
  });
}

type Qdrant = StoreConfigOf<'qdrant'> & {
  readonly calls: StoreCalls;
  readonly shapes: RememberedShape<CollectionShape>;
};

/** Returns the points from a call on the collection. */
async function post(
  { calls, collection }: Qdrant,
  call: { readonly path: string; readonly body: unknown; readonly purpose: string },
  attempt: Attempt,
): Promise<unknown> {
  const missing = `there is no collection ${collection}; check ${calls.configField}.collection`;
  const path = `/collections/${encodeURIComponent(collection)}/points${call.path}`;
  return at(await calls.json({ ...call, method: 'POST', path, missing }, attempt), 'result');
}

async function search(
  store: Qdrant,
  { scoreKind, indexes }: CollectionShape,
  request: NearestRequest,
  attempt: Attempt,
): Promise<Hit[]> {
  const conditions = Object.entries(request.filter).map(([name, value]) => equals(name, value, indexes));
  const body = {
    query: [...request.vector],
    ...(store.vector_name === undefined ? {} : { using: store.vector_name }),
    ...(conditions.length === 0 ? {} : { filter: { must: conditions } }),
    ...(request.exact ? { params: { exact: true } } : {}),
    limit: request.k,
    with_payload: payloadOf(store, request.withContent !== false),
    with_vector: needsVectors(scoreKind) && withVector(store),
  };
  const result = await post(store, { path: '/query', body, purpose: 'search' }, attempt);
  return listOf(at(result, 'points')).map((point) => ({
    ...entryOf(store, point),
    score: numberOf(at(point, 'score')),
  }));
}

async function sample(store: Qdrant, request: SampleRequest, attempt: Attempt): Promise<SampledVectors> {
  const { n, seed, withContent } = request;
  const { dimensions, hasCustomShards, count } = await store.shapes.fresh(attempt);
  if (hasCustomShards && count > MAX_PAGES * IDS_PER_CALL) {
    throw unsupported(
      `A uniform sample over custom Qdrant shards must read every id, and there are too many (${count}).`,
    );
  }
  const draw = () => (hasCustomShards ? walkedIds(store, n, seed, attempt) : randomIds(store, n, attempt));
  const perCall = vectorsPerCall(dimensions, IDS_PER_CALL);
  return readSample(n < 1 ? [] : await draw(), perCall, withContent, hasCustomShards, async (ids) => {
    const body = { ids, with_payload: payloadOf(store, withContent), with_vector: withVector(store) };
    const result = await post(store, { path: '', body, purpose: 'sample' }, attempt);
    return listOf(result).map((point) => entryOf(store, point));
  });
}

async function randomIds(store: Qdrant, n: number, attempt: Attempt): Promise<PointId[]> {
  const body = { query: { sample: 'random' }, limit: n, with_payload: false, with_vector: false };
  const result = await post(store, { path: '/query', body, purpose: 'sample' }, attempt);
  return listOf(at(result, 'points')).flatMap((point) => pointId(textOf(at(point, 'id'))));
}

async function walkedIds(store: Qdrant, n: number, seed: number, attempt: Attempt): Promise<readonly PointId[]> {
  const reservoir = createReservoir<PointId>(n, seed);
  let offset: PointId | undefined;
  do {
    const page = await scroll(store, { offset, with_payload: false, purpose: 'sample' }, attempt);
    for (const point of page.points) for (const id of pointId(textOf(at(point, 'id')))) reservoir.offer(id);
    [offset] = pointId(page.next);
  } while (offset !== undefined);
  return reservoir.chosen();
}

async function scroll(
  store: Qdrant,
  {
    offset,
    with_payload,
    purpose,
  }: {
    readonly offset: PointId | undefined;
    readonly with_payload: false | readonly string[];
    readonly purpose: string;
  },
  attempt: Attempt,
): Promise<{ readonly points: readonly unknown[]; readonly next: string | null }> {
  const from = offset === undefined ? {} : { offset };
  const body = { limit: IDS_PER_CALL, ...from, with_payload, with_vector: false };
  const result = await post(store, { path: '/scroll', body, purpose }, attempt);
  return { points: listOf(at(result, 'points')), next: textOf(at(result, 'next_page_offset')) };
}

async function list(store: Qdrant, from: string | null, attempt: Attempt): Promise<ListedIds> {
  const [offset] = pointId(from);
  const asked = { offset, with_payload: payloadOf(store, false), purpose: 'list of ids' };
  const { points, next } = await scroll(store, asked, attempt);
  return { ids: points.flatMap((point) => entryOf(store, point).id ?? []), next };
}

async function chunksOf(store: Qdrant, ids: readonly string[], attempt: Attempt): Promise<readonly StoredChunk[]> {
  const { id: idKey, content, version } = store;
  const shown = { with_payload: pathsOf(idKey, content, version), with_vector: false };
  const purpose = 'look-up of chunks';
  if (idKey === undefined) {
    const body = { ids: ids.flatMap(pointId).slice(0, MAX_CHUNKS), ...shown };
    const points = listOf(await post(store, { path: '', body, purpose }, attempt));
    const asked = new Map(ids.map((id) => [canonicalId(id), id]));
    return toChunks(points.map((point) => entryOf(store, point))).map((chunk) => ({
      ...chunk,
      id: asked.get(canonicalId(chunk.id)) ?? chunk.id,
    }));
  }
  const body = { filter: await withIds(store, idKey, ids, attempt), limit: MAX_CHUNKS, ...shown };
  const result = await post(store, { path: '/scroll', body, purpose }, attempt);
  return toChunks(listOf(at(result, 'points')).map((point) => entryOf(store, point)));
}

/** The filter for documents with these ids in the payload. */
async function withIds({ shapes }: Qdrant, idKey: string, ids: readonly string[], attempt: Attempt): Promise<unknown> {
  const indexes = mayBeIntegers(ids) ? (await shapes.current(attempt)).indexes : new Map<string, string>();
  return { must: [isAnyOf(idKey, ids, indexes)] };
}

/** Finds documents by a payload key. */
function existingKeys(
  store: Qdrant,
  idKey: string,
  ids: readonly string[],
  attempt: Attempt,
): Promise<ReadonlySet<string>> {
  return knownIds(ids, 100, IDS_PER_CALL, async (wanted, limit) => {
    const filter = await withIds(store, idKey, wanted, attempt);
    const body = { filter, limit, with_payload: pathsOf(idKey), with_vector: false };
    const result = await post(store, { path: '/scroll', body, purpose: 'check of ids' }, attempt);
    return listOf(at(result, 'points')).flatMap((point) => entryOf(store, point).id ?? []);
  });
}

/** Finds documents by their point ids. */
async function existingPoints(store: Qdrant, ids: readonly string[], attempt: Attempt): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  const possible = ids.filter((id) => pointId(id).length > 0);
  for (const portion of inPortions(possible, IDS_PER_CALL)) {
    const body = { ids: portion.flatMap(pointId), with_payload: false, with_vector: false };
    const result = await post(store, { path: '', body, purpose: 'check of ids' }, attempt);
    const found = new Set(listOf(result).map((point) => canonicalId(textOf(at(point, 'id')) ?? '')));
    for (const id of portion) if (found.has(canonicalId(id))) known.add(id);
  }
  return known;
}

function payloadOf({ id, content }: Qdrant, withContent: boolean): readonly string[] | false {
  return pathsOf(id, withContent ? content : undefined);
}

function pathsOf(...names: readonly (string | undefined)[]): readonly string[] | false {
  const paths = names.flatMap((name) => (name === undefined ? [] : [payloadPath(name)]));
  return paths.length > 0 && paths;
}

/** The unnamed vector has an empty name. Requests it by name, because `true` would also return sparse vectors. */
function withVector({ vector_name: vectorName = '' }: Qdrant): readonly string[] {
  return [vectorName];
}

/**
 * The vector is null if the point does not have the named vector; such a point cannot be a neighbor. The unnamed vector
 * is returned without its name.
 */
function entryOf({ id, content, version, vector_name: vectorName }: Qdrant, point: unknown): Entry {
  const { payload, vector } = fieldsOf(point);
  return {
    id: textOf(id === undefined ? at(point, 'id') : fieldAt(payload, id)),
    vector: vectorOf(vectorName === undefined ? vector : at(vector, vectorName)),
    content: content === undefined ? null : textOf(fieldAt(payload, content)),
    version: version === undefined ? null : textOf(fieldAt(payload, version)),
  };
}

type PointId = string | number | bigint;

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/**
 * Returns the id in Qdrant's form, a 64-bit integer or a UUID. Returns an empty list for any other text, which cannot
 * be a point id.
 */
function pointId(text: string | null): [PointId] | [] {
  if (text === null) return [];
  if (UUID.test(text)) return [text];
  if (!/^(0|[1-9]\d{0,19})$/.test(text)) return [];
  const long = BigInt(text);
  if (long >= 2n ** 64n) return [];
  return [Number.isSafeInteger(Number(text)) ? Number(text) : long];
}

/** Qdrant returns UUIDs in lower case with hyphens, regardless of their form in the request. */
function canonicalId(id: string): string {
  return UUID.test(id) ? id.replaceAll('-', '').toLowerCase() : id;
}
