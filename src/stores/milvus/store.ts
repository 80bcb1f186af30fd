/**
 * Milvus 2.4 and later, or Zilliz Cloud, over REST version 2.
 *
 * Source: API_Reference_MDX/milvus-restful/v2.6.x/v2 and the page "Random sampling" of github.com/milvus-io/web-content.
 */

import type { JsonApiSettings } from '../../outbound/json-api.ts';
import { fieldsOf, listOf, numberOf, textOf, vectorOf } from '../../outbound/json-value.ts';
import { createReservoir } from '../../stats/random.ts';
import { sizeClass } from '../../vector/size-class.ts';
import { knownIds } from '../known-ids.ts';
import { needsVectors, toNearest } from '../neighbours.ts';
import { type Attempt, failureCode, outcomeOf, outcomeOfScan, unsupported } from '../outcome.ts';
import { rememberShape } from '../remembered-shape.ts';
import { inPortions, type StoredVector, toSample, vectorsPerCall } from '../sampled-vectors.ts';
import type { NearestRequest, VectorStore } from '../vector-store.ts';
import { createMilvusCalls } from './calls.ts';
import { anyOf, equality, type MilvusShape, readMilvusCollection } from './collection.ts';

export interface MilvusSettings {
  /** With the header `Authorization: Bearer TOKEN`. */
  readonly api: JsonApiSettings;
  readonly database?: string | undefined;
  readonly collection: string;
  /** Field of the vector. */
  readonly embedding: string;
  /** Field of the document id. */
  readonly id: string;
  /** Field of the text of a chunk. */
  readonly content?: string | undefined;
}

/** Milvus returns fewer than 16,384 entities to one query. */
const WINDOW = 16_383;
const IDS_PER_CALL = 1000;
const MOST_DRAWS = 5;
/** Of the entities that one draw may return, so that chance never makes it longer than the window. */
const LARGEST_DRAW = 14_000;

