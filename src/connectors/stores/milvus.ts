/**
 * Milvus 2.4 and later, or Zilliz Cloud, over REST version 2.
 *
 * Source: API_Reference_MDX/milvus-restful/v2.6.x/v2 and the page "Random sampling" of
 * github.com/milvus-io/web-content.
 */

import {
  at,
  bearer,
  type Fields,
  fieldsOf,
  listOf,
  numberOf,
  textAt,
  textOf,
  vectorOf,
} from '../../platform/outbound/json-api.ts';
import type { StoreConfigOf } from './config.ts';
import { createRemoteStore, createStoreCalls, rememberShape, settingsHash } from './remote-store.ts';
import {
  type Attempt,
  chooseKeys,
  type Entry,
  failed,
  failureCode,
  knownIds,
  readSample,
  unsupported,
  vectorsPerCall,
} from './store-rows.ts';
import { MAX_CHUNKS, type SampleRequest, type ScoredMetric } from './vector-store.ts';

/** Milvus returns fewer than 16,384 entities per query. */
const WINDOW = 16_383;
const IDS_PER_CALL = 1000;
const MAX_DRAWS = 5;
/** Maximum expected sample size per call. The actual size varies, so a margin keeps it below WINDOW. */
const MAX_DRAW = 14_000;

/**
 * Creates the store. Nothing is sent before the first call.
 *
 * If a collection has at most 16,383 entities, the adapter reads all primary keys in one call and samples them with the
 * seed. From a larger collection, the adapter samples with RANDOM_SAMPLE (Milvus 2.6), which accepts no seed. The
 * server samples the same share of every segment, but at least one entity per segment. Entities in very small segments
 * are therefore more likely to be sampled than others. The adapter requests a quarter more entities than needed and
 * uses a random subset of the result. If the result is too small, the adapter requests another sample. The adapter then
 * reads up to 1,000 sampled vectors per call. Reading by ranges of the primary key is impossible, because REST
 * guarantees no order.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createMilvusStore(config: StoreConfigOf<'milvus'>, configField: string) {
  const { collection: collectionName, embedding, id: idField, content, version } = config;
  const data = createMilvusCall(config, configField);
  const { calls } = data;
  const shapes = rememberShape(calls.service, (attempt) => readMilvusCollection(config, data, attempt));

  const query = async (
    filter: string,
    limit: number,
    outputFields: readonly string[],
    purpose: string,
    attempt: Attempt,
  ): Promise<Fields[]> => {
    const body = { collectionName, filter, limit, outputFields };
    return listOf(await data.ask('/entities/query', body, purpose, attempt)).map(fieldsOf);
  };

  const count = async (attempt: Attempt): Promise<number> => {
    const body = { collectionName, filter: '', outputFields: ['count(*)'] };
    const [row] = listOf(await data.ask('/entities/query', body, 'count', attempt));
    const counted = numberOf(fieldsOf(row)['count(*)']);
    if (counted === null) throw calls.unexpected('count', 'count(*)');
    return counted;
  };

  const contentField = (withContent: boolean) => (withContent && content !== undefined ? [content] : []);

  const entryOf = (row: Fields): Entry => ({
    id: textOf(row[idField]),
    vector: vectorOf(row[embedding]),
    content: textAt(row, content),
    version: textAt(row, version),
  });

  /** Returns the keys that match a filter. */
  const keysOf = async (filter: string, key: string, attempt: Attempt): Promise<string[]> => {
    const rows = await query(filter, WINDOW, [key], 'sample', attempt);
    return rows.flatMap((row) => textOf(row[key]) ?? []);
  };

  const drawnKeys = async ({ n }: SampleRequest, key: string, total: number, attempt: Attempt) => {
    const wanted = Math.ceil(1.25 * n) + 50;
    if (wanted > MAX_DRAW) {
      const most = Math.floor((MAX_DRAW - 50) / 1.25);
      throw unsupported(`Milvus samples at most ${most} entities from a large collection.`);
    }
    const filter = `RANDOM_SAMPLE(${Math.min(0.99, wanted / total).toFixed(9)})`;
    const keys = new Set<string>();
    for (let draw = 0; draw < MAX_DRAWS && keys.size < n; draw += 1) {
      for (const id of await orOlder(keysOf(filter, key, attempt))) keys.add(id);
    }
    return [...keys];
  };

  return createRemoteStore({
    kind: 'milvus',
    shapes,
    placeOf: {
      score: 'data[].distance',
      id: `field ${idField} of an entity`,
      vector: `field ${embedding} of an entity`,
    },
    ...calls,

    async search(shape, request, attempt) {
      if (request.exact && !shape.isFlat) {
        throw unsupported(
          `The index of ${embedding} is approximate; only a FLAT index compares a query with all vectors.`,
        );
      }
      const conditions = Object.entries(request.filter).map(([name, value]) => equality(shape.types, name, value));
      if (conditions.includes(null)) return null;
      const body = {
        collectionName,
        data: [[...request.vector]],
        annsField: embedding,
        limit: request.k,
        ...(conditions.length === 0 ? {} : { filter: conditions.join(' and ') }),
        outputFields: [
          idField,
          ...contentField(request.withContent !== false),
          ...(request.withVector ? [embedding] : []),
        ],
      };
      const rows = listOf(await data.ask('/entities/search', body, 'search', attempt)).map(fieldsOf);
      return rows.map((row) => ({ ...entryOf(row), score: numberOf(row['distance']) }));
    },

    async sample(request, attempt) {
      const { n, seed, withContent } = request;
      const { dimensions, key, types } = await shapes.fresh(attempt);
      const total = await count(attempt);
      const isSmall = total <= WINDOW;
      const keys = async () =>
        isSmall ? (await keysOf('', key, attempt)).toSorted() : drawnKeys(request, key, total, attempt);
      const chosen = await chooseKeys(total === 0 ? 0 : n, seed, async () => ({ ids: await keys(), next: null }));
      const outputFields = [...new Set([key, idField, embedding, ...contentField(withContent)])];
      const perCall = vectorsPerCall(dimensions, IDS_PER_CALL);
      return readSample(chosen, perCall, withContent, isSmall, async (portion) => {
        const filter = anyOf(types, key, portion) ?? '';
        const rows = await query(filter, portion.length, outputFields, 'sample', attempt);
        const byKey = new Map(rows.map((row) => [textOf(row[key]), row]));
        return portion.map((entity) => entryOf(byKey.get(entity) ?? {}));
      });
    },

    describe: async (_, attempt) => ({ count: await count(attempt), isExactCount: true }),

    async existing(ids, attempt) {
      if (ids.length === 0) return new Set<string>();
      const { types } = await shapes.current(attempt);
      return knownIds(ids, IDS_PER_CALL, WINDOW, async (wanted, limit) => {
        const filter = anyOf(types, idField, wanted);
        const rows = filter === null ? [] : await query(filter, limit, [idField], 'lookup of ids', attempt);
        return rows.flatMap((row) => textOf(row[idField]) ?? []);
      });
    },

    async list() {
      throw unsupported(
        'Milvus cannot list ids over REST, because the REST API does not guarantee the order of pages.',
      );
    },

    async chunks(ids, attempt) {
      const { types } = await shapes.current(attempt);
      const filter = anyOf(types, idField, ids);
      if (filter === null) return [];
      const outputFields = [idField, content, version].filter((name) => name !== undefined);
      return (await query(filter, MAX_CHUNKS, outputFields, 'lookup of chunks', attempt)).map(entryOf);
    },
  });
}

