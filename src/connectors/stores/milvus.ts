/**
 * Milvus 2.4 and later, or Zilliz Cloud, over REST version 2.
 *
 * Source: API_Reference_MDX/milvus-restful/v2.6.x/v2 and the page "Random sampling" of
 * github.com/milvus-io/web-content.
 */

import { createReservoir } from '../../math/stats/random.ts';
import {
  at,
  bearer,
  type Fields,
  fieldsOf,
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
} from './remote-store.ts';
import {
  type Attempt,
  type Entry,
  failed,
  failureCode,
  type Hit,
  knownIds,
  needsVectors,
  readSample,
  toChunks,
  unsupported,
  vectorsPerCall,
} from './store-rows.ts';
import {
  MAX_CHUNKS,
  type NearestRequest,
  type SampledVectors,
  type SampleRequest,
  type ScoredMetric,
  type StoredChunk,
  type VectorStore,
} from './vector-store.ts';

/** Milvus returns fewer than 16,384 entities per query. */
const WINDOW = 16_383;
const IDS_PER_CALL = 1000;
const MAX_DRAWS = 5;
/**
 * Maximum expected sample size per call. It leaves a margin below WINDOW, so that a random sample never exceeds
 * that window.
 */
const MAX_DRAW = 14_000;

/**
 * Creates the store. Nothing is sent before the first call.
 *
 * For a collection of up to 16,383 entities, a sample reads all primary keys in one call and chooses among them with
 * the seed. A larger collection is sampled by RANDOM_SAMPLE (Milvus 2.6), without a seed: the server returns the same
 * share of each segment, and at least one entity, so only segments with few entities are favored. The adapter requests
 * a quarter more than needed and uses a random subset of the result. If the result is too small, the adapter requests
 * another sample. It then reads up to 1,000 sampled vectors per call. Reading by ranges of the primary key is
 * impossible, because REST guarantees no order.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createMilvusStore(config: MilvusConfig, configField: string): VectorStore {
  const calls = createMilvusCalls(config, configField);
  const shapes = rememberShape(calls.service, (attempt) =>
    readMilvusCollection(calls, config.collection, config.embedding, attempt),
  );
  const store: Milvus = { ...config, calls, shapes };
  return createRemoteStore({
    kind: 'milvus',
    shapes,
    search: (shape, request, attempt) => search(store, shape, request, attempt),
    placeOf: {
      score: 'data[].distance',
      id: `field ${config.id} of an entity`,
      vector: `field ${config.embedding} of an entity`,
    },
    unexpected: calls.unexpected,
    sample: (request, attempt) => sample(store, request, attempt),
    describe: async (_, attempt) => ({ count: await count(store, attempt), isExactCount: true }),
    existing: (ids, attempt) => existing(store, ids, attempt),
    list: async () => {
      throw unsupported('Milvus cannot list ids over REST, which guarantees no order for paging.');
    },
    chunks: (ids, attempt) => chunksOf(store, ids, attempt),
    close: calls.close,
  });
}

type MilvusConfig = StoreConfigOf<'milvus'>;

type Milvus = MilvusConfig & {
  readonly calls: MilvusCalls;
  readonly shapes: RememberedShape<MilvusShape>;
};

async function query(
  { calls, collection: collectionName }: Milvus,
  asked: { readonly filter: string; readonly limit: number; readonly outputFields: readonly string[] },
  purpose: string,
  attempt: Attempt,
): Promise<Fields[]> {
  const body = { collectionName, ...asked };
  return listOf(await calls.data('/entities/query', body, purpose, attempt)).map(fieldsOf);
}

async function count({ calls, collection: collectionName }: Milvus, attempt: Attempt): Promise<number> {
  const body = { collectionName, filter: '', outputFields: ['count(*)'] };
  const [row] = listOf(await calls.data('/entities/query', body, 'count', attempt));
  const counted = numberOf(fieldsOf(row)['count(*)']);
  if (counted === null) throw calls.unexpected('count', 'count(*)');
  return counted;
}

async function search(
  store: Milvus,
  shape: MilvusShape,
  request: NearestRequest,
  attempt: Attempt,
): Promise<Hit[] | null> {
  const { calls, collection: collectionName, embedding, id } = store;
  if (request.exact && !shape.isFlat) {
    throw unsupported(`The index of ${embedding} is approximate; only a FLAT index compares with all vectors.`);
  }
  const conditions = Object.entries(request.filter).map(([name, value]) => equality(shape.types, name, value));
  if (conditions.includes(null)) return null;
  const withVector = needsVectors(shape.scoreKind);
  const body = {
    collectionName,
    data: [[...request.vector]],
    annsField: embedding,
    limit: request.k,
    ...(conditions.length === 0 ? {} : { filter: conditions.join(' and ') }),
    outputFields: [id, ...contentField(store, request.withContent !== false), ...(withVector ? [embedding] : [])],
  };
  const rows = listOf(await calls.data('/entities/search', body, 'search', attempt)).map(fieldsOf);
  return rows.map((row) => ({ ...entryOf(store, row), score: numberOf(row['distance']) }));
}

async function sample(store: Milvus, request: SampleRequest, attempt: Attempt): Promise<SampledVectors> {
  const { n, withContent } = request;
  const { dimensions, key, types } = await store.shapes.fresh(attempt);
  const total = await count(store, attempt);
  const isSmall = total <= WINDOW;
  const draw = () =>
    isSmall ? allKeys(store, request, key, attempt) : drawnKeys(store, request, { key, total }, attempt);
  const chosen = n < 1 || total === 0 ? [] : await draw();
  const outputFields = [...new Set([key, store.id, store.embedding, ...contentField(store, withContent)])];
  const perCall = vectorsPerCall(dimensions, IDS_PER_CALL);
  return readSample(chosen, perCall, withContent, isSmall, async (portion) => {
    const asked = { filter: anyOf(types, key, portion) ?? '', limit: portion.length, outputFields };
    const rows = await query(store, asked, 'sample', attempt);
    const byKey = new Map(rows.map((row) => [textOf(row[key]), row]));
    return portion.map((entity) => entryOf(store, byKey.get(entity) ?? {}));
  });
}

async function allKeys(store: Milvus, { n, seed }: SampleRequest, key: string, attempt: Attempt): Promise<string[]> {
  const rows = await query(store, { filter: '', limit: WINDOW, outputFields: [key] }, 'sample', attempt);
  const reservoir = createReservoir<string>(n, seed);
  for (const id of rows.flatMap((row) => textOf(row[key]) ?? []).toSorted()) reservoir.offer(id);
  return reservoir.chosen();
}

async function drawnKeys(
  store: Milvus,
  { n, seed }: SampleRequest,
  { key, total }: { readonly key: string; readonly total: number },
  attempt: Attempt,
): Promise<string[]> {
  const wanted = Math.ceil(1.25 * n) + 50;
  if (wanted > MAX_DRAW) {
    throw unsupported(`Milvus samples at most ${Math.floor((MAX_DRAW - 50) / 1.25)} entities from a large collection.`);
  }
  const filter = `RANDOM_SAMPLE(${Math.min(0.99, wanted / total).toFixed(9)})`;
  const keys = new Set<string>();
  for (let draw = 0; draw < MAX_DRAWS && keys.size < n; draw += 1) {
    const rows = await orOlder(query(store, { filter, limit: WINDOW, outputFields: [key] }, 'sample', attempt));
    for (const row of rows) {
      const id = textOf(row[key]);
      if (id !== null) keys.add(id);
    }
  }
  const reservoir = createReservoir<string>(n, seed);
  for (const id of keys) reservoir.offer(id);
  return reservoir.chosen();
}

async function existing(store: Milvus, ids: readonly string[], attempt: Attempt): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set<string>();
  const { types } = await store.shapes.current(attempt);
  return knownIds(ids, IDS_PER_CALL, WINDOW, async (wanted, limit) => {
    const filter = anyOf(types, store.id, wanted);
    if (filter === null) return [];
    const rows = await query(store, { filter, limit, outputFields: [store.id] }, 'check of ids', attempt);
    return rows.flatMap((row) => textOf(row[store.id]) ?? []);
  });
}

async function chunksOf(store: Milvus, ids: readonly string[], attempt: Attempt): Promise<readonly StoredChunk[]> {
  const { id, content, version } = store;
  const { types } = await store.shapes.current(attempt);
  const filter = anyOf(types, id, ids);
  if (filter === null) return [];
  const outputFields = [id, content, version].filter((name) => name !== undefined);
  const rows = await query(store, { filter, limit: MAX_CHUNKS, outputFields }, 'look-up of chunks', attempt);
  return toChunks(rows.map((row) => entryOf(store, row)));
}

function contentField({ content }: Milvus, withContent: boolean): readonly string[] {
  return withContent && content !== undefined ? [content] : [];
}

function entryOf({ id, embedding, content, version }: Milvus, row: Fields): Entry {
  return {
    id: textOf(row[id]),
    vector: vectorOf(row[embedding]),
    content: content === undefined ? null : textOf(row[content]),
    version: version === undefined ? null : textOf(row[version]),
  };
}

/** Milvus versions before 2.6 do not support this filter. */
async function orOlder<Value>(call: Promise<Value>): Promise<Value> {
  try {
    return await call;
  } catch (error) {
    if (failureCode(error) !== 'request_refused') throw error;
    throw unsupported(
      'A uniform sample of a large collection requires RANDOM_SAMPLE, available in Milvus 2.6 or later.',
    );
  }
}

