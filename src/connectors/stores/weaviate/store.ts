/**
 * Weaviate over REST and GraphQL.
 *
 * Source: openapi-specs/schema.json in github.com/weaviate/weaviate, and the pages "Vector similarity search", "Read
 * all objects" and "Filters" of docs.weaviate.io.
 */

import { createReservoir } from '../../../math/stats/random.ts';
import { at, bearer, listOf, numberOf, textOf, vectorOf } from '../../../platform/outbound/json-api.ts';
import type { StoreConfigOf } from '../config.ts';
import {
  createRemoteStore,
  createStoreCalls,
  type RememberedShape,
  rememberShape,
  type StoreCalls,
  unlessForbidden,
} from '../remote-store.ts';
import {
  type Attempt,
  type Entry,
  failed,
  type Hit,
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
import {
  type CollectionSchema,
  collectionName,
  countQuery,
  equality,
  getQuery,
  graphqlName,
  nearVector,
  readSchema,
  whereAll,
  whereAnyOf,
  whereIds,
} from './schema.ts';

interface Shape extends CollectionSchema {
  /** Vector length, read from the first object, because the schema does not contain it. */
  readonly dimensions: number | null;
}

const PAGE = 1000;
const MAX_PAGES = 1000;
const IDS_PER_CALL = 100;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * Creates the store. Nothing is sent before the first call.
 *
 * A sample reads the UUIDs of all objects with the cursor, 1,000 per call and up to 1,000,000, through a seeded
 * reservoir, then up to 100 vectors per call. Choosing the objects that follow random UUIDs would cost less, but would
 * favor objects whose UUIDs follow wide gaps. Searches use GraphQL, because REST has no vector search and gRPC would
 * require a second protocol. A server without GraphQL cannot be used.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createWeaviateStore(config: StoreConfigOf<'weaviate'>, configField: string): VectorStore {
  const calls = createStoreCalls(config, {
    service: 'Weaviate',
    configField,
    credentials: bearer(config.api_key),
    credentialsKey: 'api_key',
  });
  const weaviate = { ...config, calls };
  const shapes = rememberShape(calls.service, (attempt) => readShape(weaviate, attempt));
  const store: WeaviateStore = { ...weaviate, shapes };
  return createRemoteStore({
    kind: 'weaviate',
    shapes,
    search: (shape, request, attempt) => search(store, shape, request, attempt),
    placeOf: {
      score: '_additional.distance',
      id: `property ${config.id ?? 'id'} of an object`,
      vector: '_additional.vector',
    },
    unexpected: calls.unexpected,
    sample: (request, attempt) => sample(store, request, attempt),
    describe: async ({ dimensions }, attempt) => ({
      count: await count(store, attempt),
      isExactCount: true,
      traits: { version: await version(store, attempt), dimensions: String(dimensions ?? 'unknown') },
    }),
    existing: (ids, attempt) => existing(store, ids, attempt),
    list: (from, attempt) => list(store, from, attempt),
    chunks: (ids, attempt) => chunksOf(store, ids, attempt),
    close: calls.close,
  });
}

type Weaviate = StoreConfigOf<'weaviate'> & { readonly calls: StoreCalls };

type WeaviateStore = Weaviate & { readonly shapes: RememberedShape<Shape> };

/** Returns `data` from the response to a query. */
async function graphql({ calls }: Weaviate, query: string, purpose: string, attempt: Attempt): Promise<unknown> {
  const call = { method: 'POST', path: '/v1/graphql', body: { query }, purpose } as const;
  const answer = await calls.json(call, attempt);
  const errors = listOf(at(answer, 'errors'));
  if (errors.length === 0) return at(answer, 'data');
  // The error text is not shown, because it may repeat the query.
  const fix = `check ${calls.configField} and the properties in filters`;
  throw failed('request_refused', `${calls.service} ${purpose} failed: GraphQL refused the query; ${fix}.`);
}

/** A query for objects: their metadata, and the properties for id and text. */
interface ObjectsQuery {
  readonly args: readonly string[];
  readonly properties?: readonly string[];
  readonly additional: readonly string[];
  readonly purpose: string;
}

async function objects(
  store: Weaviate,
  { args, properties = [], additional, purpose }: ObjectsQuery,
  attempt: Attempt,
): Promise<readonly unknown[]> {
  const collection = collectionName(store.collection);
  const query = getQuery({ collection, tenant: store.tenant, args, properties, additional });
  return listOf(at(await graphql(store, query, purpose, attempt), 'Get', collection));
}

async function readShape(store: Weaviate, attempt: Attempt): Promise<Shape> {
  const { calls, collection, vector_name: vectorName } = store;
  const schema = await readSchema(calls, collectionName(collection), vectorName, attempt);
  if (vectorName !== undefined) graphqlName(vectorName);
  const query = { args: ['limit: 1'], additional: ['id', vectorField(store)], purpose: 'description' };
  const [first] = await objects(store, query, attempt);
  return { ...schema, dimensions: entryOf(store, first).vector?.length ?? null };
}

async function search(store: Weaviate, shape: Shape, request: NearestRequest, attempt: Attempt): Promise<Hit[] | null> {
  if (request.exact && !shape.isFlat) {
    throw unsupported(
      'The index of this Weaviate collection is approximate; only a flat index compares with all vectors.',
    );
  }
  const conditions = Object.entries(request.filter).map(([name, value]) => equality(shape, name, value));
  if (conditions.includes(null)) return null;
  const where = whereAll(conditions.filter((condition) => condition !== null));
  const query = {
    args: [nearVector(request.vector, store.vector_name), `limit: ${request.k}`, ...where],
    properties: propertiesOf(store, request.withContent !== false),
    additional: ['id', 'distance', ...(needsVectors(shape.scoreKind) ? [vectorField(store)] : [])],
    purpose: 'search',
  };
  return (await objects(store, query, attempt)).map((object) => ({
    ...entryOf(store, object),
    score: numberOf(at(object, '_additional', 'distance')),
  }));
}

async function sample(store: WeaviateStore, request: SampleRequest, attempt: Attempt): Promise<SampledVectors> {
  const { n, seed, withContent } = request;
  const { dimensions } = await store.shapes.fresh(attempt);
  const total = await count(store, attempt);
  if (total > MAX_PAGES * PAGE) {
    throw unsupported(`A uniform sample of Weaviate must read every UUID, and there are too many (${total}).`);
  }
  const uuids = n < 1 || total === 0 ? [] : await walkedIds(store, n, seed, attempt);
  const perCall = vectorsPerCall(dimensions, IDS_PER_CALL);
  return readSample(uuids, perCall, withContent, true, async (portion) => {
    const query = {
      args: [`limit: ${portion.length}`, whereIds(portion)],
      properties: propertiesOf(store, withContent),
      additional: ['id', vectorField(store)],
      purpose: 'sample',
    };
    const found = await objects(store, query, attempt);
    const byUuid = new Map(found.map((object) => [uuidOf(object), object]));
    return portion.map((uuid) => entryOf(store, byUuid.get(uuid)));
  });
}

async function walkedIds(store: Weaviate, n: number, seed: number, attempt: Attempt): Promise<string[]> {
  const reservoir = createReservoir<string>(n, seed);
  for (let after: string | null = BEFORE_ALL; after !== null; ) {
    const page = await pageAfter(store, after, [], 'sample', attempt);
    for (const uuid of page.objects.flatMap((object) => uuidOf(object) ?? [])) reservoir.offer(uuid);
    after = page.next;
  }
  return reservoir.chosen();
}

async function pageAfter(
  store: Weaviate,
  after: string,
  properties: readonly string[],
  purpose: string,
  attempt: Attempt,
): Promise<{ readonly objects: readonly unknown[]; readonly next: string | null }> {
  const args = [`limit: ${PAGE}`, `after: "${UUID.test(after) ? after : BEFORE_ALL}"`];
  const page = await objects(store, { args, properties, additional: ['id'], purpose }, attempt);
  return { objects: page, next: page.length < PAGE ? null : uuidOf(page.at(-1)) };
}

async function list(store: Weaviate, from: string | null, attempt: Attempt): Promise<ListedIds> {
  const page = await pageAfter(store, from ?? BEFORE_ALL, propertiesOf(store, false), 'list of ids', attempt);
  return { ids: page.objects.flatMap((object) => entryOf(store, object).id ?? []), next: page.next };
}

async function chunksOf(
  store: WeaviateStore,
  ids: readonly string[],
  attempt: Attempt,
): Promise<readonly StoredChunk[]> {
  const { id, version: versionProperty } = store;
  const lower = new Map(ids.map((one) => [one.toLowerCase(), one]));
  const uuids = [...lower.keys()].filter((one) => UUID.test(one));
  if (id === undefined && uuids.length === 0) return [];
  const where = id === undefined ? whereIds(uuids) : whereAnyOf(await store.shapes.current(attempt), id, ids);
  const query = {
    args: [`limit: ${MAX_CHUNKS}`, where],
    properties: [...propertiesOf(store, true), ...(versionProperty === undefined ? [] : [versionProperty])],
    additional: ['id'],
    purpose: 'look-up of chunks',
  };
  const found = toChunks((await objects(store, query, attempt)).map((object) => entryOf(store, object)));
  return id === undefined ? found.map((chunk) => ({ ...chunk, id: lower.get(chunk.id) ?? chunk.id })) : found;
}

async function count(store: Weaviate, attempt: Attempt): Promise<number> {
  const collection = collectionName(store.collection);
  const data = await graphql(store, countQuery(collection, store.tenant), 'count', attempt);
  const counted = numberOf(at(data, 'Aggregate', collection, 0, 'meta', 'count'));
  if (counted === null) throw store.calls.unexpected('count', 'meta.count');
  return counted;
}

async function version({ calls }: Weaviate, attempt: Attempt): Promise<string> {
  const call = { method: 'GET', path: '/v1/meta', purpose: 'version' } as const;
  return textOf(at(await unlessForbidden(calls.json(call, attempt)), 'version')) ?? 'hidden';
}

async function existing(store: WeaviateStore, ids: readonly string[], attempt: Attempt): Promise<ReadonlySet<string>> {
  const { id: idProperty } = store;
  const possible = idProperty === undefined ? ids.filter((id) => UUID.test(id)) : ids;
  if (possible.length === 0) return new Set<string>();
  const shape = idProperty === undefined ? null : await store.shapes.current(attempt);
  return knownIds(possible, IDS_PER_CALL, PAGE, async (wanted, limit) => {
    const where =
      shape === null || idProperty === undefined
        ? whereIds(wanted.map((id) => id.toLowerCase()))
        : whereAnyOf(shape, idProperty, wanted);
    const query = {
      args: [`limit: ${limit}`, where],
      properties: propertiesOf(store, false),
      additional: ['id'],
      purpose: 'check of ids',
    };
    const there = (await objects(store, query, attempt)).flatMap((object) => entryOf(store, object).id ?? []);
    // Weaviate returns UUIDs in lower case, regardless of their form in the request.
    return shape === null ? wanted.filter((id) => there.includes(id.toLowerCase())) : there;
  });
}

function propertiesOf({ id, content }: Weaviate, withContent: boolean): string[] {
  return [id, withContent ? content : undefined].filter((name) => name !== undefined);
}

function vectorField({ vector_name: vectorName }: Weaviate): string {
  return vectorName === undefined ? 'vector' : `vectors { ${vectorName} }`;
}

function uuidOf(object: unknown): string | null {
  return textOf(at(object, '_additional', 'id'));
}

function entryOf({ id, content, version: versionProperty, vector_name: vectorName }: Weaviate, object: unknown): Entry {
  const additional = at(object, '_additional');
  return {
    id: id === undefined ? uuidOf(object) : textOf(at(object, id)),
    vector: vectorOf(vectorName === undefined ? at(additional, 'vector') : at(additional, 'vectors', vectorName)),
    content: content === undefined ? null : textOf(at(object, content)),
    version: versionProperty === undefined ? null : textOf(at(object, versionProperty)),
  };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
