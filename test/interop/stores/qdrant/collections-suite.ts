/**
 * Tests that recalld can read collections filled by Qdrant's client: ids, payloads, named vectors, and quantization.
 */
import { QdrantClient } from '@qdrant/js-client-rest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bruteForce, recallOf } from '../../../../src/connectors/stores/store-tests/subject.ts';
import { never, valueOf } from '../../../contract/vector-store-bench.ts';
import { httpService, openStore } from '../../../support/connectors.ts';
import { prepare } from '../../../support/fake-vector-index.ts';
import { queriesLike, topicByTopic } from '../../../support/vector-documents.ts';
import type { RunningStore } from '../real-stores.ts';

type Keys = Partial<Record<'id' | 'content' | 'version' | 'vector_name', string>>;

const shape = { count: 40, dimensions: 8, topics: 4 };
const documents = topicByTopic(shape);
const [query = new Float32Array(shape.dimensions)] = queriesLike(shape, 1);
const request = { vector: query, k: 5, filter: {}, exact: false, withContent: false } as const;
const nearest = bruteForce(documents, query, 5, 'cosine').map(({ id }) => id);

export function describeQdrantCollections(start: () => Promise<Pick<RunningStore, 'url' | 'stop'>>): void {
  let running: Pick<RunningStore, 'url' | 'stop'>;
  let client: QdrantClient;
  const cleanups: (() => Promise<unknown>)[] = [];
  let made = 0;

  beforeAll(async () => {
    running = await start();
    client = new QdrantClient({ url: running.url, checkCompatibility: false });
  });
  afterAll(async () => {
    for (const clean of cleanups.toReversed()) await clean();
    await running.stop();
  });

  /** Creates a collection that exists until the end of the suite. */
  const create = async (settings: Parameters<QdrantClient['createCollection']>[1]): Promise<string> => {
    made += 1;
    const name = `recalld_test_${process.pid}_${made}`;
    await client.createCollection(name, settings);
    cleanups.push(() => client.deleteCollection(name));
    return name;
  };
  const fill = (collection: string, points: Parameters<QdrantClient['upsert']>[1] & { points: unknown }) =>
    client.upsert(collection, { wait: true, ...points });
  const open = (collection: string, keys: Keys = {}) => {
    const service = httpService({ url: running.url, timeoutMs: 20_000 });
    const store = openStore({ kind: 'qdrant', ...service, collection, ...keys });
    cleanups.push(() => store.close());
    return store;
  };
  const cosine = { size: shape.dimensions, distance: 'Cosine' } as const;
  const vectorAt = (place: number) => [...(documents[place]?.vector ?? [])];

  describe('point ids', () => {
    const uuid = '550e8400-e29b-41d4-a716-446655440000';
    const long = '9007199254740993';
    let collection: string;
    beforeAll(async () => {
      collection = await create({ vectors: cosine });
      const ids = [7, uuid];
      await fill(collection, { points: ids.map((id, place) => ({ id, vector: vectorAt(place), payload: {} })) });
      // Sent without the client, because the client would round this id.
      const points = `{"points": [{"id": ${long}, "vector": ${JSON.stringify(vectorAt(2))}, "payload": {}}]}`;
      await prepare(running.url, 'PUT', `/collections/${collection}/points?wait=true`, points);
    });

    it('are found, listed and sampled as integers, integers beyond 2^53, and UUIDs in any form', async () => {
      const store = open(collection);
      const upper = uuid.replaceAll('-', '').toUpperCase();
      expect(valueOf(await store.existing(['7', long, upper, '9007199254740992', '07'], never))).toEqual(
        new Set(['7', long, upper]),
      );
      const { ids, next } = valueOf(await store.list(null, never));
      expect({ ids: ids.toSorted(), next }).toEqual({ ids: [uuid, '7', long].toSorted(), next: null });
      const sample = valueOf(await store.sample({ n: 3, seed: 1, withContent: false }, never));
      expect(sample.ids.toSorted()).toEqual([uuid, '7', long].toSorted());
      expect(sample.vectors.rows).toBe(3);
      const { neighbours } = valueOf(await store.nearest({ ...request, k: 3 }, never));
      expect(neighbours.map(({ id }) => id).toSorted()).toEqual([uuid, '7', long].toSorted());
    });
  });

  describe.each([
    ['without a payload index', null],
    ['with an integer index', 'integer'],
  ] as const)('ids that are integers in the payload, %s', (_, index) => {
    it('are found, and so are their texts, under keys that Qdrant must quote', async () => {
      const collection = await create({ vectors: cosine });
      const points = documents.map((document, place) => {
        const meta = { 'doc id': place, 'the text': document.content, version: 'v2' };
        return { id: place + 100, vector: [...document.vector], payload: { meta } };
      });
      await fill(collection, { points });
      if (index !== null) {
        await client.createPayloadIndex(collection, { wait: true, field_name: 'meta."doc id"', field_schema: index });
      }
      const store = open(collection, { id: 'meta.doc id', content: 'meta.the text', version: 'meta.version' });
      expect(valueOf(await store.existing(['0', '39', '40', 'doc-00001', '1.0'], never))).toEqual(new Set(['0', '39']));
      expect(valueOf(await store.chunks(['3'], never))).toEqual([
        { id: '3', content: documents[3]?.content, version: 'v2' },
      ]);
      const { neighbours } = valueOf(await store.nearest({ ...request, withContent: true }, never));
      const byId = new Map(documents.map(({ id, content }, place) => [id, { id: String(place), content }]));
      expect(neighbours).toMatchObject(nearest.map((id) => byId.get(id)));
    });
  });

  describe('a filter', () => {
    const kinds = ['text', 'integer', 'float', 'list'] as const;
    const payloadAt = (place: number) => {
      const year = 2020 + (place % 4);
      return { text: `${year}`, integer: year, float: year / 10, list: ['x', `${year}`] };
    };
    const wanted = { text: '2021', integer: '2021', float: '202.1', list: '2021' };
    const index = { text: 'keyword', integer: 'integer', float: 'float', list: 'keyword' } as const;
    const matching = bruteForce(
      documents.filter((_, place) => place % 4 === 1),
      query,
      5,
      'cosine',
    ).map(({ id }) => id);

    it.each([false, true])('matches texts, integers, decimals and lists (indexed: %s)', async (isIndexed) => {
      const collection = await create({ vectors: cosine });
      const points = documents.map(({ id, vector }, place) => ({
        id: place,
        vector: [...vector],
        payload: { doc: id, ...payloadAt(place) },
      }));
      await fill(collection, { points });
      for (const kind of isIndexed ? kinds : []) {
        await client.createPayloadIndex(collection, { wait: true, field_name: kind, field_schema: index[kind] });
      }
      const store = open(collection, { id: 'doc' });
      for (const kind of kinds) {
        const outcome = await store.nearest({ ...request, filter: { [kind]: wanted[kind] } }, never);
        expect([kind, valueOf(outcome).neighbours.map(({ id }) => id)]).toEqual([kind, matching]);
        const none = await store.nearest({ ...request, filter: { [kind]: 'none' } }, never);
        expect([kind, valueOf(none).neighbours]).toEqual([kind, []]);
      }
    });
  });

  describe.each(['Cosine', 'Dot', 'Euclid'] as const)('an unnamed vector with the distance %s', (distance) => {
    it('can be searched and sampled next to sparse vectors', async () => {
      const vectors = { size: shape.dimensions, distance };
      const collection = await create({ vectors, sparse_vectors: { words: {} } });
      const points = documents.map(({ id, vector }, place) => ({
        id: place,
        vector: { '': [...vector], words: { indices: [place], values: [0.5] } },
        payload: { doc: id },
      }));
      await fill(collection, { points });
      const store = open(collection, { id: 'doc' });
      const found = valueOf(await store.nearest({ ...request, k: 40 }, never)).neighbours;
      const similarities = new Map(
        bruteForce(documents, query, 40, 'cosine').map(({ id, cosine: exact }) => [id, exact]),
      );
      expect(found).toHaveLength(40);
      for (const { id, similarity } of found) expect(similarity).toBeCloseTo(similarities.get(id) ?? 2, 5);
      const sample = valueOf(await store.sample({ n: 40, seed: 1, withContent: false }, never));
      expect(sample.ids.toSorted()).toEqual(documents.map(({ id }) => id).toSorted());
      expect(sample.vectors).toMatchObject({ rows: 40, columns: shape.dimensions });
    });
  });

  it('can be read through a named vector, without the points that lack this vector', async () => {
    const collection = await create({ vectors: { text: cosine, image: { size: 3, distance: 'Dot' } } });
    const points = documents.map(({ id, vector }, place) => ({
      id: place,
      vector: { image: [1, 2, 3], ...(place % 2 === 0 ? { text: [...vector] } : {}) },
      payload: { doc: id },
    }));
    await fill(collection, { points });
    const withText = documents.filter((_, place) => place % 2 === 0);
    const store = open(collection, { id: 'doc', vector_name: 'text' });
    const { neighbours } = valueOf(await store.nearest(request, never));
    expect(neighbours.map(({ id }) => id)).toEqual(bruteForce(withText, query, 5, 'cosine').map(({ id }) => id));
    const sample = valueOf(await store.sample({ n: 40, seed: 1, withContent: false }, never));
    expect(sample.ids.toSorted()).toEqual(withText.map(({ id }) => id).toSorted());
    expect(await open(collection).describe(never)).toMatchObject({
      kind: 'failed',
      code: 'vector_unknown',
      message: expect.stringMatching(/vector_name to one of: image, text\.$/) as unknown,
    });
  });

  describe.each([
    ['scalar', { scalar: { type: 'int8' } }],
    ['binary', { binary: {} }],
  ] as const)('a graph over vectors with %s quantization', (_, quantization) => {
    it('can be searched approximately, and exactly on request', async () => {
      const many = { count: 600, dimensions: 64, topics: 12 };
      const all = topicByTopic(many);
      const collection = await create({
        vectors: { size: many.dimensions, distance: 'Cosine' },
        hnsw_config: { m: 8, ef_construct: 50, full_scan_threshold: 10 },
        optimizers_config: { indexing_threshold: 10 },
        quantization_config: quantization,
      });
      const points = all.map(({ id, vector }, place) => ({ id: place, vector: [...vector], payload: { doc: id } }));
      await fill(collection, { points });
      expect((await client.getCollection(collection)).indexed_vectors_count).toBe(many.count);
      const store = open(collection, { id: 'doc' });
      const recall = { approximate: 0, exact: 0 };
      const tries = queriesLike(many, 10);
      for (const vector of tries) {
        const truth = bruteForce(all, vector, 10, 'cosine');
        for (const exact of [false, true]) {
          const { neighbours } = valueOf(await store.nearest({ ...request, vector, k: 10, exact }, never));
          const found = neighbours.map(({ id }) => id);
          recall[exact ? 'exact' : 'approximate'] += recallOf(found, truth) / tries.length;
          if (!exact) continue;
          for (const { id, similarity } of neighbours)
            expect(similarity).toBeCloseTo(truth.find((one) => one.id === id)?.cosine ?? 2, 5);
        }
      }
      expect(recall.exact).toBeCloseTo(1, 9);
      expect(recall.approximate).toBeGreaterThan(0.3);
      const sample = valueOf(await store.sample({ n: 600, seed: 1, withContent: false }, never));
      expect(sample.vectors.rows).toBe(600);
    });
  });
}