interface MilvusCalls extends StoreCalls {
  /** Returns the `data` field of the response. @throws Refused */
  data(path: string, body: unknown, purpose: string, attempt: Attempt): Promise<unknown>;
}

/** Codes from pkg/util/merr in github.com/milvus-io/milvus, and 1800 from the REST interface. */
const meanings: Readonly<Record<string, { code: string; problem: string; field: string }>> = {
  100: { code: 'collection_missing', problem: 'there is no such collection', field: 'collection' },
  101: { code: 'not_loaded', problem: 'the collection is not loaded; load it', field: 'collection' },
  800: { code: 'collection_missing', problem: 'there is no such database', field: 'database' },
  1800: { code: 'http_401', problem: 'the token is rejected', field: 'token' },
};

/** Milvus answers every request with 200; `code` states whether it succeeded. */
function createMilvusCalls(config: MilvusConfig, configField: string): MilvusCalls {
  const { database, token } = config;
  const identity = { service: 'Milvus', configField, credentials: bearer(token), credentialsKey: 'token' };
  const calls = createStoreCalls(config, identity);
  const { service } = identity;
  return {
    ...calls,
    async data(path, fields, purpose, attempt) {
      const body = { ...(database === undefined ? {} : { dbName: database }), ...(fields as object) };
      const answer = await calls.json({ method: 'POST', path: `/v2/vectordb${path}`, body, purpose }, attempt);
      const code = numberOf(at(answer, 'code'));
      // Before Milvus 2.4.5, the success code was 200.
      if (code === 0 || code === 200) return at(answer, 'data');
      if (code === null) throw calls.unexpected(purpose, 'code');
      const meaning = meanings[String(code)];
      const start = `${service} ${purpose} failed:`;
      if (meaning !== undefined) {
        throw failed(meaning.code, `${start} ${meaning.problem}; check ${configField}.${meaning.field}.`);
      }
      if (code === 8)
        throw failed('rate_limited', `${start} its rate limit was exceeded; lower ${configField}.max_per_second.`);
      // The server's message is not shown, because it may repeat the request.
      throw failed(
        'request_refused',
        `${start} it returned code ${code}; check ${configField} and the fields in filters.`,
      );
    },
  };
}

