/** A vector store in Elasticsearch or OpenSearch. */

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
  settingsHash,
  unlessForbidden,
} from '../remote-store.ts';
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
} from '../store-rows.ts';
import {
  type ListedIds,
  MAX_CHUNKS,
  type NearestRequest,
  type SampledVectors,
  type SampleRequest,
  type ScoredMetric,
  type ScoreKind,
  type StoredChunk,
  type VectorStore,
} from '../vector-store.ts';

interface IndexShape extends VectorField {
  /** Number of indexes behind the configured name, which may be an alias. */
  readonly indexes: number;
  /** Maximum number of results per search. */
  readonly window: number;
  readonly traits: Readonly<Record<string, string>>;
  /** Returns the field for exact values: the field itself, or the keyword subfield of a text field. */
  readonly exactField: (name: string) => string;
}

const DEFAULT_WINDOW = 10_000;

/**
 * Reads the mapping and the settings, with one call each.
 *
 * @param field name of the vector field
 */
async function readIndex(
  calls: StoreCalls,
  dialect: Dialect,
  index: string,
  field: string,
  attempt: Attempt,
): Promise<IndexShape> {
  const missing = `there is no index or alias ${index}; check ${calls.configField}.index`;
  const get = (path: string, query: Readonly<Record<string, string>>) =>
    calls.json(
      { method: 'GET', path: `/${encodeURIComponent(index)}${path}`, query, purpose: 'description', missing },
      attempt,
    );
  const mappings = fieldsOf(await get('/_mapping', {}));
  const settings = fieldsOf(await get('/_settings', { flat_settings: 'true' }));
  const names = Object.keys(mappings).toSorted();
  // The newest index receives the writes.
  const newest = names.at(-1);
  if (newest === undefined) throw calls.unexpected('description', 'mappings');
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
    indexes: names.length,
    window: Math.min(...windows),
    traits: {
      index: names.join(','),
      index_uuid: names.map((name) => textOf(settingsOf(name)['index.uuid']) ?? '').join(','),
      mapping: settingsHash(names.map((name) => fieldMapping(at(mappings, name, 'mappings', 'properties'), field))),
      settings: settingsHash(names.map((name) => steadySettings(settingsOf(name)))),
      metric: vectorField.metric,
    },
    exactField(name) {
      const mapped = fieldMapping(properties, name);
      return mapped?.['type'] === 'text' && at(mapped, 'fields', 'keyword') !== undefined ? `${name}.keyword` : name;
    },
  };
}

/**
 * Returns the mapping of one field, which may be nested in objects. Dynamic mapping adds other fields as documents
 * arrive, so only this field counts.
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

/** Settings that neither writes nor cluster operations change. */
function steadySettings(settings: Fields): Fields {
  const steady = /^index\.(knn|codec|number_of_shards|version\.created|mapping\.|sort\.)/;
  return Object.fromEntries(Object.entries(settings).filter(([name]) => steady.test(name)));
}

/** Meaning of `_score`. */
export type Scoring = Extract<ScoreKind, 'shifted_cosine' | 'inverse_squared_l2' | 'shifted_dot'>;

export interface EngineMetric extends ScoredMetric {
  readonly scoreKind: Scoring;
}

interface VectorField extends EngineMetric {
  readonly dimensions: number | null;
  /** True if the field is indexed. Without an index, only a comparison with all vectors is possible. */
  readonly isIndexed: boolean;
}

/** The differences between Elasticsearch and OpenSearch. */
export interface Dialect {
  readonly kind: EngineConfig['kind'];
  readonly name: 'Elasticsearch' | 'OpenSearch';
  /**
   * Reads the mapping of a vector field. @throws Refused if the field does not contain vectors that recalld can compare
   *
   * @param settings flat index settings
   */
  readField(name: string, mapping: Fields, settings: Fields): VectorField;
  /** Returns the body of an index search. */
  approximate(field: string, request: NearestRequest, filters: readonly unknown[]): Fields;
  /** Returns a script that computes the index's score for every document. */
  script(field: string, vector: readonly number[], scoring: Scoring): Fields;
  /** Returns the options that make a search return the `source` fields and, if requested, the vector. */
  returning(field: string, source: readonly string[], withVector: boolean): Fields;
  vectorIn(hit: unknown, field: string): unknown;
}

const IDS_PER_CALL = 1000;

