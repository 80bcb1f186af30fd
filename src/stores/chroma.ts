/** The vector store Chroma, by version 2 of its HTTP API, which `/openapi.json` of a server describes. */
import type { JsonApiSettings } from '../outbound/json-api.ts';
import { at, type Fields, fieldsOf, listOf, numberOf, textOf, vectorOf } from '../outbound/json-value.ts';
import { createReservoir } from '../stats/reservoir.ts';
import { sizeClass } from '../vector/size-class.ts';
import { type Hit, needsVectors, toNearest } from './neighbours.ts';
import { type Attempt, failureCode, outcomeOf, outcomeOfScan, unsupported } from './outcome.ts';
import { type StoredVector, toSample } from './portions.ts';
import { type RememberedShape, rememberShape } from './remote-store.ts';
import { createStoreCalls, type StoreCalls } from './store-calls.ts';
import type {
  Nearest,
  NearestRequest,
  SampledVectors,
  SampleRequest,
  ScoreKind,
  StoreDescription,
  VectorMetric,
  VectorStore,
} from './vector-store.ts';

interface Collection {
  readonly id: string;
  /** null until the first vector came. */
  readonly dimensions: number | null;
  readonly metric: VectorMetric;
  readonly scoreKind: ScoreKind;
  /** Settings of the index and of what embeds its documents. */
  readonly configuration: Fields;
  /** What its owner wrote about it, such as the version of the index. */
  readonly metadata: Fields;
}

const squaredL2 = { metric: 'l2', scoreKind: 'squared_l2' } as const;

/** By what Chroma calls a space; it takes l2 unless told. */
const spaces: Readonly<Record<string, Pick<Collection, 'metric' | 'scoreKind'>>> = {
  cosine: { metric: 'cosine', scoreKind: 'cosine_distance' },
  l2: squaredL2,
  ip: { metric: 'dot', scoreKind: 'one_minus_dot' },
};

/** null when it is no description of a collection. */
function readCollection(answer: unknown): Collection | null {
  const id = textOf(at(answer, 'id'));
  if (id === null) return null;
  const configuration = fieldsOf(at(answer, 'configuration_json'));
  const index = configuration['hnsw'] ?? configuration['spann'];
  return {
    id,
    dimensions: numberOf(at(answer, 'dimension')),
    ...(spaces[textOf(at(index, 'space')) ?? 'l2'] ?? squaredL2),
    configuration,
    metadata: fieldsOf(at(answer, 'metadata')),
  };
}

interface ChromaRecord {
  readonly id: string;
  readonly vector: Float32Array | null;
  readonly document: string | null;
}

/** The answer to a get; null when it is none. */
function readRecords(answer: unknown): ChromaRecord[] | null {
  const { ids, embeddings, documents } = fieldsOf(answer);
  if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) return null;
  return ids.map((id, place) => ({
    id,
    vector: vectorOf(at(embeddings, place)),
    document: textOf(at(documents, place)),
  }));
}

/** The answer to a query with one vector, whose parts have a list for each vector; null when it is none. */
function readHits(answer: unknown): Hit[] | null {
  const [ids, embeddings, documents, distances] = ['ids', 'embeddings', 'documents', 'distances'].map(
    (part) => at(answer, part, 0),
  );
  const hits = readRecords({ ids, embeddings, documents })?.flatMap(({ id, vector, document }, place) => {
    const score = numberOf(at(distances, place));
    return score === null ? [] : [{ id, score, vector, content: document }];
  });
  return hits === undefined || hits.length < listOf(ids).length ? null : hits;
}

type Where = Readonly<Record<string, unknown>>;

/**
 * Each field must have its value. Chroma compares no text with a number, so a value that reads as a number or as true
 * or false is looked for as both. Nothing for an empty filter.
 */
export function whereOf(filter: Readonly<Record<string, string>>): { readonly where?: Where } {
  const conditions = Object.entries(filter).map(([name, value]) => {
    const readings = readingsOf(value).map((reading) => ({ [name]: { $eq: reading } }));
    return oneOrJoined('$or', readings);
  });
  return conditions.length === 0 ? {} : { where: oneOrJoined('$and', conditions) };
}

