/** A vector store in Elasticsearch or OpenSearch. */
import type { JsonApiSettings } from '../../outbound/json-api.ts';
import {
  at,
  type Fields,
  fieldAt,
  fieldsOf,
  listOf,
  numberOf,
  textOf,
  vectorOf,
} from '../../outbound/json-value.ts';
import { sizeClass } from '../../vector/size-class.ts';
import { needsVectors, toNearest } from '../neighbours.ts';
import { type Attempt, failed, outcomeOf, outcomeOfScan, unsupported } from '../outcome.ts';
import { inPortions, knownIds, type StoredVector, toSample, vectorsPerCall } from '../portions.ts';
import { rememberShape } from '../remote-store.ts';
import { createStoreCalls, type StoreCalls, settingsHash, unlessForbidden } from '../store-calls.ts';
import type { NearestRequest, ScoreKind, VectorMetric, VectorStore } from '../vector-store.ts';

interface IndexShape extends VectorField {
  /** How many indexes the name stands for. */
  readonly indexes: number;
  /** Longest result of one search. */
  readonly window: number;
  readonly traits: Readonly<Record<string, string>>;
  /** The field to look up exact values of a field in: itself, or the keyword beside a text. */
  readonly exactField: (name: string) => string;
}

const DEFAULT_WINDOW = 10_000;

interface IndexName {
  readonly index: string;
  /** Field of the vector. */
  readonly field: string;
}

/** Two calls: the mapping and the settings. */
async function readIndex(
  calls: StoreCalls,
  dialect: Dialect,
  { index, field }: IndexName,
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
  // The newest index is the one that is written to.
  const newest = names.at(-1);
  if (newest === undefined) throw calls.unexpected('description', 'mappings');
  const properties = at(mappings, newest, 'mappings', 'properties');
  const mapping = fieldMapping(properties, field);
  if (mapping === null) {
    const wayOut = `check ${calls.configField}.embedding`;
    throw failed('vector_unknown', `${calls.service} index ${newest} has no field ${field}; ${wayOut}.`);
  }
  const settingsOf = (name: string): Fields => fieldsOf(at(settings, name, 'settings'));
  const vectorField = dialect.readField(field, mapping, settingsOf(newest));
  const windows = names.map(
    (name) => numberOf(settingsOf(name)['index.max_result_window']) ?? DEFAULT_WINDOW,
  );
  return {
    ...vectorField,
    indexes: names.length,
    window: Math.min(...windows),
    traits: {
      index: names.join(','),
      index_uuid: names.map((name) => textOf(settingsOf(name)['index.uuid']) ?? '').join(','),
      mapping: settingsHash(
        names.map((name) => fieldMapping(at(mappings, name, 'mappings', 'properties'), field)),
      ),
      settings: settingsHash(names.map((name) => steadySettings(settingsOf(name)))),
      metric: vectorField.metric,
    },
    exactField(name) {
      const mapped = fieldMapping(properties, name);
      return mapped?.['type'] === 'text' && at(mapped, 'fields', 'keyword') !== undefined
        ? `${name}.keyword`
        : name;
    },
  };
}

/** A field that may lie within objects; dynamic mapping adds others as documents come, so only this one counts. */
function fieldMapping(properties: unknown, name: string): Fields | null {
  let inner: unknown = properties;
  const direct = fieldAt(properties, name);
  if (direct !== undefined && fieldsOf(direct)['type'] !== undefined) return fieldsOf(direct);
  let mapping: Fields | null = null;
  for (const part of name.split('.')) {
    const found = fieldsOf(inner)[part];
    if (found === undefined) return null;
    if (fieldsOf(found)['type'] === 'nested') {
      throw unsupported(
        `Vectors in the nested field ${name} are several for each document; only one can be compared.`,
      );
    }
    mapping = fieldsOf(found);
    inner = mapping['properties'] ?? mapping['fields'];
  }
  return mapping;
}

/** Settings that no write and no operation of the cluster changes. */
function steadySettings(settings: Fields): Fields {
  const steady = /^index\.(knn|codec|number_of_shards|version\.created|mapping\.|sort\.)/;
  return Object.fromEntries(Object.entries(settings).filter(([name]) => steady.test(name)));
}

