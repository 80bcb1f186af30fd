/**
 * Qdrant over its REST interface.
 *
 * Source: Qdrant's OpenAPI description, docs/redoc/master/openapi.json in github.com/qdrant/qdrant.
 */

import { createReservoir } from '../../math/stats/random.ts';
import {
  at,
  type Fields,
  fieldAt,
  fieldsOf,
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
  settingsHash,
  unlessForbidden,
} from './remote-store.ts';
import {
  type Attempt,
  type Entry,
  failed,
  type Hit,
  inPortions,
  knownIds,
  needsVectors,
  readSample,
  toChunks,
  unsupported,
  vectorsPerCall,
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

interface CollectionShape extends StoreShape {
  readonly dimensions: number;
  /** Number of points; the server's estimate is inexact while segments are merged. */
  readonly count: number;
  /** Shards by a user-defined key, which may differ in size and content. */
  readonly hasCustomShards: boolean;
}

const distances: Readonly<Record<string, ScoredMetric>> = {
  Cosine: { metric: 'cosine', scoreKind: 'cosine' },
  Dot: { metric: 'dot', scoreKind: 'dot' },
  Euclid: { metric: 'l2', scoreKind: 'l2' },
};

/** Makes calls for the collection, the aliases and the version; the last two may be forbidden. */
async function readCollection(
  calls: StoreCalls,
  collection: string,
  vectorName: string | undefined,
  attempt: Attempt,
): Promise<CollectionShape> {
  const missing = `there is no collection ${collection}; check ${calls.configField}.collection`;
  const path = `/collections/${encodeURIComponent(collection)}`;
  const answer = await calls.json({ method: 'GET', path, purpose: 'description', missing }, attempt);
  const config = fieldsOf(at(answer, 'result', 'config'));
  const params = fieldsOf(config['params']);
  const vector = chooseVector(params['vectors'], vectorName, collection, calls);
  const { size, distance } = vector;
  const dimensions = numberOf(size);
  if (dimensions === null) throw calls.unexpected('description', 'config.params.vectors');
  const name = textOf(distance) ?? '';
  const kinds = distances[name];
  if (kinds === undefined) throw unsupported(`The Qdrant distance ${name} cannot be converted to a cosine.`);
  if (vector['multivector_config'] != null) {
    throw unsupported(
      'A Qdrant vector with multivector_config has several vectors per point, which recalld does not support.',
    );
  }
  const count = numberOf(at(answer, 'result', 'points_count')) ?? 0;
  return {
    dimensions,
    ...kinds,
    count,
    hasCustomShards: params['sharding_method'] === 'custom',
    traits: {
      version: await versionOf(calls, attempt),
      collection: await aliasTarget(calls, collection, attempt),
      vector: settingsHash(vector),
      settings: settingsHash([params, config['hnsw_config'], config['quantization_config']]),
      metadata: settingsHash(config['metadata'] ?? null),
      dimensions: String(dimensions),
      distance: name,
    },
  };
}

function chooseVector(vectors: unknown, name: string | undefined, collection: string, calls: StoreCalls): Fields {
  const named = fieldsOf(vectors);
  if (numberOf(named['size']) !== null) return named;
  if (Object.keys(named).length === 0) throw calls.unexpected('description', 'config.params.vectors');
  const chosen = name === undefined ? undefined : named[name];
  if (chosen !== undefined) return fieldsOf(chosen);
  const known = Object.keys(named).toSorted().join(', ');
  const problem = name === undefined ? 'has only named vectors' : `has no vector named ${name}`;
  throw failed(
    'vector_unknown',
    `Qdrant collection ${collection} ${problem}; set ${calls.configField}.vector_name to one of: ${known}.`,
  );
}

async function versionOf(calls: StoreCalls, attempt: Attempt): Promise<string> {
  const answer = await unlessForbidden(calls.json({ method: 'GET', path: '/', purpose: 'version' }, attempt));
  return textOf(at(answer, 'version')) ?? 'hidden';
}

/** Returns the collection behind an alias, so that recalld notices when the alias is switched to a new collection. */
async function aliasTarget(calls: StoreCalls, name: string, attempt: Attempt): Promise<string> {
  const answer = await unlessForbidden(
    calls.json({ method: 'GET', path: '/aliases', purpose: 'list of aliases' }, attempt),
  );
  const alias = listOf(at(answer, 'result', 'aliases')).find((entry) => at(entry, 'alias_name') === name);
  return textOf(at(alias, 'collection_name')) ?? name;
}

const IDS_PER_CALL = 1000;
/** Maximum number of calls for listing a collection with user-defined shards: five million points. */
const MAX_PAGES = 5000;

/**
 * Creates the store. Nothing is sent before the first call.
 *
 * A sample takes one call for random ids and one call per portion of up to 1,000 vectors. The server samples each
 * segment in proportion to its size, and default shards split by the hash of the point id, so no topic is preferred;
 * there is no seed. User-defined shards can differ in size, and the server does not compensate for this. All ids are
 * then read in pages of 1,000, up to 5,000,000, through a seeded reservoir.
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
  { scoreKind }: CollectionShape,
  request: NearestRequest,
  attempt: Attempt,
): Promise<Hit[]> {
  const conditions = Object.entries(request.filter).map(([key, value]) => ({ key, match: { value } }));
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
  const keys = [idKey, content, version].filter((key) => key !== undefined);
  const shown = { with_payload: keys.length > 0 && keys, with_vector: false };
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
  const filter = { must: [{ key: idKey, match: { any: ids } }] };
  const body = { filter, limit: MAX_CHUNKS, ...shown };
  const result = await post(store, { path: '/scroll', body, purpose }, attempt);
  return toChunks(listOf(at(result, 'points')).map((point) => entryOf(store, point)));
}

/** Finds documents by a payload key. */
function existingKeys(
  store: Qdrant,
  idKey: string,
  ids: readonly string[],
  attempt: Attempt,
): Promise<ReadonlySet<string>> {
  return knownIds(ids, 100, IDS_PER_CALL, async (wanted, limit) => {
    const filter = { must: [{ key: idKey, match: { any: wanted } }] };
    const body = { filter, limit, with_payload: [idKey], with_vector: false };
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
  const keys = [id, withContent ? content : undefined].filter((key) => key !== undefined);
  return keys.length > 0 && keys;
}

function withVector({ vector_name: vectorName }: Qdrant): true | readonly string[] {
  return vectorName === undefined ? true : [vectorName];
}

/** A point without the named vector is not a neighbour. */
function entryOf({ id, content, version, vector_name: vectorName }: Qdrant, point: unknown): Entry {
  const payload = at(point, 'payload');
  return {
    id: textOf(id === undefined ? at(point, 'id') : fieldAt(payload, id)),
    vector: vectorOf(vectorName === undefined ? at(point, 'vector') : at(point, 'vector', vectorName)),
    content: content === undefined ? null : textOf(fieldAt(payload, content)),
    version: version === undefined ? null : textOf(fieldAt(payload, version)),
  };
}

type PointId = string | number | bigint;

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/**
 * Returns the id in Qdrant's form, a 64-bit integer or a UUID. Returns none for any other text, which cannot be a point
 * id.
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
