/**
 * Qdrant over its REST interface.
 *
 * Source: Qdrant's OpenAPI description, docs/redoc/master/openapi.json in github.com/qdrant/qdrant.
 */
import {
  at,
  fieldAt,
  fieldsOf,
  keyHeader,
  listOf,
  numberOf,
  textAt,
  textOf,
  vectorOf,
} from '../../../platform/outbound/json-api.ts';
import type { StoreConfigOf } from '../config.ts';
import { createRemoteStore, createStoreCalls, rememberShape } from '../remote-store.ts';
import {
  type Attempt,
  chooseCounted,
  type Entry,
  inPortions,
  knownIds,
  readSample,
  vectorsPerCall,
} from '../store-rows.ts';
import { MAX_CHUNKS } from '../vector-store.ts';
import { readCollection } from './collection.ts';
import { equals, isAnyOf, mayBeIntegers, payloadPath } from './filter.ts';

const IDS_PER_CALL = 1000;
/** Maximum number of calls to list a collection with user-defined shards: enough for five million points. */
const MAX_PAGES = 5000;

/**
 * Creates the store. Nothing is sent before the first call.
 *
 * A sample takes one call for random ids and one call per batch of up to 1,000 vectors. The random ids cannot be
 * reproduced with a seed. The server samples each segment in proportion to its size, and assigns points to default
 * shards by the hash of their ids. Therefore, no topic is over-represented in a sample. User-defined shards can differ
 * in size, and the server does not compensate for this. To sample such shards, all ids are read in pages of 1,000, up
 * to 5,000,000 in total, and sampled with a seeded reservoir.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createQdrantStore(config: StoreConfigOf<'qdrant'>, configField: string) {
  const { collection, id: idKey, content, version, vector_name: vectorName } = config;
  const calls = createStoreCalls('Qdrant', config, configField, keyHeader('api-key', config.api_key));
  const shapes = rememberShape(calls.service, (attempt) => readCollection(calls, collection, vectorName, attempt));
  const path = `/collections/${encodeURIComponent(collection)}/points`;
  const missing = `there is no collection ${collection}; check ${configField}.collection`;
  // Requests even the unnamed vector by its name, which is empty, because the value `true` would also return sparse
  // vectors.
  const withVector = [vectorName ?? ''];

  const post = async (method: '' | '/query' | '/scroll', body: object, purpose: string, attempt: Attempt) =>
    at(await calls.json({ method: 'POST', path: `${path}${method}`, body, purpose, missing }, attempt), 'result');

  const scroll = async (from: string | null, payload: readonly string[] | false, purpose: string, attempt: Attempt) => {
    const [offset] = pointId(from);
    const start = offset === undefined ? {} : { offset };
    const body = { limit: IDS_PER_CALL, ...start, with_payload: payload, with_vector: false };
    const page = await post('/scroll', body, purpose, attempt);
    const next = textOf(at(page, 'next_page_offset'));
    return { points: listOf(at(page, 'points')), next: pointId(next).length === 0 ? null : next };
  };

  /** Returns the filter for points whose payload contains one of these document ids. */
  const withIds = async (key: string, ids: readonly string[], attempt: Attempt) => {
    const indexes = mayBeIntegers(ids) ? (await shapes.current(attempt)).indexes : new Map<string, string>();
    return { must: [isAnyOf(key, ids, indexes)] };
  };

  /**
   * The vector is null if the point does not have the named vector; such a point cannot be a neighbor. Qdrant returns
   * the unnamed vector directly, not under a name.
   */
  const entryOf = (point: unknown): Entry => {
    const { payload, vector } = fieldsOf(point);
    return {
      id: textOf(idKey === undefined ? at(point, 'id') : fieldAt(payload, idKey)),
      vector: vectorOf(vectorName === undefined ? vector : at(vector, vectorName)),
      content: textAt(payload, content),
      version: textAt(payload, version),
    };
  };

  return createRemoteStore({
    kind: 'qdrant',
    shapes,
    placeOf: {
      score: 'result.points[].score',
      id: `payload key ${idKey ?? 'id'} of a point`,
      vector: 'vectors',
    },
    ...calls,

    async search({ indexes }, request, attempt) {
      const conditions = Object.entries(request.filter).map(([name, value]) => equals(name, value, indexes));
      const body = {
        query: [...request.vector],
        ...(vectorName === undefined ? {} : { using: vectorName }),
        ...(conditions.length === 0 ? {} : { filter: { must: conditions } }),
        ...(request.exact ? { params: { exact: true } } : {}),
        limit: request.k,
        with_payload: pathsOf(idKey, request.withContent === false ? undefined : content),
        with_vector: request.withVector && withVector,
      };
      const points = listOf(at(await post('/query', body, 'search', attempt), 'points'));
      return points.map((point) => ({ ...entryOf(point), score: numberOf(at(point, 'score')) }));
    },

    async sample(request, attempt) {
      const { n, withContent } = request;
      const { dimensions, hasCustomShards, count } = await shapes.fresh(attempt);
      const randomIds = async () => {
        const body = { query: { sample: 'random' }, limit: n, with_payload: false, with_vector: false };
        return idsIn(listOf(at(await post('/query', body, 'sample', attempt), 'points')));
      };
      const because = 'from custom Qdrant shards requires reading every id, but the collection';
      const walkedIds = () =>
        chooseCounted(request, count, { most: MAX_PAGES * IDS_PER_CALL, because }, async (from: string | null) => {
          const { points, next } = await scroll(from, false, 'sample', attempt);
          return { ids: idsIn(points), next };
        });
      const drawn = hasCustomShards ? await walkedIds() : n < 1 ? [] : await randomIds();
      const perCall = vectorsPerCall(dimensions, IDS_PER_CALL);
      return readSample(drawn, perCall, withContent, hasCustomShards, async (ids) => {
        const payload = pathsOf(idKey, withContent ? content : undefined);
        const points = await post('', { ids, with_payload: payload, with_vector: withVector }, 'sample', attempt);
        return listOf(points).map(entryOf);
      });
    },

    describe: async ({ count }) => ({ count, isExactCount: false }),

    async existing(ids, attempt) {
      if (idKey !== undefined) {
        return knownIds(ids, 100, IDS_PER_CALL, async (wanted, limit) => {
          const filter = await withIds(idKey, wanted, attempt);
          const body = { filter, limit, with_payload: pathsOf(idKey), with_vector: false };
          const page = await post('/scroll', body, 'lookup of ids', attempt);
          return listOf(at(page, 'points')).flatMap((point) => entryOf(point).id ?? []);
        });
      }
      const known = new Set<string>();
      const possible = ids.filter((id) => pointId(id).length > 0);
      for (const portion of inPortions(possible, IDS_PER_CALL)) {
        const body = { ids: portion.flatMap(pointId), with_payload: false, with_vector: false };
        const points = listOf(await post('', body, 'lookup of ids', attempt));
        const found = new Set(points.map((point) => canonicalId(textOf(at(point, 'id')) ?? '')));
        for (const id of portion) if (found.has(canonicalId(id))) known.add(id);
      }
      return known;
    },

    async list(from, attempt) {
      const { points, next } = await scroll(from, pathsOf(idKey), 'listing of ids', attempt);
      return { ids: points.flatMap((point) => entryOf(point).id ?? []), next };
    },

    async chunks(ids, attempt) {
      const shown = { with_payload: pathsOf(idKey, content, version), with_vector: false };
      const purpose = 'lookup of chunks';
      if (idKey === undefined) {
        const body = { ids: ids.flatMap(pointId).slice(0, MAX_CHUNKS), ...shown };
        const asked = new Map(ids.map((id) => [canonicalId(id), id]));
        const found = listOf(await post('', body, purpose, attempt)).map(entryOf);
        return found.map((entry) => ({ ...entry, id: asked.get(canonicalId(entry.id ?? '')) ?? entry.id }));
      }
      const body = { filter: await withIds(idKey, ids, attempt), limit: MAX_CHUNKS, ...shown };
      return listOf(at(await post('/scroll', body, purpose, attempt), 'points')).map(entryOf);
    },
  });
}

function pathsOf(...names: readonly (string | undefined)[]): readonly string[] | false {
  const paths = names.flatMap((name) => (name === undefined ? [] : [payloadPath(name)]));
  return paths.length > 0 && paths;
}

type PointId = string | number | bigint;

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/**
 * Returns a list with the id in Qdrant's form, a 64-bit integer or a UUID. Returns an empty list for any other string,
 * which cannot be a point id.
 */
function pointId(text: string | null): [PointId] | [] {
  if (text === null) return [];
  if (UUID.test(text)) return [text];
  if (!/^(0|[1-9]\d{0,19})$/.test(text)) return [];
  const long = BigInt(text);
  if (long >= 2n ** 64n) return [];
  return [Number.isSafeInteger(Number(text)) ? Number(text) : long];
}

/** Qdrant returns UUIDs in lower case with hyphens, regardless of their form in the request. */
function canonicalId(id: string): string {
  return UUID.test(id) ? id.replaceAll('-', '').toLowerCase() : id;
}

function idsIn(points: readonly unknown[]) {
  return points.flatMap((point) => pointId(textOf(at(point, 'id'))));
}
