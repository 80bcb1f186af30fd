/**
 * Qdrant over its REST interface.
 *
 * Source: the OpenAPI description of Qdrant, docs/redoc/master/openapi.json of github.com/qdrant/qdrant.
 */

import type { JsonApiSettings } from '../../outbound/json-api.ts';
import { at, fieldAt, listOf, numberOf, textOf, vectorOf } from '../../outbound/json-value.ts';
import { createReservoir } from '../../stats/random.ts';
import { knownIds } from '../known-ids.ts';
import { needsVectors, toNearest } from '../neighbours.ts';
import { type Attempt, outcomeOf, outcomeOfScan, unsupported } from '../outcome.ts';
import { rememberShape } from '../remembered-shape.ts';
import { inPortions, type StoredVector, toSample, vectorsPerCall } from '../sampled-vectors.ts';
import { createStoreCalls } from '../store-calls.ts';
import type { NearestRequest, VectorStore } from '../vector-store.ts';
import { type CollectionShape, readCollection } from './collection.ts';

export interface QdrantSettings {
  readonly api: JsonApiSettings;
  readonly collection: string;
  /** Named vector; left out, the unnamed one. */
  readonly vectorName?: string | undefined;
  /** Payload key of the document id; left out, the id of the point. */
  readonly idKey?: string | undefined;
  /** Payload key of the text of a chunk. */
  readonly contentKey?: string | undefined;
}

const IDS_PER_CALL = 1000;
/** Calls of the walk over a collection with shards of the user's own: five million points. */
const MOST_PAGES = 5000;

