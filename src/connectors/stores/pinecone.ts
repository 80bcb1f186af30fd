/**
 * Pinecone over its data plane, API version 2026-04.
 *
 * Source: the types generated from Pinecone's OpenAPI description, src/pinecone-generated-ts-fetch/db_data in
 * github.com/pinecone-io/pinecone-ts-client, and docs.pinecone.io/reference/api.
 */

import {
  at,
  fieldAt,
  fieldsOf,
  type JsonCall,
  keyHeader,
  listOf,
  numberOf,
  textAt,
  textOf,
  vectorOf,
} from '../../platform/outbound/json-api.ts';
import type { StoreConfigOf } from './config.ts';
import { createRemoteStore, createStoreCalls, rememberShape } from './remote-store.ts';
import {
  type Attempt,
  chooseCounted,
  chunksInPortions,
  type Entry,
  knownIds,
  toSample,
  unsupported,
} from './store-rows.ts';
import { type ListedIds, MAX_CHUNKS, type ScoredMetric } from './vector-store.ts';

const API_VERSION = '2026-04';
/** Maximum number of ids or matches per page. */
const PAGE = 100;
const MAX_PAGES = 10_000;
/** Maximum number of ids per call; the ids are part of the request URL, whose length is limited. */
const FETCHED_IDS = 100;
const ADDRESS_LENGTH = 4000;
/** Number of documents whose chunks are requested in one call; small enough for the chunks to fit on one page. */
const DOCUMENTS_PER_CALL = 5;

const metrics: Readonly<Record<string, ScoredMetric>> = {
  cosine: { metric: 'cosine', scoreKind: 'cosine' },
  dotproduct: { metric: 'dot', scoreKind: 'dot' },
  euclidean: { metric: 'l2', scoreKind: 'squared_l2' },
};