/** What `_score` is. */
export type Scoring = Extract<ScoreKind, 'shifted_cosine' | 'inverse_squared_l2' | 'shifted_dot'>;

export interface VectorField {
  readonly dimensions: number | null;
  readonly metric: VectorMetric;
  readonly scoring: Scoring;
  /** Whether the field has an index to search by; without one only a comparison with all vectors is possible. */
  readonly isIndexed: boolean;
}

export interface Dialect {
  readonly kind: string;
  /**
   * Reads the mapping of a vector field. @throws Refused for a field that holds no vectors we can compare
   *
   * @param settings of the index, flat
   */
  readField(name: string, mapping: Fields, settings: Fields): VectorField;
  /** Body of a search by the index. */
  approximate(field: string, request: NearestRequest, filters: readonly unknown[]): Fields;
  /** Script that gives every document the score that the index would give it. */
  script(field: string, vector: readonly number[], scoring: Scoring): Fields;
  /** What makes a search return the fields `source` and, if asked for, the vector. */
  returning(field: string, source: readonly string[], withVector: boolean): Fields;
  vectorIn(hit: unknown, field: string): unknown;
}

export interface SearchEngineSettings {
  readonly api: JsonApiSettings;
  /** Index or alias. */
  readonly index: string;
  /** Field of the vector. */
  readonly embedding: string;
  /** Field of the document id; `_id` is that of the engine. */
  readonly id: string;
  /** Field of the text of a chunk. */
  readonly content?: string | undefined;
}

const IDS_PER_CALL = 1000;