interface MilvusShape extends StoreShape {
  /** True for a FLAT index, which compares with every vector. */
  readonly isFlat: boolean;
  /** Name of the primary key. */
  readonly key: string;
  /** Type of each field by name, without dynamic fields. */
  readonly types: ReadonlyMap<string, string>;
}

const metrics: Readonly<Record<string, ScoredMetric>> = {
  COSINE: { metric: 'cosine', scoreKind: 'cosine' },
  IP: { metric: 'dot', scoreKind: 'dot' },
  L2: { metric: 'l2', scoreKind: 'squared_l2' },
};

/** Reads the collection and its vector index, with one call each. */
async function readMilvusCollection(
  calls: MilvusCalls,
  collectionName: string,
  embedding: string,
  attempt: Attempt,
): Promise<MilvusShape> {
  const { configField } = calls;
  const collection = fieldsOf(await calls.data('/collections/describe', { collectionName }, 'description', attempt));
  const fields = listOf(collection['fields']).map(fieldsOf);
  const vector = fields.find(({ name }) => name === embedding);
  if (vector === undefined) {
    const fix = `check ${configField}.embedding`;
    throw failed('vector_unknown', `Milvus collection ${collectionName} has no field ${embedding}; ${fix}.`);
  }
  if (textOf(vector['type']) !== 'FloatVector') {
    throw unsupported(`The Milvus field ${embedding} is of type ${textOf(vector['type'])} instead of FloatVector.`);
  }
  const index = listOf(collection['indexes'])
    .map(fieldsOf)
    .find(({ fieldName }) => fieldName === embedding);
  const kinds = metrics[textOf(index?.['metricType']) ?? ''];
  if (index === undefined || kinds === undefined) {
    throw unsupported(`The Milvus field ${embedding} has no index with the metric COSINE, IP or L2.`);
  }
  const indexName = textOf(index['indexName']) ?? embedding;
  const described = await calls.data('/indexes/describe', { collectionName, indexName }, 'description', attempt);
  const details = fieldsOf(listOf(described)[0]);
  const dimensions = numberOf(parameter(vector, 'dim'));
  const key = fields.find(({ primaryKey }) => primaryKey === true);
  return {
    dimensions,
    ...kinds,
    isFlat: textOf(details['indexType']) === 'FLAT',
    key: textOf(key?.['name']) ?? 'id',
    types: new Map(fields.map(({ name, type }) => [textOf(name) ?? '', textOf(type) ?? ''])),
    traits: {
      collection: textOf(collection['collectionName']) ?? collectionName,
      collection_id: textOf(collection['collectionID']) ?? '',
      vector: settingsHash(vector),
      index: settingsHash([details['indexType'], details['metricType'], index]),
      index_type: textOf(details['indexType']) || 'AUTOINDEX',
      metric: textOf(index['metricType']) ?? '',
      dimensions: String(dimensions ?? 'unknown'),
    },
  };
}