/**
 * Creates the store. Nothing is sent before the first call.
 *
 * Pinecone cannot return random vectors. A sample reads the ids of the whole namespace (100 per call, up to 1,000,000
 * in total), chooses among them with a seeded reservoir, and then fetches up to 100 vectors per call. A sample costs 1
 * read unit per page of ids and 1 per 10 vectors. Pod-based indexes cannot list ids. Pinecone offers no exact search.
 * Counts and lists lag behind writes by seconds.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createPineconeStore(config: StoreConfigOf<'pinecone'>, configField: string) {
  const { namespace, id: idKey, content, version } = config;
  const headers = { ...config.headers, 'x-pinecone-api-version': API_VERSION };
  const credentials = keyHeader('api-key', config.api_key);
  const calls = createStoreCalls('Pinecone', { ...config, headers }, configField, credentials);
  const missing = `there is no such index; set ${configField}.url to the host of the index`;
  const ask = (call: JsonCall, attempt: Attempt) => calls.json({ missing, ...call }, attempt);

  const shapes = rememberShape(calls.service, async (attempt) => {
    const call = { method: 'POST', path: '/describe_index_stats', body: {}, purpose: 'metadata request' } as const;
    const stats = await ask(call, attempt);
    const metric = textOf(at(stats, 'metric'));
    if (metric === null) throw calls.unexpected('metadata request', 'metric');
    const kinds = metrics[metric];
    if (kinds === undefined || textOf(at(stats, 'vectorType')) === 'sparse') {
      throw unsupported(
        `Pinecone scores cannot be converted to a cosine: the metric ${metric} is not supported, or the vectors are sparse.`,
      );
    }
    const namespaces = fieldsOf(at(stats, 'namespaces'));
    // The default namespace has two names: `__default__` and the empty string.
    const summary = namespaces[namespace] ?? (namespace === '' ? namespaces['__default__'] : undefined);
    const dimensions = numberOf(at(stats, 'dimension'));
    const count = numberOf(at(summary, 'vectorCount')) ?? 0;
    const traits = { index: addressOf(config.url), namespace, metric, dimensions: String(dimensions ?? 'unknown') };
    return { dimensions, ...kinds, count, traits };
  });

  const pageOfKeys = async (token: string | null, purpose: string, attempt: Attempt): Promise<ListedIds> => {
    const next: Record<string, string> = token === null ? {} : { paginationToken: token };
    const query = { namespace, limit: String(PAGE), ...next };
    const answer = await ask({ method: 'GET', path: '/vectors/list', query, purpose }, attempt);
    const ids = listOf(at(answer, 'vectors')).flatMap((vector) => textOf(at(vector, 'id')) ?? []);
    return { ids, next: textOf(at(answer, 'pagination', 'next')) || null };
  };

  /** Returns vectors by id, in the order of the ids. */
  const fetched = async (ids: readonly string[], purpose: string, attempt: Attempt): Promise<Entry[]> => {
    const vectors: unknown[] = [];
    for (const portion of inAddresses(ids)) {
      const query = { ids: portion, namespace };
      const answer = await ask({ method: 'GET', path: '/vectors/fetch', query, purpose }, attempt);
      const found = fieldsOf(at(answer, 'vectors'));
      for (const id of portion) if (found[id] !== undefined) vectors.push(found[id]);
    }
    return vectors.map(entryOf);
  };

  const withIds = async (key: string, ids: readonly string[], purpose: string, attempt: Attempt): Promise<Entry[]> => {
    const body = { namespace, filter: { [key]: { $in: ids } }, limit: PAGE };
    const answer = await ask({ method: 'POST', path: '/vectors/fetch_by_metadata', body, purpose }, attempt);
    return Object.values(fieldsOf(at(answer, 'vectors'))).map(entryOf);
  };

  const entryOf = (vector: unknown): Entry => {
    const metadata = at(vector, 'metadata');
    return {
      id: textOf(idKey === undefined ? at(vector, 'id') : fieldAt(metadata, idKey)),
      vector: vectorOf(at(vector, 'values')),
      content: textAt(metadata, content),
      version: textAt(metadata, version),
    };
  };

  return createRemoteStore({
    kind: 'pinecone',
    shapes,
    placeOf: {
      score: 'matches[].score',
      id: `metadata key ${idKey ?? 'id'} of a match`,
      vector: 'matches[].values',
    },
    ...calls,

    async search(_, request, attempt) {
      if (request.exact) throw unsupported('Pinecone supports only approximate searches.');
      const conditions = Object.entries(request.filter).map(([key, value]) => [key, { $eq: value }]);
      const body = {
        namespace,
        vector: [...request.vector],
        topK: request.k,
        ...(conditions.length === 0 ? {} : { filter: Object.fromEntries(conditions) as unknown }),
        includeMetadata: idKey !== undefined || (request.withContent && content !== undefined),
        includeValues: request.withVector,
      };
      const answer = await ask({ method: 'POST', path: '/query', body, purpose: 'search' }, attempt);
      const matches = listOf(at(answer, 'matches'));
      return matches.map((match) => ({ ...entryOf(match), score: numberOf(at(match, 'score')) }));
    },

    async sample(request, attempt) {
      const { count } = await shapes.fresh(attempt);
      const limit = { most: MAX_PAGES * PAGE, because: 'from Pinecone requires reading every id, but the index' };
      const page = (from: string | null) => pageOfKeys(from, 'sample', attempt);
      const ids = await chooseCounted(request, count, limit, page);
      return toSample(await fetched(ids, 'sample', attempt), request.withContent, true);
    },

    describe: async ({ count }) => ({ count, isExactCount: false }),

    async existing(ids, attempt) {
      const possible = ids.filter((id) => id !== '');
      const purpose = 'lookup of ids';
      if (idKey === undefined) return new Set(idsIn(await fetched(possible, purpose, attempt)));
      return knownIds(possible, PAGE, PAGE, async (wanted) => idsIn(await withIds(idKey, wanted, purpose, attempt)));
    },

    async list(from, attempt) {
      if (idKey === undefined) return pageOfKeys(from, 'listing of ids', attempt);
      throw unsupported('Pinecone can list vector ids, but not the values of a metadata key.');
    },

    async chunks(ids, attempt) {
      const purpose = 'lookup of chunks';
      if (idKey === undefined) return fetched(ids.slice(0, MAX_CHUNKS), purpose, attempt);
      return chunksInPortions(ids, DOCUMENTS_PER_CALL, (some) => withIds(idKey, some, purpose, attempt));
    },
  });
}

function idsIn(entries: readonly Entry[]): string[] {
  return entries.flatMap(({ id }) => id ?? []);
}

/** Returns the host and the path of an index, because a proxy may serve several indexes under one host. */
function addressOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname.replace(/\/+$/, '')}`;
}

/** Splits ids into groups that fit into the URL of one request. */
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