/** Chroma refuses to join a single condition. */
function oneOrJoined(operator: '$and' | '$or', conditions: readonly Where[]): Where {
  const [only] = conditions;
  return conditions.length === 1 && only !== undefined ? only : { [operator]: conditions };
}

function readingsOf(value: string): (string | number | boolean)[] {
  if (value === 'true' || value === 'false') return [value, value === 'true'];
  const isNumber = value.trim() === value && value !== '' && Number.isFinite(Number(value));
  return isNumber ? [value, Number(value)] : [value];
}

interface CollectionPlace {
  readonly tenant: string;
  readonly database: string;
  readonly collection: string;
}

interface CollectionClient {
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
function createCollectionClient(api: JsonApiSettings, place: CollectionPlace): CollectionClient {
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

/** `vector_store` of kind `chroma`. */
interface ChromaSettings extends CollectionPlace {
  readonly api: JsonApiSettings;
}

/**
 * Opens a collection; nothing is asked before the first call. Filters name keys of the metadata.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createChromaStore({ api, ...place }: ChromaSettings): VectorStore {
  const client = createCollectionClient(api, place);
  return {
    kind: 'chroma',
    nearest: (request, signal) =>
      outcomeOf(signal, async (attempt) => {
        if (request.exact) throw unsupported('Chroma has no search that passes its index by.');
        return client.shapes.search(request.vector, attempt, (collection, inner) =>
          nearest(client, collection, request, inner),
        );
      }),
    sample: (request, signal) => outcomeOfScan(signal, (attempt) => sample(client, request, attempt)),
    describe: (signal) => outcomeOfScan(signal, (attempt) => describe(client, attempt)),
    existing: (ids, signal) =>
      outcomeOf(signal, async (attempt) => {
        return new Set((await client.get(ids, [], attempt)).map(({ id }) => id));
      }),
    close: async () => client.calls.close(),
  };
}

async function nearest(
  client: CollectionClient,
  { scoreKind }: Collection,
  request: NearestRequest,
  attempt: Attempt,
): Promise<Nearest> {
  const body = {
    query_embeddings: [Array.from(request.vector)],
    n_results: request.k,
    include: [
      'distances',
      ...(request.withContent ? ['documents'] : []),
      ...(needsVectors(scoreKind) ? ['embeddings'] : []),
    ],
    ...whereOf(request.filter),
  };
  const hits = readHits(await client.query(body, attempt));
  if (hits === null) throw client.calls.unexpected('search', 'ids with distances');
  const found = toNearest(hits, scoreKind, request);
  if (found === null) throw client.calls.unexpected('search', 'embeddings');
  return found;
}

/** Lists all ids, draws among them, and reads the vectors of those. */
async function sample(
  client: CollectionClient,
  { n, seed, withContent }: SampleRequest,
  attempt: Attempt,
): Promise<SampledVectors> {
  const reservoir = createReservoir<string>(n, seed);
  await client.listIds((id) => reservoir.offer(id), attempt);
  // A write while the ids are listed may show one twice.
  const ids = [...new Set(reservoir.chosen())];
  const parts = ['embeddings', ...(withContent ? ['documents'] : [])];
  const found = new Map((await client.get(ids, parts, attempt)).map((record) => [record.id, record]));
  // One that was deleted since it was listed is left out.
  const drawn = ids.flatMap((id): StoredVector[] => {
    const { vector = null, document = null } = found.get(id) ?? {};
    return vector === null ? [] : [{ id, vector, content: document }];
  });
  return toSample(drawn, true);
}

async function describe(client: CollectionClient, attempt: Attempt): Promise<StoreDescription> {
  const { id, dimensions, metric, configuration, metadata } = await client.shapes.fresh(attempt);
  const count = numberOf(await client.count(attempt));
  if (count === null) throw client.calls.unexpected('count', 'number of records');
  const traits = {
    chroma: textOf(await client.version(attempt)) ?? 'unknown',
    collection: id,
    metric,
    configuration: JSON.stringify(configuration),
    metadata: JSON.stringify(metadata),
    size_class: sizeClass(count),
  };
  return { count, isExactCount: true, dimensions, metric, traits };
}
