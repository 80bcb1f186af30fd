/**
 * Pinecone over its data plane, API version 2026-04.
 *
 * Source: the types generated from Pinecone's OpenAPI description, src/pinecone-generated-ts-fetch/db_data of
 * github.com/pinecone-io/pinecone-ts-client, and docs.pinecone.io/reference/api.
 */

import type { JsonApiSettings } from '../../outbound/json-api.ts';
import { at, fieldAt, fieldsOf, listOf, numberOf, textOf, vectorOf } from '../../outbound/json-value.ts';
import { createReservoir } from '../../stats/random.ts';
import { sizeClass } from '../../vector/size-class.ts';
import { knownIds } from '../known-ids.ts';
import { needsVectors, toNearest } from '../neighbours.ts';
import { type Attempt, outcomeOf, outcomeOfScan, unsupported } from '../outcome.ts';
import { rememberShape } from '../remembered-shape.ts';
import { type StoredVector, toSample } from '../sampled-vectors.ts';
import { createStoreCalls } from '../store-calls.ts';
import type { NearestRequest, ScoreKind, VectorMetric, VectorStore } from '../vector-store.ts';

export interface PineconeSettings {
  /** The host of the index, with the header `Api-Key`. */
  readonly api: JsonApiSettings;
  /** Empty for the default one. */
  readonly namespace: string;
  /** Metadata key of the document id; left out, the id of the vector. */
  readonly idKey?: string | undefined;
  /** Metadata key of the text of a chunk. */
  readonly contentKey?: string | undefined;
}

interface IndexShape {
  readonly dimensions: number | null;
  readonly metric: VectorMetric;
  readonly scoreKind: ScoreKind;
  readonly count: number;
  readonly traits: Readonly<Record<string, string>>;
}

const API_VERSION = '2026-04';
/** Most ids of a page of the list. */
const PAGE = 100;
const MOST_PAGES = 10_000;
/** Ids travel in the address of the request, which may not be long. */
const FETCHED_IDS = 100;
const ADDRESS_LENGTH = 4000;

const metrics: Readonly<Record<string, { metric: VectorMetric; scoreKind: ScoreKind }>> = {
  cosine: { metric: 'cosine', scoreKind: 'cosine' },
  dotproduct: { metric: 'dot', scoreKind: 'dot' },
  euclidean: { metric: 'l2', scoreKind: 'squared_l2' },
};