function parameter(field: Fields, name: string): unknown {
  const found = listOf(field['params']).find((entry) => at(entry, 'key') === name);
  return found === undefined ? at(field, 'params', name) : at(found, 'value');
}

/**
 * Returns `name == value` in the filter language, according to the field's type; null for a value that the field cannot
 * have.
 */
function equality(types: MilvusShape['types'], name: string, value: string): string | null {
  const literal = literalOf(types.get(name), value);
  return literal === null ? null : `${nameOf(name)} == ${literal}`;
}

/** Returns `name in [...]` for the values that the field can have; null if there are none. */
function anyOf(types: MilvusShape['types'], name: string, values: readonly string[]): string | null {
  const literals = values.flatMap((value) => literalOf(types.get(name), value) ?? []);
  return literals.length === 0 ? null : `${nameOf(name)} in [${literals.join(',')}]`;
}

function literalOf(type: string | undefined, value: string): string | null {
  if (type !== undefined && /^Int\d+$/.test(type)) return /^-?\d{1,19}$/.test(value) ? value : null;
  if (type === 'Float' || type === 'Double') {
    return value.trim() !== '' && Number.isFinite(Number(value)) ? String(Number(value)) : null;
  }
  if (type === 'Bool') return value === 'true' || value === 'false' ? value : null;
  return JSON.stringify(value);
}

function nameOf(name: string): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) throw unsupported(`Milvus filters do not support a field named ${name}.`);
  return name;
}
