/**
 * Qdrant over its REST interface.
 *
 * Source: the OpenAPI description of Qdrant, docs/redoc/master/openapi.json of github.com/qdrant/qdrant.
 */
import type { JsonApiSettings } from '../outbound/json-api.ts';
import {
  at,
  type Fields,
  fieldAt,
  fieldsOf,
  listOf,
  numberOf,
  textOf,
  vectorOf,
} from '../outbound/json-value.ts';
import { createReservoir } from '../stats/reservoir.ts';
import { sizeClass } from '../vector/size-class.ts';
import { needsVectors, toNearest } from './neighbours.ts';
import { type Attempt, failed, outcomeOf, outcomeOfScan, unsupported } from './outcome.ts';
import { inPortions, knownIds, type StoredVector, toSample, vectorsPerCall } from './portions.ts';
import { rememberShape } from './remote-store.ts';
import { createStoreCalls, type StoreCalls, settingsHash, unlessForbidden } from './store-calls.ts';
import type { NearestRequest, ScoreKind, VectorMetric, VectorStore } from './vector-store.ts';

interface CollectionShape {
  readonly dimensions: number;
  readonly metric: VectorMetric;
  readonly scoreKind: ScoreKind;
  /** Points, an estimate of the server that is off while segments are merged. */
  readonly count: number;
  /** Shards by a key of the user, which may differ in size and in what they hold. */
  readonly hasCustomShards: boolean;
  readonly traits: Readonly<Record<string, string>>;
}

const distances: Readonly<Record<string, { metric: VectorMetric; scoreKind: ScoreKind }>> = {
  Cosine: { metric: 'cosine', scoreKind: 'cosine' },
  Dot: { metric: 'dot', scoreKind: 'dot' },
  Euclid: { metric: 'l2', scoreKind: 'l2' },
};

/** Calls: the collection, the aliases and the version; the last two may be forbidden. */
async function readCollection(
  calls: StoreCalls,
  collection: string,
  vectorName: string | undefined,
  attempt: Attempt,
): Promise<CollectionShape> {
  const missing = `there is no collection ${collection}; check ${calls.configField}.collection`;
  const path = `/collections/${encodeURIComponent(collection)}`;
  const answer = await calls.json({ method: 'GET', path, purpose: 'description', missing }, attempt);
  const config = fieldsOf(at(answer, 'result', 'config'));
  const params = fieldsOf(config['params']);
  const vector = chooseVector(params['vectors'], vectorName, collection, calls);
  const { size, distance } = vector;
  const dimensions = numberOf(size);
  if (dimensions === null) throw calls.unexpected('description', 'config.params.vectors');
  const name = textOf(distance) ?? '';
  const kinds = distances[name];
  if (kinds === undefined) throw unsupported(`Vectors under the distance ${name} of Qdrant have no cosine.`);
  if (vector['multivector_config'] != null) {
    throw unsupported('A Qdrant vector with multivector_config holds several vectors for each point.');
  }
  const count = numberOf(at(answer, 'result', 'points_count')) ?? 0;
  return {
    dimensions,
    ...kinds,
    count,
    hasCustomShards: params['sharding_method'] === 'custom',
    traits: {
      version: await versionOf(calls, attempt),
      collection: await aliasTarget(calls, collection, attempt),
      vector: settingsHash(vector),
      settings: settingsHash([params, config['hnsw_config'], config['quantization_config']]),
      metadata: settingsHash(config['metadata'] ?? null),
      dimensions: String(dimensions),
      distance: name,
      size_class: sizeClass(count),
    },
  };
}

function chooseVector(
  vectors: unknown,
  name: string | undefined,
  collection: string,
  calls: StoreCalls,
): Fields {
  const named = fieldsOf(vectors);
  if (numberOf(named['size']) !== null) return named;
  if (Object.keys(named).length === 0) throw calls.unexpected('description', 'config.params.vectors');
  const chosen = name === undefined ? undefined : named[name];
  if (chosen !== undefined) return fieldsOf(chosen);
  const known = Object.keys(named).toSorted().join(', ');
  const problem = name === undefined ? 'has only named vectors' : `has no vector named ${name}`;
  throw failed(
    'vector_unknown',
    `Qdrant collection ${collection} ${problem}; set ${calls.configField}.vector_name to one of: ${known}.`,
  );
}

async function versionOf(calls: StoreCalls, attempt: Attempt): Promise<string> {
  const answer = await unlessForbidden(calls.json({ method: 'GET', path: '/', purpose: 'version' }, attempt));
  return textOf(at(answer, 'version')) ?? 'hidden';
}

/** The collection behind an alias, so that a switch of the alias to a new collection is seen. */
async function aliasTarget(calls: StoreCalls, name: string, attempt: Attempt): Promise<string> {
  const answer = await unlessForbidden(
    calls.json({ method: 'GET', path: '/aliases', purpose: 'list of aliases' }, attempt),
  );
  const alias = listOf(at(answer, 'result', 'aliases')).find((entry) => at(entry, 'alias_name') === name);
  return textOf(at(alias, 'collection_name')) ?? name;
}

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
