/**
 * Weaviate over REST and GraphQL.
 *
 * Source: openapi-specs/schema.json in github.com/weaviate/weaviate, and the pages "Vector similarity search", "Read
 * all objects" and "Filters" of docs.weaviate.io.
 */

import { at, bearer, listOf, numberOf, textAt, textOf, vectorOf } from '../../../platform/outbound/json-api.ts';
import type { StoreConfigOf } from '../config.ts';
import { createRemoteStore, createStoreCalls, rememberShape, unlessForbidden } from '../remote-store.ts';
import {
  type Attempt,
  chooseCounted,
  type Entry,
  failed,
  knownIds,
  readSample,
  unsupported,
  vectorsPerCall,
} from '../store-rows.ts';
import { MAX_CHUNKS } from '../vector-store.ts';
import {
  collectionName,
  equality,
  graphqlName,
  nearVector,
  readSchema,
  whereAll,
  whereAnyOf,
  whereIds,
} from './schema.ts';

const PAGE = 1000;
const MAX_PAGES = 1000;
const IDS_PER_CALL = 100;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * Creates the store. Nothing is sent before the first call.
 *
 * To sample, the adapter reads the UUIDs of all objects with the cursor (1,000 per call, up to 1,000,000 in total),
 * selects some with a seeded reservoir, and then reads up to 100 vectors per call. Choosing the objects that follow
 * random UUIDs would cost less, but would favor objects whose UUIDs follow wide gaps. Searches use GraphQL, because
 * REST has no vector search and gRPC would require a second protocol. A server without GraphQL cannot be used.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createWeaviateStore(config: StoreConfigOf<'weaviate'>, configField: string) {
  const { tenant, id: idProperty, content, version, vector_name: vectorName } = config;
  const calls = createStoreCalls('Weaviate', config, configField, bearer(config.api_key));
  const vectorField = vectorName === undefined ? 'vector' : `vectors { ${vectorName} }`;

  const shapes = rememberShape(calls.service, async (attempt) => {
    const schema = await readSchema(calls, collectionName(config.collection), vectorName, attempt);
    if (vectorName !== undefined) graphqlName(vectorName);
    // The schema does not contain the length of the vectors.
    const [first] = await objects(['limit: 1'], [], ['id', vectorField], 'metadata request', attempt);
    return { ...schema, dimensions: entryOf(first).vector?.length ?? null };
  });

  /** Returns `data` from the response to a query. */
  const graphql = async (query: string, purpose: string, attempt: Attempt): Promise<unknown> => {
    const call = { method: 'POST', path: '/v1/graphql', body: { query }, purpose } as const;
    const answer = await calls.json(call, attempt);
    if (listOf(at(answer, 'errors')).length === 0) return at(answer, 'data');
    // The error text is not shown, because it may repeat the query.
    const fix = `check ${configField} and the properties in filters`;
    throw failed('request_refused', `${calls.service} ${purpose} failed: GraphQL refused the query; ${fix}.`);
  };

  /**
   * Reads objects of the collection.
   *
   * @param additional metadata of the objects, as GraphQL fields in `_additional`
   */
  const objects = async (
    args: readonly string[],
    properties: readonly string[],
    additional: readonly string[],
    purpose: string,
    attempt: Attempt,
  ): Promise<readonly unknown[]> => {
    const collection = collectionName(config.collection);
    const all = [...args, ...(tenant === undefined ? [] : [`tenant: ${JSON.stringify(tenant)}`])].join(', ');
    const fields = [...new Set(properties.map(graphqlName)), `_additional { ${additional.join(' ')} }`].join(' ');
    const query = `{ Get { ${collection}(${all}) { ${fields} } } }`;
    return listOf(at(await graphql(query, purpose, attempt), 'Get', collection));
  };

  const pageAfter = async (from: string | null, properties: readonly string[], purpose: string, attempt: Attempt) => {
    const after = from !== null && UUID.test(from) ? from : BEFORE_ALL;
    const page = await objects([`limit: ${PAGE}`, `after: "${after}"`], properties, ['id'], purpose, attempt);
    return { page, next: page.length < PAGE ? null : uuidOf(page.at(-1)) };
  };

  const count = async (attempt: Attempt): Promise<number> => {
    const collection = collectionName(config.collection);
    const args = tenant === undefined ? '' : `(tenant: ${JSON.stringify(tenant)})`;
    const data = await graphql(`{ Aggregate { ${collection}${args} { meta { count } } } }`, 'count', attempt);
    const counted = numberOf(at(data, 'Aggregate', collection, 0, 'meta', 'count'));
    if (counted === null) throw calls.unexpected('count', 'meta.count');
    return counted;
  };

  const entryOf = (object: unknown): Entry => {
    const additional = at(object, '_additional');
    return {
      id: idProperty === undefined ? uuidOf(object) : textOf(at(object, idProperty)),
      vector: vectorOf(vectorName === undefined ? at(additional, 'vector') : at(additional, 'vectors', vectorName)),
      content: textAt(object, content),
      version: textAt(object, version),
    };
  };

  return createRemoteStore({
    kind: 'weaviate',
    shapes,
    placeOf: {
      score: '_additional.distance',
      id: `property ${idProperty ?? 'id'} of an object`,
      vector: '_additional.vector',
    },
    ...calls,

    async search(shape, request, attempt) {
      if (request.exact && !shape.isFlat) {
        throw unsupported(
          'The index of this Weaviate collection is approximate; only a flat index compares a query with all vectors.',
        );
      }
      const conditions = Object.entries(request.filter).map(([name, value]) => equality(shape, name, value));
      if (conditions.includes(null)) return null;
      const where = whereAll(conditions.filter((condition) => condition !== null));
      const found = await objects(
        [nearVector(request.vector, vectorName), `limit: ${request.k}`, ...where],
        named(idProperty, request.withContent === false ? undefined : content),
        ['id', 'distance', ...(request.withVector ? [vectorField] : [])],
        'search',
        attempt,
      );
      return found.map((object) => ({ ...entryOf(object), score: numberOf(at(object, '_additional', 'distance')) }));
    },

    async sample(request, attempt) {
      const { withContent } = request;
      const { dimensions } = await shapes.fresh(attempt);
      const because = 'from Weaviate requires reading every UUID, but the collection';
      const limit = { most: MAX_PAGES * PAGE, because };
      const uuids = await chooseCounted(request, await count(attempt), limit, async (from: string | null) => {
        const { page, next } = await pageAfter(from, [], 'sample', attempt);
        return { ids: page.flatMap((object) => uuidOf(object) ?? []), next };
      });
      const perCall = vectorsPerCall(dimensions, IDS_PER_CALL);
      return readSample(uuids, perCall, withContent, true, async (portion) => {
        const properties = named(idProperty, withContent ? content : undefined);
        const args = [`limit: ${portion.length}`, whereIds(portion)];
        const found = await objects(args, properties, ['id', vectorField], 'sample', attempt);
        const byUuid = new Map(found.map((object) => [uuidOf(object), object]));
        return portion.map((uuid) => entryOf(byUuid.get(uuid)));
      });
    },

    async describe({ dimensions }, attempt) {
      const call = { method: 'GET', path: '/v1/meta', purpose: 'version request' } as const;
      return {
        count: await count(attempt),
        isExactCount: true,
        traits: {
          version: textOf(at(await unlessForbidden(calls.json(call, attempt)), 'version')) ?? 'hidden',
          dimensions: String(dimensions ?? 'unknown'),
        },
      };
    },

    async existing(ids, attempt) {
      const possible = idProperty === undefined ? ids.filter((id) => UUID.test(id)) : ids;
      if (possible.length === 0) return new Set<string>();
      const shape = idProperty === undefined ? null : await shapes.current(attempt);
      return knownIds(possible, IDS_PER_CALL, PAGE, async (wanted, limit) => {
        const where =
          shape === null || idProperty === undefined
            ? whereIds(wanted.map((id) => id.toLowerCase()))
            : whereAnyOf(shape, idProperty, wanted);
        const found = await objects([`limit: ${limit}`, where], named(idProperty), ['id'], 'lookup of ids', attempt);
        const there = found.flatMap((object) => entryOf(object).id ?? []);
        // Weaviate returns UUIDs in lower case, regardless of their form in the request.
        return shape === null ? wanted.filter((id) => there.includes(id.toLowerCase())) : there;
      });
    },

    async list(from, attempt) {
      const { page, next } = await pageAfter(from, named(idProperty), 'listing of ids', attempt);
      return { ids: page.flatMap((object) => entryOf(object).id ?? []), next };
    },

    async chunks(ids, attempt) {
      const lower = new Map(ids.map((one) => [one.toLowerCase(), one]));
      const uuids = [...lower.keys()].filter((one) => UUID.test(one));
      if (idProperty === undefined && uuids.length === 0) return [];
      const where =
        idProperty === undefined ? whereIds(uuids) : whereAnyOf(await shapes.current(attempt), idProperty, ids);
      const properties = named(idProperty, content, version);
      const found = await objects([`limit: ${MAX_CHUNKS}`, where], properties, ['id'], 'lookup of chunks', attempt);
      const entries = found.map(entryOf);
      return idProperty === undefined
        ? entries.map((entry) => ({ ...entry, id: lower.get(entry.id ?? '') ?? entry.id }))
        : entries;
    },
  });
}

function named(...names: readonly (string | undefined)[]): string[] {
  return names.filter((name) => name !== undefined);
}

function uuidOf(object: unknown): string | null {
  return textOf(at(object, '_additional', 'id'));
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
