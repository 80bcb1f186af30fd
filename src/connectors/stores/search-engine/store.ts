/** A vector store in Elasticsearch 8 or 9, or in OpenSearch 2 or 3 with its k-NN plugin, over REST. */

import {
  at,
  basic,
  type Fields,
  fieldAt,
  fieldsOf,
  type JsonCall,
  listOf,
  loginKey,
  numberOf,
  textAt,
  textOf,
  vectorOf,
} from '../../../platform/outbound/json-api.ts';
import {
  createRemoteStore,
  createStoreCalls,
  rememberShape,
  type StoreCalls,
  settingsHash,
  unlessForbidden,
} from '../remote-store.ts';
import {
  type Attempt,
  type Entry,
  failed,
  failureCode,
  knownIds,
  readSample,
  unsupported,
  vectorsPerCall,
} from '../store-rows.ts';
import { MAX_CHUNKS, type NearestRequest } from '../vector-store.ts';
import { type Dialect, dialectOf, type EngineConfig, type Scoring } from './dialects.ts';

const DEFAULT_WINDOW = 10_000;

/**
 * Reads the mapping and the settings, with one call each.
 *
 * @param field name of the vector field
 */
async function readIndex(calls: StoreCalls, dialect: Dialect, index: string, field: string, attempt: Attempt) {
  const missing = `there is no index or alias ${index}; check ${calls.configField}.index`;
  const get = (path: string, query: Readonly<Record<string, string>>) =>
    calls.json(
      { method: 'GET', path: `/${encodeURIComponent(index)}${path}`, query, purpose: 'metadata request', missing },
      attempt,
    );
  const mappings = fieldsOf(await get('/_mapping', {}));
  const settings = fieldsOf(await get('/_settings', { flat_settings: 'true' }));
  const names = Object.keys(mappings).toSorted();
  // The newest index receives the writes.
  const newest = names.at(-1);
  if (newest === undefined) throw calls.unexpected('metadata request', 'mappings');
  const properties = at(mappings, newest, 'mappings', 'properties');
  const mapping = fieldMapping(properties, field);
  if (mapping === null) {
    const fix = `check ${calls.configField}.embedding`;
    throw failed('vector_unknown', `${calls.service} index ${newest} has no field ${field}; ${fix}.`);
  }
  const settingsOf = (name: string): Fields => fieldsOf(at(settings, name, 'settings'));
  const vectorField = dialect.readField(field, mapping, settingsOf(newest));
  const windows = names.map((name) => numberOf(settingsOf(name)['index.max_result_window']) ?? DEFAULT_WINDOW);
  return {
    ...vectorField,
    /** Number of indexes behind the configured name, which may be an alias. */
    indexes: names.length,
    /** Maximum number of results per search. */
    window: Math.min(...windows),
    traits: {
      index: names.join(','),
      index_uuid: names.map((name) => textOf(settingsOf(name)['index.uuid']) ?? '').join(','),
      mapping: settingsHash(names.map((name) => fieldMapping(at(mappings, name, 'mappings', 'properties'), field))),
      settings: settingsHash(names.map((name) => steadySettings(settingsOf(name)))),
      metric: vectorField.metric,
    },
    /** Returns the field to use for exact matches: the field itself, or the keyword subfield of a text field. */
    exactField: (name: string): string => {
      const mapped = fieldMapping(properties, name);
      return mapped?.['type'] === 'text' && at(mapped, 'fields', 'keyword') !== undefined ? `${name}.keyword` : name;
    },
  };
}

/**
 * Returns the mapping of one field, which may be nested in objects. Other fields are ignored, because dynamic mapping
 * adds fields as documents arrive.
 */
function fieldMapping(properties: unknown, name: string): Fields | null {
  let inner: unknown = properties;
  const direct = fieldAt(properties, name);
  if (direct !== undefined && fieldsOf(direct)['type'] !== undefined) return fieldsOf(direct);
  let mapping: Fields | null = null;
  for (const part of name.split('.')) {
    const found = fieldsOf(inner)[part];
    if (found === undefined) return null;
    if (fieldsOf(found)['type'] === 'nested') {
      throw unsupported(`The nested field ${name} has several vectors per document; recalld supports only one.`);
    }
    mapping = fieldsOf(found);
    inner = mapping['properties'] ?? mapping['fields'];
  }
  return mapping;
}