/** @throws RecalldError config_invalid for an address that cannot be called */
export function createSearchEngineStore(config: EngineConfig, configField: string, dialect: Dialect): VectorStore {
  const { index, embedding, id, api_key: key, username, password } = config;
  const calls = createStoreCalls(config, {
    service: dialect.name,
    configField,
    credentials: key === undefined ? basic(username, password) : { authorization: `ApiKey ${key}` },
    credentialsKey: loginKey(config),
  });
  const shapes = rememberShape(calls.service, (attempt) => readIndex(calls, dialect, index, embedding, attempt));
  const store: SearchEngine = { ...config, calls, dialect, shapes };
  return createRemoteStore({
    kind: dialect.kind,
    shapes,
    search: (shape, request, attempt) => searchNearest(store, shape, request, attempt),
    placeOf: {
      score: 'hits.hits[]._score',
      id: `field ${id} of a hit`,
      vector: `field ${embedding} of a hit`,
    },
    unexpected: calls.unexpected,
    sample: (request, attempt) => sample(store, request, attempt),
    describe: async ({ dimensions }, attempt) => ({
      traits: { version: await versionOf(store, attempt), dimensions: String(dimensions ?? 'unknown') },
      count: await count(store, attempt),
      isExactCount: true,
    }),
    existing: (ids, attempt) => existing(store, ids, attempt),
    list: (from, attempt) => list(store, from, attempt),
    chunks: (ids, attempt) => chunksOf(store, ids, attempt),
    close: calls.close,
  });
}

type EngineConfig = StoreConfigOf<'elasticsearch' | 'opensearch'>;

type SearchEngine = EngineConfig & {
  readonly calls: StoreCalls;
  readonly dialect: Dialect;
  readonly shapes: RememberedShape<IndexShape>;
};

function post(
  { calls, index }: SearchEngine,
  path: string,
  body: Fields,
  purpose: string,
  attempt: Attempt,
  query: JsonCall['query'] = {},
): Promise<unknown> {
  const missing = `there is no index or alias ${index}; check ${calls.configField}.index`;
  const call = { method: 'POST', path: `/${encodeURIComponent(index)}${path}`, query, body, purpose, missing } as const;
  return calls.json(call, attempt);
}

function search(store: SearchEngine, body: Fields, purpose: string, attempt: Attempt): Promise<unknown> {
  // Without this option, a search that timed out or lacks a shard would look like a search with fewer results.
  const query = { allow_partial_search_results: 'false' };
  return post(store, '/_search', body, purpose, attempt, query);
}

async function searchNearest(
  store: SearchEngine,
  shape: IndexShape,
  request: NearestRequest,
  attempt: Attempt,
): Promise<Hit[]> {
  const { calls, dialect, embedding } = store;
  if (!request.exact && !shape.isIndexed) {
    throw unsupported(`The field ${embedding} in ${calls.service} is mapped without an index for searches.`);
  }
  const filters = Object.entries(request.filter).map(([name, value]) => ({
    term: { [shape.exactField(name)]: value },
  }));
  const body = {
    size: request.k,
    ...(request.exact
      ? comparingAll(dialect, embedding, request, shape.scoreKind, filters)
      : dialect.approximate(embedding, request, filters)),
    ...dialect.returning(embedding, sourcesOf(store, request.withContent !== false), needsVectors(shape.scoreKind)),
  };
  try {
    return hitsOf(await search(store, body, 'search', attempt)).map((hit) => ({
      ...entryOf(store, hit),
      score: numberOf(at(hit, '_score')),
    }));
  } catch (error) {
    if (!request.exact || failureCode(error) !== 'http_400') throw error;
    const fix = 'allow inline Painless scripts (script.allowed_types)';
    throw unsupported(`${calls.service} rejects the script of an exact search with HTTP 400; ${fix}.`);
  }
}

async function count(store: SearchEngine, attempt: Attempt): Promise<number> {
  const body = { query: { exists: { field: store.embedding } } };
  const counted = numberOf(at(await post(store, '/_count', body, 'count', attempt), 'count'));
  if (counted === null) throw store.calls.unexpected('count', 'count');
  return counted;
}

async function sample(store: SearchEngine, request: SampleRequest, attempt: Attempt): Promise<SampledVectors> {
  const { n, seed, withContent } = request;
  const { calls, dialect, embedding } = store;
  const { window, dimensions, indexes } = await store.shapes.fresh(attempt);
  if (n > window && (await count(store, attempt)) > window) {
    throw unsupported(`${calls.service} samples at most ${window} documents at a time (max_result_window).`);
  }
  const drawn = n < 1 ? [] : await draw(store, Math.min(n, window), seed, attempt);
  const returning = dialect.returning(embedding, sourcesOf(store, withContent), true);
  const perCall = vectorsPerCall(dimensions, IDS_PER_CALL);
  return readSample(drawn, perCall, withContent, true, async (portion) => {
    const query = { ids: { values: portion.map((hit) => textOf(at(hit, '_id'))) } };
    const body = { size: Math.min(window, portion.length * indexes), query, ...returning };
    const found = hitsOf(await search(store, body, 'sample', attempt));
    const hits = new Map(found.map((hit) => [keyOf(hit), hit]));
    return portion.map((hit) => entryOf(store, hits.get(keyOf(hit))));
  });
}