/**
 * Creates the store; nothing is sent before the first call.
 *
 * A sample of a collection of up to 16,383 entities reads all primary keys in one call and draws with the seed. A
 * larger one is drawn by RANDOM_SAMPLE of Milvus 2.6 without a seed: the server takes the same share of each segment,
 * and at least one entity, so that only segments of a few entities are favoured. It draws a quarter more than is
 * wanted, of which a random part is kept, and again when that was too few. Then up to 1,000 vectors a call are read.
 * Reading by ranges of the primary key is no way, since REST promises no order.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createMilvusStore(settings: MilvusSettings): VectorStore {
  const { database, collection: collectionName, embedding, id: idField, content } = settings;
  const calls = createMilvusCalls(settings.api, database);
  const shapes = rememberShape(calls.service, (attempt) =>
    readMilvusCollection(calls, collectionName, embedding, attempt),
  );
  const query = async (
    filter: string,
    limit: number,
    outputFields: readonly string[],
    purpose: string,
    attempt: Attempt,
  ) => {
    const body = { collectionName, filter, limit, outputFields };
    return listOf(await calls.data('/entities/query', body, purpose, attempt)).map(fieldsOf);
  };
  const count = async (attempt: Attempt): Promise<number> => {
    const body = { collectionName, filter: '', outputFields: ['count(*)'] };
    const [row] = listOf(await calls.data('/entities/query', body, 'count', attempt));
    const counted = numberOf(fieldsOf(row)['count(*)']);
    if (counted === null) throw calls.unexpected('count', 'count(*)');
    return counted;
  };
  const contentField = (withContent: boolean): readonly string[] =>
    withContent && content !== undefined ? [content] : [];

  const search = async (shape: MilvusShape, request: NearestRequest, attempt: Attempt) => {
    if (request.exact && !shape.isFlat) {
      throw unsupported(
        `The index of ${embedding} is approximate; only one of type FLAT compares with all vectors.`,
      );
    }
    const conditions = Object.entries(request.filter).map(([name, value]) =>
      equality(shape.types, name, value),
    );
    if (conditions.includes(null)) return { neighbours: [], isShort: true };
    const withVector = needsVectors(shape.scoreKind);
    const body = {
      collectionName,
      data: [[...request.vector]],
      annsField: embedding,
      limit: request.k,
      ...(conditions.length === 0 ? {} : { filter: conditions.join(' and ') }),
      outputFields: [idField, ...contentField(request.withContent), ...(withVector ? [embedding] : [])],
    };
    const rows = listOf(await calls.data('/entities/search', body, 'search', attempt)).map(fieldsOf);
    const hits = rows.map((row) => {
      const [id, score] = [textOf(row[idField]), numberOf(row['distance'])];
      if (score === null) throw calls.unexpected('search', 'data[].distance');
      if (id === null) throw calls.unexpected('search', `field ${idField} of an entity`);
      const text = content === undefined ? null : textOf(row[content]);
      return { id, score, vector: withVector ? vectorOf(row[embedding]) : null, content: text };
    });
    const nearest = toNearest(hits, shape.scoreKind, request);
    if (nearest === null) throw calls.unexpected('search', `field ${embedding} of an entity`);
    return nearest;
  };

  const allKeys = async (n: number, seed: number, key: string, attempt: Attempt): Promise<string[]> => {
    const rows = await query('', WINDOW, [key], 'sample', attempt);
    const reservoir = createReservoir<string>(n, seed);
    for (const id of rows.flatMap((row) => textOf(row[key]) ?? []).toSorted()) reservoir.offer(id);
    return reservoir.chosen();
  };

  const drawnKeys = async (
    n: number,
    seed: number,
    key: string,
    total: number,
    attempt: Attempt,
  ): Promise<string[]> => {
    const wanted = Math.ceil(1.25 * n) + 50;
    if (wanted > LARGEST_DRAW) {
      throw unsupported(
        `Milvus draws at most ${Math.floor((LARGEST_DRAW - 50) / 1.25)} entities of a large collection.`,
      );
    }
    const share = `RANDOM_SAMPLE(${Math.min(0.99, wanted / total).toFixed(9)})`;
    const keys = new Set<string>();
    for (let draw = 0; draw < MOST_DRAWS && keys.size < n; draw += 1) {
      const rows = await orOlder(query(share, WINDOW, [key], 'sample', attempt));
      for (const row of rows) {
        const id = textOf(row[key]);
        if (id !== null) keys.add(id);
      }
    }
    const reservoir = createReservoir<string>(n, seed);
    for (const id of keys) reservoir.offer(id);
    return reservoir.chosen();
  };

  return {
    kind: 'milvus',

    nearest: (request, signal) =>
      (request.exact ? outcomeOfScan : outcomeOf)(signal, (attempt) =>
        shapes.search(request.vector, attempt, (shape, inner) => search(shape, request, inner)),
      ),

    sample: ({ n, seed, withContent }, signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const { dimensions, key, types } = await shapes.fresh(attempt);
        const total = await count(attempt);
        const isSmall = total <= WINDOW;
        const chosen =
          n < 1 || total === 0
            ? []
            : isSmall
              ? await allKeys(n, seed, key, attempt)
              : await drawnKeys(n, seed, key, total, attempt);
        const stored: StoredVector[] = [];
        const fields = [...new Set([key, idField, embedding, ...contentField(withContent)])];
        for (const portion of inPortions(chosen, vectorsPerCall(dimensions, IDS_PER_CALL))) {
          const rows = await query(
            anyOf(types, key, portion) ?? '',
            portion.length,
            fields,
            'sample',
            attempt,
          );
          const byKey = new Map(rows.map((row) => [textOf(row[key]), row]));
          for (const row of portion.map((entity) => byKey.get(entity))) {
            const [id, vector] = [textOf(row?.[idField]), vectorOf(row?.[embedding])];
            // It may have been deleted between the two calls.
            if (id === null || vector === null) continue;
            const text = withContent && content !== undefined ? textOf(row?.[content]) : null;
            stored.push({ id, vector, content: text });
          }
        }
        return toSample(stored, isSmall);
      }),

    describe: (signal) =>
      outcomeOfScan(signal, async (attempt) => {
        const { dimensions, metric, traits } = await shapes.fresh(attempt);
        const total = await count(attempt);
        return {
          count: total,
          isExactCount: true,
          dimensions,
          metric,
          traits: { ...traits, size_class: sizeClass(total) },
        };
      }),

    existing: (ids, signal) =>
      outcomeOf(signal, async (attempt) => {
        if (ids.length === 0) return new Set<string>();
        const { types } = await shapes.current(attempt);
        return knownIds(ids, IDS_PER_CALL, WINDOW, async (wanted, limit) => {
          const filter = anyOf(types, idField, wanted);
          if (filter === null) return [];
          const rows = await query(filter, limit, [idField], 'check of ids', attempt);
          return rows.flatMap((row) => textOf(row[idField]) ?? []);
        });
      }),

    close: async () => calls.close(),
  };
}

/** Before 2.6 the filter cannot be read. */
async function orOlder<Value>(call: Promise<Value>): Promise<Value> {
  try {
    return await call;
  } catch (error) {
    if (failureCode(error) !== 'request_refused') throw error;
    throw unsupported('A uniform sample of a large collection needs RANDOM_SAMPLE of Milvus 2.6 or later.');
  }
}