/**
 * Creates the store; nothing is sent before the first call.
 *
 * A sample is one call for random ids and one for each portion of up to 1,000 vectors. The server draws from each
 * segment by its size, and shards are parts by the hash of the point id, so no topic is preferred; there is no seed.
 * Shards by a key of the user can differ in size, for which the server does not make up: then all ids are read in
 * pages of 1,000, up to 5,000,000, through a reservoir, which has a seed.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createQdrantStore(settings: QdrantSettings): VectorStore {
  const { collection, vectorName, idKey, contentKey } = settings;
  const calls = createStoreCalls(settings.api);
  const points = `/collections/${encodeURIComponent(collection)}/points`;
  const missing = `there is no collection ${collection}; check ${calls.configField}.collection`;
  const shapes = rememberShape(calls.service, (attempt) =>
    readCollection(calls, collection, vectorName, attempt),
  );
  const payloadOf = (withContent: boolean): readonly string[] | false => {
    const keys = [idKey, withContent ? contentKey : undefined].filter((key) => key !== undefined);
    return keys.length > 0 && keys;
  };
  const withVector = vectorName === undefined ? true : [vectorName];

  const post = (path: string, body: unknown, purpose: string, attempt: Attempt): Promise<unknown> =>
    calls.json({ method: 'POST', path: `${points}${path}`, body, purpose, missing }, attempt);

  const idOf = (point: unknown): string | null =>
    textOf(idKey === undefined ? at(point, 'id') : fieldAt(at(point, 'payload'), idKey));
  const contentOf = (point: unknown): string | null =>
    contentKey === undefined ? null : textOf(fieldAt(at(point, 'payload'), contentKey));
  const vectorIn = (point: unknown): Float32Array | null =>
    vectorOf(vectorName === undefined ? at(point, 'vector') : at(point, 'vector', vectorName));

  const search = async (shape: CollectionShape, request: NearestRequest, attempt: Attempt) => {
    const conditions = Object.entries(request.filter).map(([key, value]) => ({ key, match: { value } }));
    const body = {
      query: [...request.vector],
      ...(vectorName === undefined ? {} : { using: vectorName }),
      ...(conditions.length === 0 ? {} : { filter: { must: conditions } }),
      ...(request.exact ? { params: { exact: true } } : {}),
      limit: request.k,
      with_payload: payloadOf(request.withContent),
      with_vector: needsVectors(shape.scoreKind) && withVector,
    };
    const answer = await post('/query', body, 'search', attempt);
    const hits = listOf(at(answer, 'result', 'points')).map((point) => {
      const [id, score] = [idOf(point), numberOf(at(point, 'score'))];
      if (score === null) throw calls.unexpected('search', 'result.points[].score');
      if (id === null) throw calls.unexpected('search', `payload key ${idKey ?? 'id'} of a point`);
      return { id, score, vector: vectorIn(point), content: contentOf(point) };
    });
    const nearest = toNearest(hits, shape.scoreKind, request);
    if (nearest === null) throw calls.unexpected('search', 'vectors');
    return nearest;
  };

  const randomIds = async (n: number, attempt: Attempt): Promise<PointId[]> => {
    const body = { query: { sample: 'random' }, limit: n, with_payload: false, with_vector: false };
    const answer = await post('/query', body, 'sample', attempt);
    return listOf(at(answer, 'result', 'points')).flatMap((point) => pointId(textOf(at(point, 'id'))));
  };

  const walkedIds = async (n: number, seed: number, attempt: Attempt): Promise<readonly PointId[]> => {
    const reservoir = createReservoir<PointId>(n, seed);
    let offset: PointId | undefined;
    do {
      const from = offset === undefined ? {} : { offset };
      const body = { limit: IDS_PER_CALL, ...from, with_payload: false, with_vector: false };
      const answer = await post('/scroll', body, 'sample', attempt);
      for (const point of listOf(at(answer, 'result', 'points'))) {
        for (const id of pointId(textOf(at(point, 'id')))) reservoir.offer(id);
      }
      [offset] = pointId(textOf(at(answer, 'result', 'next_page_offset')));
    } while (offset !== undefined);
    return reservoir.chosen();
  };

  return {
    kind: 'qdrant',

    nearest: (request, signal) =>
      (request.exact ? outcomeOfScan : outcomeOf)(signal, (attempt) =>
        shapes.search(request.vector, attempt, (shape, inner) => search(shape, request, inner)),
      ),

    sample: ({ n, seed, withContent }, signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const { dimensions, hasCustomShards, count } = await shapes.fresh(attempt);
        if (hasCustomShards && count > MOST_PAGES * IDS_PER_CALL) {
          throw unsupported(
            `A uniform sample over custom shards of Qdrant reads every id, and ${count} are too many.`,
          );
        }
        const ids =
          n < 1 ? [] : hasCustomShards ? await walkedIds(n, seed, attempt) : await randomIds(n, attempt);
        const stored: StoredVector[] = [];
        for (const portion of inPortions(ids, vectorsPerCall(dimensions, IDS_PER_CALL))) {
          const body = { ids: portion, with_payload: payloadOf(withContent), with_vector: withVector };
          for (const point of listOf(at(await post('', body, 'sample', attempt), 'result'))) {
            const [id, vector] = [idOf(point), vectorIn(point)];
            // A point without the named vector is no neighbour either.
            if (id !== null && vector !== null) {
              stored.push({ id, vector, content: withContent ? contentOf(point) : null });
            }
          }
        }
        return toSample(stored, hasCustomShards);
      }),

    describe: (signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const { count, dimensions, metric, traits } = await shapes.fresh(attempt);
        return { count, isExactCount: false, dimensions, metric, traits };
      }),

    existing: (ids, signal) =>
      outcomeOf(signal, async (attempt) => {
        if (idKey !== undefined) {
          return knownIds(ids, 100, IDS_PER_CALL, async (wanted, limit) => {
            const filter = { must: [{ key: idKey, match: { any: wanted } }] };
            const body = { filter, limit, with_payload: [idKey], with_vector: false };
            const answer = await post('/scroll', body, 'check of ids', attempt);
            return listOf(at(answer, 'result', 'points')).flatMap((point) => idOf(point) ?? []);
          });
        }
        const known = new Set<string>();
        const possible = ids.filter((id) => pointId(id).length > 0);
        for (const portion of inPortions(possible, IDS_PER_CALL)) {
          const body = { ids: portion.flatMap(pointId), with_payload: false, with_vector: false };
          const answer = await post('', body, 'check of ids', attempt);
          const found = new Set(
            listOf(at(answer, 'result')).map((point) => canonicalId(textOf(at(point, 'id')) ?? '')),
          );
          for (const id of portion) if (found.has(canonicalId(id))) known.add(id);
        }
        return known;
      }),

    close: async () => calls.close(),
  };
}

type PointId = string | number | bigint;

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/** The one id as Qdrant takes it, an integer of 64 bits or a UUID; none for any other text, which no point has. */
function pointId(text: string | null): [PointId] | [] {
  if (text === null) return [];
  if (UUID.test(text)) return [text];
  if (!/^(0|[1-9]\d{0,19})$/.test(text)) return [];
  const long = BigInt(text);
  if (long >= 2n ** 64n) return [];
  return [Number.isSafeInteger(Number(text)) ? Number(text) : long];
}

/** Qdrant writes a UUID in lower case with hyphens, however it was asked for. */
function canonicalId(id: string): string {
  return UUID.test(id) ? id.replaceAll('-', '').toLowerCase() : id;
}