async function draw(store: SearchEngine, size: number, seed: number, attempt: Attempt): Promise<readonly unknown[]> {
  const functions = [{ random_score: { seed, field: '_seq_no' } }];
  const query = {
    function_score: { query: { exists: { field: store.embedding } }, functions, boost_mode: 'replace' },
  };
  return hitsOf(await search(store, { size, query, _source: false }, 'sample', attempt));
}

async function versionOf({ calls }: SearchEngine, attempt: Attempt): Promise<string> {
  const call = { method: 'GET', path: '/', purpose: 'version' } as const;
  return textOf(at(await unlessForbidden(calls.json(call, attempt)), 'version', 'number')) ?? 'hidden';
}

async function existing(store: SearchEngine, ids: readonly string[], attempt: Attempt): Promise<ReadonlySet<string>> {
  const possible = ids.filter((id) => id !== '');
  if (possible.length === 0) return new Set<string>();
  const { exactField, indexes } = await store.shapes.current(attempt);
  return knownIds(possible, IDS_PER_CALL, IDS_PER_CALL * indexes + 1, async (wanted) => {
    if (store.id === '_id') {
      const body = { size: wanted.length * indexes, query: { ids: { values: wanted } }, _source: false };
      const found = hitsOf(await search(store, body, 'check of ids', attempt));
      return found.flatMap((hit) => entryOf(store, hit).id ?? []);
    }
    const field = exactField(store.id);
    const aggs = { ids: { terms: { field, include: wanted, size: wanted.length } } };
    const body = { size: 0, query: { terms: { [field]: wanted } }, aggs };
    const answer = await search(store, body, 'check of ids', attempt);
    const buckets = listOf(at(answer, 'aggregations', 'ids', 'buckets'));
    return buckets.flatMap((bucket) => textOf(at(bucket, 'key')) ?? []);
  });
}

/** Lists the terms in the id field, in sorted order. */
async function list(store: SearchEngine, from: string | null, attempt: Attempt): Promise<ListedIds> {
  const { calls, id } = store;
  if (id === '_id') throw unsupported(`${calls.service} lists the values of a keyword field, but not _id.`);
  const { exactField } = await store.shapes.current(attempt);
  const sources = [{ id: { terms: { field: exactField(id) } } }];
  const after = from === null ? {} : { after: { id: from } };
  const aggs = { ids: { composite: { size: IDS_PER_CALL, sources, ...after } } };
  const body = { size: 0, query: { exists: { field: store.embedding } }, aggs };
  const answer = at(await search(store, body, 'list of ids', attempt), 'aggregations', 'ids');
  const ids = listOf(at(answer, 'buckets')).flatMap((bucket) => textOf(at(bucket, 'key', 'id')) ?? []);
  return { ids, next: textOf(at(answer, 'after_key', 'id')) };
}

async function chunksOf(
  store: SearchEngine,
  ids: readonly string[],
  attempt: Attempt,
): Promise<readonly StoredChunk[]> {
  const { embedding, id, dialect, version } = store;
  const { exactField, window } = await store.shapes.current(attempt);
  const query = id === '_id' ? { ids: { values: ids } } : { terms: { [exactField(id)]: ids } };
  const source = [...sourcesOf(store, true), ...(version === undefined ? [] : [version])];
  const body = { size: Math.min(window, MAX_CHUNKS), query, ...dialect.returning(embedding, source, false) };
  const hits = hitsOf(await search(store, body, 'look-up of chunks', attempt));
  return toChunks(hits.map((hit) => entryOf(store, hit)));
}

/** Document fields to return in addition to the vector. */
function sourcesOf({ id, content }: SearchEngine, withContent: boolean): readonly string[] {
  return [id === '_id' ? undefined : id, withContent ? content : undefined].filter((name) => name !== undefined);
}

function entryOf({ id, content, version, embedding, dialect }: SearchEngine, hit: unknown): Entry {
  const source = at(hit, '_source');
  return {
    id: textOf(id === '_id' ? at(hit, '_id') : fieldAt(source, id)),
    vector: vectorOf(dialect.vectorIn(hit, embedding)),
    content: content === undefined ? null : textOf(fieldAt(source, content)),
    version: version === undefined ? null : textOf(fieldAt(source, version)),
  };
}

function comparingAll(
  dialect: Dialect,
  field: string,
  { vector }: NearestRequest,
  scoring: Scoring,
  filters: readonly unknown[],
): Fields {
  const query = { bool: { filter: [{ exists: { field } }, ...filters] } };
  return { query: { script_score: { query, script: dialect.script(field, [...vector], scoring) } } };
}

function hitsOf(answer: unknown): readonly unknown[] {
  return listOf(at(answer, 'hits', 'hits'));
}

/** Behind an alias, documents in several indexes may have the same `_id`. */
function keyOf(hit: unknown): string {
  return JSON.stringify([at(hit, '_index'), at(hit, '_id')]);
}