/** Returns the settings that stay the same during writes and cluster operations. */
function steadySettings(settings: Fields): Fields {
  const steady = /^index\.(knn|codec|number_of_shards|version\.created|mapping\.|sort\.)/;
  return Object.fromEntries(Object.entries(settings).filter(([name]) => steady.test(name)));
}

const IDS_PER_CALL = 1000;

/**
 * Creates a store. Nothing is sent before the first call.
 *
 * A sample uses `random_score` over `_seq_no` with a seed. The sample is uniform over the documents that have a vector,
 * and stays the same until a document is written. A sample takes one call for the ids, one call per batch of up to
 * 1,000 vectors, and two calls for the mapping. One sample has at most `max_result_window` documents, by default
 * 10,000.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createSearchEngineStore(config: EngineConfig, configField: string) {
  const dialect = dialectOf(config);
  const { index, embedding, id: idField, content, version, api_key: key, username, password } = config;
  const credentials = key === undefined ? basic(username, password) : { authorization: `ApiKey ${key}` };
  const calls = createStoreCalls(dialect.name, config, configField, credentials, loginKey(config));
  const shapes = rememberShape(calls.service, (attempt) => readIndex(calls, dialect, index, embedding, attempt));

  const post = (path: string, body: Fields, purpose: string, attempt: Attempt, query: JsonCall['query'] = {}) => {
    const missing = `there is no index or alias ${index}; check ${configField}.index`;
    const place = `/${encodeURIComponent(index)}${path}`;
    return calls.json({ method: 'POST', path: place, query, body, purpose, missing }, attempt);
  };

  // Disallows partial results. Otherwise, a search in which a shard fails or times out would look like a search with
  // fewer results.
  const search = (body: Fields, purpose: string, attempt: Attempt) =>
    post('/_search', body, purpose, attempt, { allow_partial_search_results: 'false' });

  const hits = async (body: Fields, purpose: string, attempt: Attempt) =>
    listOf(at(await search(body, purpose, attempt), 'hits', 'hits'));

  const count = async (attempt: Attempt): Promise<number> => {
    const body = { query: { exists: { field: embedding } } };
    const counted = numberOf(at(await post('/_count', body, 'count', attempt), 'count'));
    if (counted === null) throw calls.unexpected('count', 'count');
    return counted;
  };

  /** Document fields to return in addition to the vector. */
  const sourcesOf = (...more: readonly (string | undefined)[]): readonly string[] =>
    [idField === '_id' ? undefined : idField, ...more].filter((name) => name !== undefined);

  const entryOf = (hit: unknown): Entry => {
    const source = at(hit, '_source');
    return {
      id: textOf(idField === '_id' ? at(hit, '_id') : fieldAt(source, idField)),
      vector: vectorOf(dialect.vectorIn(hit, embedding)),
      content: textAt(source, content),
      version: textAt(source, version),
    };
  };

  const comparingAll = (request: NearestRequest, scoring: Scoring, filters: readonly unknown[]): Fields => {
    const query = { bool: { filter: [{ exists: { field: embedding } }, ...filters] } };
    return { query: { script_score: { query, script: dialect.script(embedding, [...request.vector], scoring) } } };
  };

  return createRemoteStore({
    kind: config.kind,
    shapes,
    placeOf: {
      score: 'hits.hits[]._score',
      id: `field ${idField} of a hit`,
      vector: `field ${embedding} of a hit`,
    },
    ...calls,

    async search(shape, request, attempt) {
      if (!request.exact && !shape.isIndexed) {
        throw unsupported(
          `The field ${embedding} in ${calls.service} has no vector index, so only exact searches are possible.`,
        );
      }
      const filters = Object.entries(request.filter).map(([name, value]) => ({
        term: { [shape.exactField(name)]: value },
      }));
      const sources = sourcesOf(request.withContent === false ? undefined : content);
      const body = {
        size: request.k,
        ...(request.exact
          ? comparingAll(request, shape.scoreKind, filters)
          : dialect.approximate(embedding, request, filters)),
        ...dialect.returning(embedding, sources, request.withVector),
      };
      try {
        const found = await hits(body, 'search', attempt);
        return found.map((hit) => ({ ...entryOf(hit), score: numberOf(at(hit, '_score')) }));
      } catch (error) {
        if (!request.exact || failureCode(error) !== 'http_400') throw error;
        const fix = 'allow inline Painless scripts (script.allowed_types)';
        throw unsupported(`${calls.service} rejects the exact-search script (HTTP 400); ${fix}.`);
      }
    },

    async sample({ n, seed, withContent }, attempt) {
      const { window, dimensions, indexes } = await shapes.fresh(attempt);
      if (n > window && (await count(attempt)) > window) {
        throw unsupported(`${calls.service} samples at most ${window} documents at a time (max_result_window).`);
      }
      const draw = () => {
        const functions = [{ random_score: { seed, field: '_seq_no' } }];
        const query = {
          function_score: { query: { exists: { field: embedding } }, functions, boost_mode: 'replace' },
        };
        return hits({ size: Math.min(n, window), query, _source: false }, 'sample', attempt);
      };
      const drawn = n < 1 ? [] : await draw();
      const returning = dialect.returning(embedding, sourcesOf(withContent ? content : undefined), true);
      const perCall = vectorsPerCall(dimensions, IDS_PER_CALL);
      return readSample(drawn, perCall, withContent, true, async (portion) => {
        const query = { ids: { values: portion.map((hit) => textOf(at(hit, '_id'))) } };
        const body = { size: Math.min(window, portion.length * indexes), query, ...returning };
        const found = await hits(body, 'sample', attempt);
        const byKey = new Map(found.map((hit) => [keyOf(hit), hit]));
        return portion.map((hit) => entryOf(byKey.get(keyOf(hit))));
      });
    },

    async describe({ dimensions }, attempt) {
      const call = { method: 'GET', path: '/', purpose: 'version request' } as const;
      const number = textOf(at(await unlessForbidden(calls.json(call, attempt)), 'version', 'number'));
      const traits = { version: number ?? 'hidden', dimensions: String(dimensions ?? 'unknown') };
      return { traits, count: await count(attempt), isExactCount: true };
    },

    async existing(ids, attempt) {
      const possible = ids.filter((id) => id !== '');
      if (possible.length === 0) return new Set<string>();
      const { exactField, indexes } = await shapes.current(attempt);
      return knownIds(possible, IDS_PER_CALL, IDS_PER_CALL * indexes + 1, async (wanted) => {
        if (idField === '_id') {
          const body = { size: wanted.length * indexes, query: { ids: { values: wanted } }, _source: false };
          return (await hits(body, 'lookup of ids', attempt)).flatMap((hit) => entryOf(hit).id ?? []);
        }
        const field = exactField(idField);
        const aggs = { ids: { terms: { field, include: wanted, size: wanted.length } } };
        const body = { size: 0, query: { terms: { [field]: wanted } }, aggs };
        const answer = await search(body, 'lookup of ids', attempt);
        const buckets = listOf(at(answer, 'aggregations', 'ids', 'buckets'));
        return buckets.flatMap((bucket) => textOf(at(bucket, 'key')) ?? []);
      });
    },

    /** Lists the terms in the id field, in sorted order. */
    async list(from, attempt) {
      if (idField === '_id')
        throw unsupported(`${calls.service} can list the values of a keyword field, but not of _id.`);
      const { exactField } = await shapes.current(attempt);
      const sources = [{ id: { terms: { field: exactField(idField) } } }];
      const after = from === null ? {} : { after: { id: from } };
      const aggs = { ids: { composite: { size: IDS_PER_CALL, sources, ...after } } };
      const body = { size: 0, query: { exists: { field: embedding } }, aggs };
      const answer = at(await search(body, 'listing of ids', attempt), 'aggregations', 'ids');
      const ids = listOf(at(answer, 'buckets')).flatMap((bucket) => textOf(at(bucket, 'key', 'id')) ?? []);
      return { ids, next: textOf(at(answer, 'after_key', 'id')) };
    },

    async chunks(ids, attempt) {
      const { exactField, window } = await shapes.current(attempt);
      const query = idField === '_id' ? { ids: { values: ids } } : { terms: { [exactField(idField)]: ids } };
      const returning = dialect.returning(embedding, sourcesOf(content, version), false);
      const body = { size: Math.min(window, MAX_CHUNKS), query, ...returning };
      return (await hits(body, 'lookup of chunks', attempt)).map(entryOf);
    },
  });
}

/** Behind an alias, documents in several indexes may have the same `_id`. */
function keyOf(hit: unknown): string {
  return JSON.stringify([at(hit, '_index'), at(hit, '_id')]);
}
