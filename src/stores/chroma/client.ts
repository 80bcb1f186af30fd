/** Requests about one collection, which is found by its name and asked by its id. */
import type { JsonApiSettings } from '../../outbound/json-api.ts';
import { type Attempt, failureCode } from '../outcome.ts';
import { type RememberedShape, rememberShape } from '../remembered-shape.ts';
import { createStoreCalls, type StoreCalls } from '../store-calls.ts';
import { type Collection, readCollection } from './collection.ts';
import { type ChromaRecord, readRecords } from './records.ts';

export interface CollectionPlace {
  readonly tenant: string;
  readonly database: string;
  readonly collection: string;
}

export interface CollectionClient {
  readonly calls: StoreCalls;
  /** What the collection is, looked up by its name. */
  readonly shapes: RememberedShape<Collection>;
  count(attempt: Attempt): Promise<unknown>;
  query(body: object, attempt: Attempt): Promise<unknown>;
  /** Hands every id over, page by page. */
  listIds(take: (id: string) => void, attempt: Attempt): Promise<void>;
  /** Those of these ids that are there, in the order of the server, with parts such as `embeddings`. */
  get(ids: readonly string[], parts: readonly string[], attempt: Attempt): Promise<readonly ChromaRecord[]>;
  /** Version of the server. */
  version(attempt: Attempt): Promise<unknown>;
}

/** Ids alone are short. */
const IDS_PER_REQUEST = 5000;
/** A vector of 1,536 numbers is about 30 kB of JSON. */
const VECTORS_PER_REQUEST = 200;
/** The quota of Chroma Cloud, see docs.trychroma.com/cloud/quotas-limits; it answers 422 to more. */
const CLOUD_QUOTA = 300;

/** @throws RecalldError config_invalid for an address that cannot be called */
export function createCollectionClient(api: JsonApiSettings, place: CollectionPlace): CollectionClient {
  const calls = createStoreCalls(api);
  const [tenant, database] = [encodeURIComponent(place.tenant), encodeURIComponent(place.database)];
  const collections = `/api/v2/tenants/${tenant}/databases/${database}/collections`;
  let mostPerRequest = IDS_PER_REQUEST;

  const shapes = rememberShape<Collection>(calls.service, async (attempt) => {
    const path = `${collections}/${encodeURIComponent(place.collection)}`;
    const call = { method: 'GET', path, purpose: 'description', missing: missing(place, calls) } as const;
    const collection = readCollection(await calls.json(call, attempt));
    if (collection === null) throw calls.unexpected('description', 'id of a collection');
    return collection;
  });

  /** A collection that was made anew under its name has another id, and is looked for once more. */
  const ask = async (
    path: string,
    body: object | undefined,
    purpose: string,
    attempt: Attempt,
  ): Promise<unknown> => {
    const method = body === undefined ? 'GET' : 'POST';
    const send = ({ id }: Collection): Promise<unknown> =>
      calls.json({ method, path: `${collections}/${id}/${path}`, body, purpose }, attempt);
    try {
      return await send(await shapes.current(attempt));
    } catch (error) {
      if (failureCode(error) !== 'http_404') throw error;
      return send(await shapes.fresh(attempt));
    }
  };

  /** null when it was more than the server gives at once; the next one asks for less. */
  const getPage = async (
    page: { readonly limit: number; readonly include: readonly string[]; readonly [key: string]: unknown },
    purpose: string,
    attempt: Attempt,
  ): Promise<readonly ChromaRecord[] | null> => {
    try {
      const records = readRecords(await ask('get', page, purpose, attempt));
      if (records === null) throw calls.unexpected(purpose, 'ids');
      return records;
    } catch (error) {
      if (failureCode(error) !== 'http_422' || page.limit <= CLOUD_QUOTA) throw error;
      mostPerRequest = CLOUD_QUOTA;
      return null;
    }
  };

  return {
    calls,
    shapes,
    count: (attempt) => ask('count', undefined, 'count', attempt),
    query: (body, attempt) => ask('query', body, 'search', attempt),
    async listIds(take, attempt) {
      for (let offset = 0; ; ) {
        const page = await getPage({ include: [], limit: mostPerRequest, offset }, 'sample', attempt);
        if (page?.length === 0) return;
        for (const { id } of page ?? []) take(id);
        offset += page?.length ?? 0;
      }
    },
    async get(ids, parts, attempt) {
      const records: ChromaRecord[] = [];
      const purpose = parts.length === 0 ? 'check of ids' : 'sample';
      const most = parts.length === 0 ? IDS_PER_REQUEST : VECTORS_PER_REQUEST;
      for (let start = 0; start < ids.length; ) {
        const some = ids.slice(start, start + Math.min(most, mostPerRequest));
        const page = await getPage({ ids: some, include: parts, limit: some.length }, purpose, attempt);
        records.push(...(page ?? []));
        if (page !== null) start += some.length;
      }
      return records;
    },
    version: (attempt) => calls.json({ method: 'GET', path: '/api/v2/version', purpose: 'version' }, attempt),
  };
}

function missing({ collection, database, tenant }: CollectionPlace, { configField }: StoreCalls): string {
  const place = `${collection} in the database ${database} of ${tenant}`;
  return `there is no collection ${place}; check ${configField}.collection, .database, .tenant and .url`;
}
