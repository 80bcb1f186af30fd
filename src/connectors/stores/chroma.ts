/** Chroma, over version 2 of its HTTP API, as described in a server's `/openapi.json`. */

import { at, fieldsOf, keyHeader, numberOf, textOf, vectorOf } from '../../platform/outbound/json-api.ts';
import type { StoreConfigOf } from './config.ts';
import { createRemoteStore, createStoreCalls, rememberShape } from './remote-store.ts';
import {
  type Attempt,
  chooseKeys,
  chunksInPortions,
  type Entry,
  failureCode,
  type Hit,
  knownIds,
  toSample,
} from './store-rows.ts';
import { MAX_CHUNKS, type ScoredMetric } from './vector-store.ts';

const squaredL2 = { metric: 'l2', scoreKind: 'squared_l2' } as const;

/** Metrics and score kinds, keyed by the value of Chroma's setting `space`, which is `l2` by default. */
const spaces: Readonly<Record<string, ScoredMetric>> = {
  cosine: { metric: 'cosine', scoreKind: 'cosine_distance' },
  l2: squaredL2,
  ip: { metric: 'dot', scoreKind: 'one_minus_dot' },
};

/** Returns null for anything that is not a collection description. */
function readCollection(answer: unknown) {
  const id = textOf(at(answer, 'id'));
  if (id === null) return null;
  const configuration = fieldsOf(at(answer, 'configuration_json'));
  const index = configuration['hnsw'] ?? configuration['spann'];
  const kinds = spaces[textOf(at(index, 'space')) ?? 'l2'] ?? squaredL2;
  return {
    id,
    dimensions: numberOf(at(answer, 'dimension')),
    ...kinds,
    traits: {
      collection: id,
      metric: kinds.metric,
      // Settings of the index and of the embedding function.
      configuration: JSON.stringify(configuration),
      // Metadata written by the owner, such as the index version.
      metadata: JSON.stringify(fieldsOf(at(answer, 'metadata'))),
    },
  };
}

interface Stored extends Entry {
  /** Chroma's id for the record. */
  readonly key: string;
}

type ChromaConfig = StoreConfigOf<'chroma'>;

/** Returns the records in a response, which has one list for each property; null if the response is malformed. */
function readRecords(answer: unknown, { id: idKey, version: versionKey }: ChromaConfig): Stored[] | null {
  const { ids, embeddings, documents, metadatas } = fieldsOf(answer);
  if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) return null;
  return ids.map((key, place) => ({
    key,
    id: idKey === undefined ? key : textOf(at(metadatas, place, idKey)),
    vector: vectorOf(at(embeddings, place)),
    content: textOf(at(documents, place)),
    version: versionKey === undefined ? null : textOf(at(metadatas, place, versionKey)),
  }));
}

/**
 * Returns the hits in the response to a query with one vector; null if the response is malformed. Each property of the
 * response has one list per query vector.
 */
function readHits(answer: unknown, keys: ChromaConfig): Hit[] | null {
  const parts = ['ids', 'embeddings', 'documents', 'metadatas', 'distances'].map((part) => [part, at(answer, part, 0)]);
  const { distances, ...lists } = Object.fromEntries(parts) as Record<string, unknown>;
  const records = readRecords(lists, keys);
  return records?.map((record, place) => ({ ...record, score: numberOf(at(distances, place)) })) ?? null;
}

type Where = Readonly<Record<string, unknown>>;

/**
 * Returns a condition that matches records in which every field of the filter has the required value. In Chroma, a
 * string never equals a number. The condition therefore matches a value that looks like a number or a boolean in two
 * forms: as a string, and as that number or boolean. Returns no condition for an empty filter.
 */
export function whereOf(filter: Readonly<Record<string, string>>): { readonly where?: Where } {
  const conditions = Object.entries(filter).map(([name, value]) => {
    const readings = readingsOf(value).map((reading) => ({ [name]: { $eq: reading } }));
    return oneOrJoined('$or', readings);
  });
  return conditions.length === 0 ? {} : { where: oneOrJoined('$and', conditions) };
}

/** Chroma rejects `$and` and `$or` with a single condition. */
function oneOrJoined(operator: '$and' | '$or', conditions: readonly Where[]): Where {
  const [only] = conditions;
  return conditions.length === 1 && only !== undefined ? only : { [operator]: conditions };
}

