/**
 * Weaviate over REST and GraphQL.
 *
 * Source: openapi-specs/schema.json of github.com/weaviate/weaviate, and the pages "Vector similarity search",
 * "Read all objects" and "Filters" of docs.weaviate.io.
 */

import type { JsonApiSettings } from '../../outbound/json-api.ts';
import { at, listOf, numberOf, textOf, vectorOf } from '../../outbound/json-value.ts';
import { createReservoir } from '../../stats/random.ts';
import { sizeClass } from '../../vector/size-class.ts';
import { knownIds } from '../known-ids.ts';
import { needsVectors, toNearest } from '../neighbours.ts';
import { type Attempt, failed, outcomeOf, outcomeOfScan, unsupported } from '../outcome.ts';
import { rememberShape } from '../remembered-shape.ts';
import { inPortions, type StoredVector, toSample, vectorsPerCall } from '../sampled-vectors.ts';
import { createStoreCalls, unlessForbidden } from '../store-calls.ts';
import type { NearestRequest, VectorStore } from '../vector-store.ts';
import { type CollectionSchema, equality, readSchema, whereAnyOf } from './collection.ts';
import {
  collectionName,
  countQuery,
  getQuery,
  graphqlName,
  nearVector,
  whereAll,
  whereIds,
} from './graphql.ts';

export interface WeaviateSettings {
  /** With the header `Authorization: Bearer KEY`. */
  readonly api: JsonApiSettings;
  readonly collection: string;
  readonly tenant?: string | undefined;
  /** Named vector; left out, the only one. */
  readonly vectorName?: string | undefined;
  /** Property of the document id; left out, the UUID of the object. */
  readonly id?: string | undefined;
  /** Property of the text of a chunk. */
  readonly content?: string | undefined;
}

interface Shape extends CollectionSchema {
  /** Of the first object, since a schema does not say. */
  readonly dimensions: number | null;
}