/**
 * Creates the store; nothing is sent before the first call.
 *
 * Pinecone draws no random vectors. A sample reads the ids of the whole namespace, 100 a call and up to 1,000,000,
 * through a reservoir with the seed, then fetches up to 100 vectors a call: 1 read unit for each page and for each 10
 * vectors. Pod-based indexes cannot list ids. There is no exact search. Counts and lists lag behind writes by seconds.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createPineconeStore(settings: PineconeSettings): VectorStore {
  const { api, namespace, idKey, contentKey } = settings;
  const headers = { ...api.headers, 'x-pinecone-api-version': API_VERSION };
  const calls = createStoreCalls({ ...api, headers });
  const missing = `there is no such index; check ${calls.configField}.url, which is the host of the index`;
  const post = (path: string, body: unknown, purpose: string, attempt: Attempt): Promise<unknown> =>
    calls.json({ method: 'POST', path, body, purpose, missing }, attempt);

  const shapes = rememberShape<IndexShape>(calls.service, async (attempt) => {
    const stats = await post('/describe_index_stats', {}, 'description', attempt);
    const metric = textOf(at(stats, 'metric'));
    if (metric === null) throw calls.unexpected('description', 'metric');
    const kinds = metrics[metric];
    if (kinds === undefined || textOf(at(stats, 'vectorType')) === 'sparse') {
      throw unsupported(`The metric ${metric} of sparse vectors in Pinecone has no cosine.`);
    }
    const namespaces = fieldsOf(at(stats, 'namespaces'));
    // The default namespace is written in both ways.
    const summary = namespaces[namespace] ?? (namespace === '' ? namespaces['__default__'] : undefined);
    const dimensions = numberOf(at(stats, 'dimension'));
    const count = numberOf(at(summary, 'vectorCount')) ?? 0;
    const traits = {
      index: addressOf(api.url),
      namespace,
      metric,
      dimensions: String(dimensions ?? 'unknown'),
      size_class: sizeClass(count),
    };
    return { dimensions, ...kinds, count, traits };
  });

  const idOf = (vector: unknown): string | null =>
    textOf(idKey === undefined ? at(vector, 'id') : fieldAt(at(vector, 'metadata'), idKey));
  const contentOf = (vector: unknown): string | null =>
    contentKey === undefined ? null : textOf(fieldAt(at(vector, 'metadata'), contentKey));

  const search = async (shape: IndexShape, request: NearestRequest, attempt: Attempt) => {
    if (request.exact)
      throw unsupported('Pinecone compares with the vectors of its index only, never with all.');
    const conditions = Object.entries(request.filter).map(([key, value]) => [key, { $eq: value }]);
    const body = {
      namespace,
      vector: [...request.vector],
      topK: request.k,
      ...(conditions.length === 0 ? {} : { filter: Object.fromEntries(conditions) as unknown }),
      includeMetadata: idKey !== undefined || (request.withContent && contentKey !== undefined),
      includeValues: needsVectors(shape.scoreKind),
    };
    const matches = listOf(at(await post('/query', body, 'search', attempt), 'matches'));
    const hits = matches.map((match) => {
      const [id, score] = [idOf(match), numberOf(at(match, 'score'))];
      if (score === null) throw calls.unexpected('search', 'matches[].score');
      if (id === null) throw calls.unexpected('search', `metadata key ${idKey ?? 'id'} of a match`);
      return { id, score, vector: vectorOf(at(match, 'values')), content: contentOf(match) };
    });
    const nearest = toNearest(hits, shape.scoreKind, request);
    if (nearest === null) throw calls.unexpected('search', 'matches[].values');
    return nearest;
  };

  const walkedIds = async (n: number, seed: number, attempt: Attempt): Promise<string[]> => {
    const reservoir = createReservoir<string>(n, seed);
    let token: string | null = null;
    do {
      const next: Record<string, string> = token === null ? {} : { paginationToken: token };
      const query = { namespace, limit: String(PAGE), ...next };
      const call = { method: 'GET', path: '/vectors/list', query, purpose: 'sample', missing } as const;
      const answer = await calls.json(call, attempt);
      for (const vector of listOf(at(answer, 'vectors'))) {
        const id = textOf(at(vector, 'id'));
        if (id !== null) reservoir.offer(id);
      }
      token = textOf(at(answer, 'pagination', 'next'));
    } while (token !== null && token !== '');
    return reservoir.chosen();
  };

  /** Vectors by id, in the order of the ids. */
  const fetched = async (ids: readonly string[], purpose: string, attempt: Attempt): Promise<unknown[]> => {
    const vectors: unknown[] = [];
    for (const portion of inAddresses(ids)) {
      const query = { ids: portion, namespace };
      const call = { method: 'GET', path: '/vectors/fetch', query, purpose, missing } as const;
      const found = fieldsOf(at(await calls.json(call, attempt), 'vectors'));
      for (const id of portion) if (found[id] !== undefined) vectors.push(found[id]);
    }
    return vectors;
  };

  return {
    kind: 'pinecone',

    nearest: (request, signal) =>
      (request.exact ? outcomeOfScan : outcomeOf)(signal, (attempt) =>
        shapes.search(request.vector, attempt, (shape, inner) => search(shape, request, inner)),
      ),

    sample: ({ n, seed, withContent }, signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const { count } = await shapes.fresh(attempt);
        if (count > MOST_PAGES * PAGE) {
          throw unsupported(`A uniform sample of Pinecone reads every id, and ${count} are too many.`);
        }
        const ids = n < 1 || count === 0 ? [] : await walkedIds(n, seed, attempt);
        const stored = (await fetched(ids, 'sample', attempt)).flatMap((entry): StoredVector[] => {
          const [id, vector] = [idOf(entry), vectorOf(at(entry, 'values'))];
          if (id === null || vector === null) return [];
          return [{ id, vector, content: withContent ? contentOf(entry) : null }];
        });
        return toSample(stored, true);
      }),

    describe: (signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const { count, dimensions, metric, traits } = await shapes.fresh(attempt);
        return { count, isExactCount: false, dimensions, metric, traits };
      }),

    existing: (ids, signal) =>
      outcomeOf(signal, async (attempt) => {
        const possible = ids.filter((id) => id !== '');
        if (idKey === undefined) {
          const found = await fetched(possible, 'check of ids', attempt);
          return new Set(found.flatMap((vector) => textOf(at(vector, 'id')) ?? []));
        }
        return knownIds(possible, PAGE, PAGE, async (wanted, limit) => {
          const body = { namespace, filter: { [idKey]: { $in: wanted } }, limit };
          const answer = await post('/vectors/fetch_by_metadata', body, 'check of ids', attempt);
          return Object.values(fieldsOf(at(answer, 'vectors'))).flatMap((vector) => idOf(vector) ?? []);
        });
      }),

    close: async () => calls.close(),
  };
}

/** Host and path: a proxy may stand before several indexes. */
function addressOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname.replace(/\/+$/, '')}`;
}

/** Portions whose ids fit into the address of one request. */
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