function readingsOf(value: string): (string | number | boolean)[] {
  return value === 'true' || value === 'false' ? [value, value === 'true'] : [value, ...numberIn(value)];
}

function numberIn(value: string): number[] {
  return value.trim() === value && value !== '' && Number.isFinite(Number(value)) ? [Number(value)] : [];
}

/** Maximum number of ids per request. The limit is high, because ids without vectors are short. */
const IDS_PER_REQUEST = 5000;
/** Maximum number of vectors per request. A vector of 1,536 numbers is about 30 kB of JSON. */
const VECTORS_PER_REQUEST = 200;
/**
 * Maximum number of records per request in Chroma Cloud (docs.trychroma.com/cloud/quotas-limits); larger requests fail
 * with status 422.
 */
const CLOUD_QUOTA = 300;
/** Maximum number of values in one condition. */
const VALUES_PER_REQUEST = 250;

interface Page {
  readonly limit: number;
  readonly include: readonly string[];
  readonly ids?: readonly string[];
  readonly offset?: number;
  readonly where?: Where;
}

/**
 * Opens a collection. Nothing is sent before the first call. The fields of a filter are metadata keys.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createChromaStore(config: ChromaConfig, configField: string) {
  const { tenant, database, collection: name, id: idKey } = config;
  const calls = createStoreCalls('Chroma', config, configField, keyHeader('x-chroma-token', config.api_key));
  const collections = `/api/v2/tenants/${encodeURIComponent(tenant)}/databases/${encodeURIComponent(database)}/collections`;
  const placeOf = { score: 'ids with distances', id: 'ids with distances', vector: 'embeddings' };
  const metadata = idKey === undefined ? [] : ['metadatas'];
  /** Maximum number of records per request, reduced when the server rejects a request as too large. */
  let maxPerRequest = IDS_PER_REQUEST;

  const shapes = rememberShape(calls.service, async (attempt) => {
    const place = `${name} in the database ${database} of ${tenant}`;
    const missing = `there is no collection ${place}; check ${configField}.collection, .database, .tenant and .url`;
    const path = `${collections}/${encodeURIComponent(name)}`;
    const answer = await calls.json({ method: 'GET', path, purpose: 'metadata request', missing }, attempt);
    const collection = readCollection(answer);
    if (collection === null) throw calls.unexpected('metadata request', 'id of a collection');
    return collection;
  });

  /**
   * Sends a request to the collection. If the collection is not found, looks up its id and retries once, because a
   * recreated collection has the same name but a different id.
   */
  const ask = async (path: string, purpose: string, body: unknown, attempt: Attempt): Promise<unknown> => {
    const method = body === undefined ? 'GET' : 'POST';
    const send = ({ id }: { readonly id: string }) =>
      calls.json({ method, path: `${collections}/${id}/${path}`, body, purpose }, attempt);
    try {
      return await send(await shapes.current(attempt));
    } catch (error) {
      if (failureCode(error) !== 'http_404') throw error;
      return send(await shapes.fresh(attempt));
    }
  };

  /** Reads a page. Returns null if the page was larger than the server allows; the next page is then smaller. */
  const tryPage = async (page: Page, purpose: string, attempt: Attempt): Promise<readonly Stored[] | null> => {
    try {
      const records = readRecords(await ask('get', purpose, page, attempt), config);
      if (records === null) throw calls.unexpected(purpose, 'ids');
      return records;
    } catch (error) {
      if (failureCode(error) !== 'http_422' || page.limit <= CLOUD_QUOTA) throw error;
      maxPerRequest = CLOUD_QUOTA;
      return null;
    }
  };

  const getPage = async (page: Page, purpose: string, attempt: Attempt): Promise<readonly Stored[]> => {
    const shorter = (): Page => ({ ...page, limit: Math.min(page.limit, maxPerRequest) });
    return (await tryPage(page, purpose, attempt)) ?? (await tryPage(shorter(), purpose, attempt)) ?? [];
  };

  const pageAt = async (from: string | null, include: readonly string[], purpose: string, attempt: Attempt) => {
    const offset = Number(from ?? 0);
    const records = await getPage({ include, limit: maxPerRequest, offset }, purpose, attempt);
    return { records, next: records.length === 0 ? null : String(offset + records.length) };
  };

  /** Finds the records of these documents by a metadata key. */
  const withIds = (key: string, ids: readonly string[], page: Page, attempt: Attempt) => {
    // As in a filter, an id that looks like a number may be stored as a number.
    const alternatives = [ids, ids.flatMap(numberIn)].filter((values) => values.length > 0);
    const conditions = alternatives.map((values) => ({ [key]: { $in: values } }));
    return getPage({ ...page, where: oneOrJoined('$or', conditions) }, 'lookup of ids', attempt);
  };

  /**
   * Returns the existing records with the given ids, in the server's order. `include` names the parts of a record to
   * return, such as `embeddings`.
   */
  const get = async (ids: readonly string[], include: readonly string[], attempt: Attempt): Promise<Stored[]> => {
    const records: Stored[] = [];
    const purpose = include.length === 0 ? 'lookup of ids' : 'sample';
    const most = include.length === 0 ? IDS_PER_REQUEST : VECTORS_PER_REQUEST;
    for (let start = 0; start < ids.length; ) {
      const some = ids.slice(start, start + Math.min(most, maxPerRequest));
      const page = await tryPage({ ids: some, include, limit: some.length }, purpose, attempt);
      records.push(...(page ?? []));
      if (page !== null) start += some.length;
    }
    return records;
  };

  return createRemoteStore({
    kind: 'chroma',
    shapes,
    noExactSearch: 'Chroma has no search that bypasses its index.',
    placeOf,
    ...calls,

    async search(_, request, attempt) {
      const body = {
        query_embeddings: [Array.from(request.vector)],
        n_results: request.k,
        include: [
          'distances',
          ...(request.withContent ? ['documents'] : []),
          ...metadata,
          ...(request.withVector ? ['embeddings'] : []),
        ],
        ...whereOf(request.filter),
      };
      const hits = readHits(await ask('query', 'search', body, attempt), config);
      if (hits === null) throw calls.unexpected('search', placeOf.id);
      return hits;
    },

    async sample({ n, seed, withContent }, attempt) {
      const chosen = await chooseKeys(n, seed, async (from: string | null) => {
        const { records, next } = await pageAt(from, [], 'sample', attempt);
        return { ids: records.map(({ key }) => key), next };
      });
      // If a write occurs during the listing, an id may be returned twice.
      const keys = [...new Set(chosen)];
      const parts = ['embeddings', ...metadata, ...(withContent ? ['documents'] : [])];
      const found = new Map((await get(keys, parts, attempt)).map((record) => [record.key, record]));
      // A record that was deleted since the listing is omitted.
      const drawn = keys.flatMap((key) => found.get(key) ?? []);
      return toSample(drawn, withContent, true);
    },

    async describe(_, attempt) {
      const count = numberOf(await ask('count', 'count', undefined, attempt));
      if (count === null) throw calls.unexpected('count', 'number of records');
      const call = { method: 'GET', path: '/api/v2/version', purpose: 'version request' } as const;
      return { count, isExactCount: true, traits: { chroma: textOf(await calls.json(call, attempt)) ?? 'unknown' } };
    },

    async existing(ids, attempt) {
      if (idKey === undefined) return new Set((await get(ids, [], attempt)).map(({ key }) => key));
      const limit = Math.min(IDS_PER_REQUEST, maxPerRequest);
      return knownIds(ids, Math.min(VALUES_PER_REQUEST, limit), limit, async (wanted) => {
        const page = await withIds(idKey, wanted, { limit, include: ['metadatas'] }, attempt);
        return page.flatMap(({ id }) => id ?? []);
      });
    },

    async list(from, attempt) {
      const { records, next } = await pageAt(from, metadata, 'listing of ids', attempt);
      return { ids: records.flatMap(({ id }) => id ?? []), next };
    },

    async chunks(ids, attempt) {
      const include = ['documents', 'metadatas'];
      if (idKey === undefined) return get(ids, include, attempt);
      const limit = Math.min(MAX_CHUNKS, maxPerRequest);
      return chunksInPortions(ids, VALUES_PER_REQUEST, (some) => withIds(idKey, some, { limit, include }, attempt));
    },
  });
}