const PAGE = 1000;
const MOST_PAGES = 1000;
const IDS_PER_CALL = 100;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * Creates the store; nothing is sent before the first call.
 *
 * A sample reads the UUIDs of all objects by the cursor, 1,000 a call and up to 1,000,000, through a reservoir with
 * the seed, then up to 100 vectors a call. Objects behind random UUIDs would cost less, but the wider the gap before
 * an object, the likelier it would come. Searches go over GraphQL, since REST has none by vector and gRPC is another
 * protocol; a server without GraphQL cannot be used.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createWeaviateStore(settings: WeaviateSettings): VectorStore {
  const { tenant, vectorName, id: idProperty, content } = settings;
  const calls = createStoreCalls(settings.api);
  const vectorField = vectorName === undefined ? 'vector' : `vectors { ${vectorName} }`;

  const graphql = async (query: string, purpose: string, attempt: Attempt): Promise<unknown> => {
    const call = { method: 'POST', path: '/v1/graphql', body: { query }, purpose } as const;
    const answer = await calls.json(call, attempt);
    const errors = listOf(at(answer, 'errors'));
    if (errors.length === 0) return at(answer, 'data');
    // The text of an error is not shown, since it may repeat the query.
    const wayOut = `check ${calls.configField} and the properties of filters`;
    throw failed(
      'request_refused',
      `${calls.service} ${purpose} failed: GraphQL refused the query; ${wayOut}.`,
    );
  };
  const objects = async (
    args: readonly string[],
    properties: readonly string[],
    additional: readonly string[],
    purpose: string,
    attempt: Attempt,
  ): Promise<readonly unknown[]> => {
    const collection = collectionName(settings.collection);
    const query = getQuery({ collection, tenant, args, properties, additional });
    return listOf(at(await graphql(query, purpose, attempt), 'Get', collection));
  };
  const shapes = rememberShape<Shape>(calls.service, async (attempt) => {
    const schema = await readSchema(calls, collectionName(settings.collection), vectorName, attempt);
    if (vectorName !== undefined) graphqlName(vectorName);
    const [first] = await objects(['limit: 1'], [], ['id', vectorField], 'description', attempt);
    return { ...schema, dimensions: vectorIn(first)?.length ?? null };
  });

  const vectorIn = (object: unknown): Float32Array | null =>
    vectorOf(
      vectorName === undefined
        ? at(object, '_additional', 'vector')
        : at(object, '_additional', 'vectors', vectorName),
    );
  const idOf = (object: unknown): string | null =>
    textOf(idProperty === undefined ? at(object, '_additional', 'id') : at(object, idProperty));
  const contentOf = (object: unknown): string | null =>
    content === undefined ? null : textOf(at(object, content));
  const properties = (withContent: boolean): string[] =>
    [idProperty, withContent ? content : undefined].filter((name) => name !== undefined);

  const search = async (shape: Shape, request: NearestRequest, attempt: Attempt) => {
    if (request.exact && !shape.isFlat) {
      throw unsupported(
        'The index of this Weaviate collection is approximate; only a flat one compares with all.',
      );
    }
    const conditions = Object.entries(request.filter).map(([name, value]) => equality(shape, name, value));
    if (conditions.includes(null)) return { neighbours: [], isShort: true };
    const where = whereAll(conditions.filter((condition) => condition !== null));
    const args = [nearVector(request.vector, vectorName), `limit: ${request.k}`, ...where];
    const additional = ['id', 'distance', ...(needsVectors(shape.scoreKind) ? [vectorField] : [])];
    const found = await objects(args, properties(request.withContent), additional, 'search', attempt);
    const hits = found.map((object) => {
      const [id, score] = [idOf(object), numberOf(at(object, '_additional', 'distance'))];
      if (score === null) throw calls.unexpected('search', '_additional.distance');
      if (id === null) throw calls.unexpected('search', `property ${idProperty ?? 'id'} of an object`);
      return { id, score, vector: vectorIn(object), content: contentOf(object) };
    });
    const nearest = toNearest(hits, shape.scoreKind, request);
    if (nearest === null) throw calls.unexpected('search', '_additional.vector');
    return nearest;
  };

  const count = async (attempt: Attempt): Promise<number> => {
    const collection = collectionName(settings.collection);
    const data = await graphql(countQuery(collection, tenant), 'count', attempt);
    const counted = numberOf(at(data, 'Aggregate', collection, 0, 'meta', 'count'));
    if (counted === null) throw calls.unexpected('count', 'meta.count');
    return counted;
  };

  const walkedIds = async (n: number, seed: number, attempt: Attempt): Promise<string[]> => {
    const reservoir = createReservoir<string>(n, seed);
    for (let after = BEFORE_ALL; ; ) {
      const args = [`limit: ${PAGE}`, `after: "${after}"`];
      const page = await objects(args, [], ['id'], 'sample', attempt);
      const ids = page.flatMap((object) => textOf(at(object, '_additional', 'id')) ?? []);
      for (const id of ids) reservoir.offer(id);
      const last = ids.at(-1);
      if (last === undefined || page.length < PAGE) return reservoir.chosen();
      after = last;
    }
  };

  return {
    kind: 'weaviate',

    nearest: (request, signal) =>
      (request.exact ? outcomeOfScan : outcomeOf)(signal, (attempt) =>
        shapes.search(request.vector, attempt, (shape, inner) => search(shape, request, inner)),
      ),

    sample: ({ n, seed, withContent }, signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const { dimensions } = await shapes.fresh(attempt);
        const total = await count(attempt);
        if (total > MOST_PAGES * PAGE) {
          throw unsupported(`A uniform sample of Weaviate reads every UUID, and ${total} are too many.`);
        }
        const ids = n < 1 || total === 0 ? [] : await walkedIds(n, seed, attempt);
        const stored: StoredVector[] = [];
        for (const portion of inPortions(ids, vectorsPerCall(dimensions, IDS_PER_CALL))) {
          const args = [`limit: ${portion.length}`, whereIds(portion)];
          const found = await objects(args, properties(withContent), ['id', vectorField], 'sample', attempt);
          const byUuid = new Map(found.map((object) => [textOf(at(object, '_additional', 'id')), object]));
          for (const object of portion.map((uuid) => byUuid.get(uuid))) {
            const [id, vector] = [idOf(object), vectorIn(object)];
            // It may have been deleted between the two calls, or have no vector.
            if (id === null || vector === null) continue;
            stored.push({ id, vector, content: withContent ? contentOf(object) : null });
          }
        }
        return toSample(stored, true);
      }),

    describe: (signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const { dimensions, metric, traits } = await shapes.fresh(attempt);
        const total = await count(attempt);
        const meta = await unlessForbidden(
          calls.json({ method: 'GET', path: '/v1/meta', purpose: 'version' }, attempt),
        );
        return {
          count: total,
          isExactCount: true,
          dimensions,
          metric,
          traits: {
            ...traits,
            version: textOf(at(meta, 'version')) ?? 'hidden',
            dimensions: String(dimensions ?? 'unknown'),
            size_class: sizeClass(total),
          },
        };
      }),

    existing: (ids, signal) =>
      outcomeOf(signal, async (attempt) => {
        const possible = idProperty === undefined ? ids.filter((id) => UUID.test(id)) : ids;
        if (possible.length === 0) return new Set<string>();
        const shape = idProperty === undefined ? null : await shapes.current(attempt);
        return knownIds(possible, IDS_PER_CALL, PAGE, async (wanted, limit) => {
          const where =
            shape === null || idProperty === undefined
              ? whereIds(wanted.map((id) => id.toLowerCase()))
              : whereAnyOf(shape, idProperty, wanted);
          const args = [`limit: ${limit}`, where];
          const found = await objects(args, properties(false), ['id'], 'check of ids', attempt);
          const there = found.flatMap((object) => idOf(object) ?? []);
          // Weaviate writes a UUID in lower case, however it was asked for.
          return shape === null ? wanted.filter((id) => there.includes(id.toLowerCase())) : there;
        });
      }),

    close: async () => calls.close(),
  };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