/** Milvus versions before 2.6 do not support RANDOM_SAMPLE. */
async function orOlder<Value>(call: Promise<Value>): Promise<Value> {
  try {
    return await call;
  } catch (error) {
    if (failureCode(error) !== 'request_refused') throw error;
    throw unsupported(
      'Uniform sampling of a large collection requires RANDOM_SAMPLE, available in Milvus 2.6 or later.',
    );
  }
}

/**
 * Error codes of Milvus. Source: pkg/util/merr in github.com/milvus-io/milvus; the code 1800 comes from the REST
 * interface.
 */
const meanings: Readonly<Record<string, { code: string; problem: string; field: string }>> = {
  100: { code: 'collection_missing', problem: 'there is no such collection', field: 'collection' },
  101: { code: 'not_loaded', problem: 'the collection is not loaded; load it', field: 'collection' },
  800: { code: 'collection_missing', problem: 'there is no such database', field: 'database' },
  1800: { code: 'http_401', problem: 'the token is rejected', field: 'token' },
};

/** Milvus answers every request with status 200; `code` states whether the request succeeded. */
function createMilvusCall(config: StoreConfigOf<'milvus'>, configField: string) {
  const { database, token } = config;
  const service = 'Milvus';
  const calls = createStoreCalls(service, config, configField, bearer(token), 'token');
  return {
    calls,
    /** Returns the `data` field of the response. @throws Refused */
    async ask(path: string, fields: object, purpose: string, attempt: Attempt): Promise<unknown> {
      const body = { ...(database === undefined ? {} : { dbName: database }), ...fields };
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

/** Types of the fields in the schema, keyed by field name. Dynamic fields are not included. */
type FieldTypes = ReadonlyMap<string, string>;

const metrics: Readonly<Record<string, ScoredMetric>> = {
  COSINE: { metric: 'cosine', scoreKind: 'cosine' },
  IP: { metric: 'dot', scoreKind: 'dot' },
  L2: { metric: 'l2', scoreKind: 'squared_l2' },
};

/** Reads the collection and its vector index, with one call each. */
async function readMilvusCollection(
  { collection: collectionName, embedding }: StoreConfigOf<'milvus'>,
  milvus: ReturnType<typeof createMilvusCall>,
  attempt: Attempt,
) {
  const collection = fieldsOf(
    await milvus.ask('/collections/describe', { collectionName }, 'metadata request', attempt),
  );
  const fields = listOf(collection['fields']).map(fieldsOf);
  const vector = fields.find(({ name }) => name === embedding);
  if (vector === undefined) {
    const fix = `check ${milvus.calls.configField}.embedding`;
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
  const described = await milvus.ask('/indexes/describe', { collectionName, indexName }, 'metadata request', attempt);
  const details = fieldsOf(listOf(described)[0]);
  const dimensions = numberOf(parameter(vector, 'dim'));
  const key = fields.find(({ primaryKey }) => primaryKey === true);
  return {
    dimensions,
    ...kinds,
    /** True for a FLAT index, which compares a query with every vector. */
    isFlat: textOf(details['indexType']) === 'FLAT',
    /** Name of the primary key. */
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
function equality(types: FieldTypes, name: string, value: string): string | null {
  const literal = literalOf(types.get(name), value);
  return literal === null ? null : `${nameOf(name)} == ${literal}`;
}

/** Returns `name in [...]` for the values that the field can have; null if there are none. */
function anyOf(types: FieldTypes, name: string, values: readonly string[]): string | null {
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