/** @throws RecalldError config_invalid for an address that cannot be called */
export function createSearchEngineStore(settings: SearchEngineSettings, dialect: Dialect): VectorStore {
  const { index, embedding, id: idField, content } = settings;
  const calls = createStoreCalls(settings.api);
  const path = `/${encodeURIComponent(index)}`;
  const missing = `there is no index or alias ${index}; check ${calls.configField}.index`;
  const shapes = rememberShape(calls.service, (attempt) =>
    readIndex(calls, dialect, { index, field: embedding }, attempt),
  );
  const search = (body: Fields, purpose: string, attempt: Attempt): Promise<unknown> => {
    // Without this, a search whose time is over, or that misses a shard, would look like one that found less.
    const query = { allow_partial_search_results: 'false' };
    return calls.json({ method: 'POST', path: `${path}/_search`, query, body, purpose, missing }, attempt);
  };
  const sources = (withContent: boolean): readonly string[] =>
    [idField === '_id' ? undefined : idField, withContent ? content : undefined].filter(
      (name) => name !== undefined,
    );
  const idOf = (hit: unknown): string | null =>
    textOf(idField === '_id' ? at(hit, '_id') : fieldAt(at(hit, '_source'), idField));
  const contentOf = (hit: unknown): string | null =>
    content === undefined ? null : textOf(fieldAt(at(hit, '_source'), content));
  const vectorIn = (hit: unknown): Float32Array | null => vectorOf(dialect.vectorIn(hit, embedding));

  const nearest = async (shape: IndexShape, request: NearestRequest, attempt: Attempt) => {
    if (!request.exact && !shape.isIndexed) {
      throw unsupported(
        `The field ${embedding} of ${calls.service} is mapped without an index to search by.`,
      );
    }
    const filters = Object.entries(request.filter).map(([name, value]) => ({
      term: { [shape.exactField(name)]: value },
    }));
    const body = {
      size: request.k,
      ...(request.exact
        ? comparingAll(dialect, embedding, request, shape.scoring, filters)
        : dialect.approximate(embedding, request, filters)),
      ...dialect.returning(embedding, sources(request.withContent), needsVectors(shape.scoring)),
    };
    const hits = hitsOf(await search(body, 'search', attempt)).map((hit) => {
      const [id, score] = [idOf(hit), numberOf(at(hit, '_score'))];
      if (score === null) throw calls.unexpected('search', 'hits.hits[]._score');
      if (id === null) throw calls.unexpected('search', `field ${idField} of a hit`);
      return { id, score, vector: vectorIn(hit), content: contentOf(hit) };
    });
    const found = toNearest(hits, shape.scoring, request);
    if (found === null) throw calls.unexpected('search', `field ${embedding} of a hit`);
    return found;
  };

  const count = async (attempt: Attempt): Promise<number> => {
    const body = { query: { exists: { field: embedding } } };
    const call = { method: 'POST', path: `${path}/_count`, body, purpose: 'count', missing } as const;
    const counted = numberOf(at(await calls.json(call, attempt), 'count'));
    if (counted === null) throw calls.unexpected('count', 'count');
    return counted;
  };

  const drawn = async (size: number, seed: number, attempt: Attempt): Promise<unknown[]> => {
    const random = { random_score: { seed, field: '_seq_no' }, boost_mode: 'replace' };
    const query = { function_score: { query: { exists: { field: embedding } }, ...random } };
    return [...hitsOf(await search({ size, query, _source: false }, 'sample', attempt))];
  };

  return {
    kind: dialect.kind,

    nearest: (request, signal) =>
      (request.exact ? outcomeOfScan : outcomeOf)(signal, (attempt) =>
        shapes.search(request.vector, attempt, (shape, inner) => nearest(shape, request, inner)),
      ),

    sample: ({ n, seed, withContent }, signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const { window, dimensions, indexes } = await shapes.fresh(attempt);
        if (n > window && (await count(attempt)) > window) {
          throw unsupported(
            `${calls.service} draws at most ${window} documents at a time (max_result_window).`,
          );
        }
        const chosen = n < 1 ? [] : await drawn(Math.min(n, window), seed, attempt);
        const stored: StoredVector[] = [];
        for (const portion of inPortions(chosen, vectorsPerCall(dimensions, IDS_PER_CALL))) {
          const query = { ids: { values: portion.map((hit) => textOf(at(hit, '_id'))) } };
          const size = Math.min(window, portion.length * indexes);
          const body = { size, query, ...dialect.returning(embedding, sources(withContent), true) };
          const hits = new Map(hitsOf(await search(body, 'sample', attempt)).map((hit) => [keyOf(hit), hit]));
          for (const key of portion.map(keyOf)) {
            const hit = hits.get(key);
            const [id, vector] = [idOf(hit), vectorIn(hit)];
            // It may have been deleted between the two calls.
            if (id === null || vector === null) continue;
            stored.push({ id, vector, content: withContent ? contentOf(hit) : null });
          }
        }
        return toSample(stored, true);
      }),

    describe: (signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const { dimensions, metric, traits } = await shapes.fresh(attempt);
        const version = await unlessForbidden(
          calls.json({ method: 'GET', path: '/', purpose: 'version' }, attempt),
        );
        const counted = await count(attempt);
        return {
          count: counted,
          isExactCount: true,
          dimensions,
          metric,
          traits: {
            ...traits,
            version: textOf(at(version, 'version', 'number')) ?? 'hidden',
            dimensions: String(dimensions ?? 'unknown'),
            size_class: sizeClass(counted),
          },
        };
      }),

    existing: (ids, signal) =>
      outcomeOf(signal, async (attempt) => {
        const possible = ids.filter((id) => id !== '');
        if (possible.length === 0) return new Set<string>();
        const { exactField, indexes } = await shapes.current(attempt);
        return knownIds(possible, IDS_PER_CALL, IDS_PER_CALL * indexes + 1, async (wanted) => {
          if (idField === '_id') {
            const body = {
              size: wanted.length * indexes,
              query: { ids: { values: wanted } },
              _source: false,
            };
            return hitsOf(await search(body, 'check of ids', attempt)).flatMap((hit) => idOf(hit) ?? []);
          }
          const field = exactField(idField);
          const aggs = { ids: { terms: { field, include: wanted, size: wanted.length } } };
          const body = { size: 0, query: { terms: { [field]: wanted } }, aggs };
          const answer = await search(body, 'check of ids', attempt);
          const buckets = listOf(at(answer, 'aggregations', 'ids', 'buckets'));
          return buckets.flatMap((bucket) => textOf(at(bucket, 'key')) ?? []);
        });
      }),

    close: async () => calls.close(),
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

/** Behind an alias, documents of several indexes may have the same `_id`. */
function keyOf(hit: unknown): string {
  return JSON.stringify([at(hit, '_index'), at(hit, '_id')]);
}
