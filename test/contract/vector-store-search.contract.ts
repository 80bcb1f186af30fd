import { beforeAll, describe, expect, it } from 'vitest';
import type { Nearest, NearestRequest } from '../../src/stores/vector-store.ts';
import { cosineSimilarity } from '../../src/vector/matrix.ts';
import { bruteForce, queriesLike, recallOf, topicByTopic, type VectorDocument } from '../support/vector-documents.ts';
import { type Bench, never, type TestIndex, valueOf } from './vector-store-bench.ts';

const shape = { count: 600, dimensions: 16, topics: 12 };
const documents = topicByTopic(shape);
const queries = queriesLike(shape, 12);
const [aQuery = new Float32Array(16)] = queries;

/** Below the neighbours are better by their score. */
const betterWhenLow = new Set(['cosine_distance', 'negative_dot', 'one_minus_dot', 'l2', 'squared_l2']);

function asked(request: Partial<NearestRequest>): NearestRequest {
  return { vector: aQuery, k: 10, filter: {}, exact: false, withContent: false, ...request };
}

function expectTrue({ neighbours }: Nearest, query: Float32Array, among: readonly VectorDocument[]): void {
  const vectors = new Map(among.map(({ id, vector }) => [id, vector]));
  expect(new Set(neighbours.map(({ id }) => id)).size).toBe(neighbours.length);
  for (const { id, similarity } of neighbours) {
    const vector = vectors.get(id);
    expect(vector, `${id} is among the documents`).toBeDefined();
    const cosine = vector === undefined ? Number.NaN : cosineSimilarity(vector, query);
    expect(Math.abs(similarity - cosine)).toBeLessThan(1e-4);
  }
  const scores = neighbours.map(({ score, scoreKind }) => (betterWhenLow.has(scoreKind) ? -score : score));
  expect(scores).toEqual(scores.toSorted((a, b) => b - a));
}

export function describeSearch(bench: Bench): void {
  const { abilities } = bench;

  describe.each(abilities.metrics)('the nearest of an index over %s', (metric) => {
    let index: TestIndex;
    beforeAll(async () => {
      index = await bench.makeIndex(documents, shape.dimensions, metric);
    });

    it('come best first, with their cosine whatever the distance of the index', async () => {
      const store = bench.open(index);
      let recall = 0;
      for (const vector of queries) {
        const nearest = valueOf(await store.nearest(asked({ vector }), never));
        expectTrue(nearest, vector, documents);
        expect(nearest.neighbours).toHaveLength(10);
        expect(nearest.isShort).toBe(false);
        const truth = bruteForce(documents, vector, 10, metric);
        recall +=
          recallOf(
            nearest.neighbours.map(({ id }) => id),
            truth,
          ) / queries.length;
      }
      expect(recall).toBeGreaterThan(0.95);
    });

    it('are exactly those of brute force when an exact search is asked for, or it is not supported', async () => {
      const store = bench.open(index);
      for (const vector of queries) {
        const outcome = await store.nearest(asked({ vector, exact: true }), never);
        if (!abilities.exactSearch) {
          expect(outcome).toEqual({
            kind: 'unsupported',
            reason: expect.stringMatching(/^\S.*\.$/) as unknown,
          });
          continue;
        }
        const nearest = valueOf(outcome);
        expectTrue(nearest, vector, documents);
        expect(nearest.neighbours.map(({ id }) => id)).toEqual(
          bruteForce(documents, vector, 10, metric).map(({ id }) => id),
        );
      }
    });
  });

  describe('a search', () => {
    let index: TestIndex;
    const nasty = { topic: `it's "50 % off" \\ {new}, [ü] | * @x`, language: 'en' };
    const strange: VectorDocument = {
      id: `it's "a" \\ b, {c} %d/e?f&g`,
      vector: Float32Array.from({ length: shape.dimensions }, (_, place) => (place === 0 ? 1 : 0)),
      content: 'Stra\u00dfe \u{1f600}\n"two" lines',
      fields: nasty,
    };
    const all = [...documents, strange];
    beforeAll(async () => {
      index = await bench.makeIndex(all, shape.dimensions);
    });

    it('returns the one nearest for k = 1, and everything for a k beyond the store, as short', async () => {
      const store = bench.open(index);
      const one = valueOf(await store.nearest(asked({ vector: strange.vector, k: 1 }), never));
      expect(one).toMatchObject({ neighbours: [{ id: strange.id }], isShort: false });
      expect(one.neighbours[0]?.similarity).toBeCloseTo(1, 4);
      const exact = abilities.exactSearch;
      const beyond = valueOf(await store.nearest(asked({ k: 650, exact }), never));
      expect(beyond.isShort).toBe(true);
      expect(beyond.neighbours.length).toBeLessThanOrEqual(all.length);
      // An approximate index may lose some on the way, a comparison with all may not.
      expect(beyond.neighbours.length).toBeGreaterThanOrEqual(exact ? all.length : 0.5 * all.length);
      expectTrue(beyond, aQuery, all);
    });

    it('has the text of a chunk when it is asked for, and only then', async () => {
      const store = bench.open(index);
      const request = asked({ vector: strange.vector, k: 3 });
      const without = valueOf(await store.nearest(request, never));
      expect(without.neighbours.map(({ content }) => content)).toEqual([null, null, null]);
      const withContent = valueOf(await store.nearest({ ...request, withContent: true }, never));
      const contents = new Map(all.map(({ id, content }) => [id, content]));
      expect(withContent.neighbours.map(({ content }) => content)).toEqual(
        withContent.neighbours.map(({ id }) => contents.get(id)),
      );
    });

    it('keeps to a filter, and says that it is short when fewer than k are left', async () => {
      const store = bench.open(index);
      for (const filter of [{ topic: 'topic-7' }, { topic: 'topic-7', language: 'de' }]) {
        const left = all.filter(({ fields }) =>
          Object.entries(filter).every(([name, value]) => fields[name as keyof typeof fields] === value),
        );
        const few = valueOf(await store.nearest(asked({ filter, k: 5 }), never));
        expectTrue(few, aQuery, left);
        expect(few.isShort).toBe(few.neighbours.length < 5);
        const many = valueOf(await store.nearest(asked({ filter, k: left.length + 1 }), never));
        expectTrue(many, aQuery, left);
        expect(many.isShort).toBe(true);
      }
    });

    it('takes the value of a filter as a value, whatever is in it', async () => {
      const store = bench.open(index);
      const request = asked({ vector: strange.vector, filter: { topic: nasty.topic } });
      const outcome = await store.nearest(request, never);
      if (abilities.filterValues === 'plain') expect(outcome).toMatchObject({ kind: 'unsupported' });
      else expect(valueOf(outcome)).toMatchObject({ neighbours: [{ id: strange.id }], isShort: true });
      for (const value of [`' or ''='`, '*', '" || true || "', '']) {
        const found = await store.nearest(asked({ filter: { topic: value } }), never);
        if (abilities.filterValues === 'plain' && /'.*"|".*'/.test(value)) continue;
        expect(valueOf(found)).toEqual({ neighbours: [], isShort: true });
      }
    });

    it('refuses a vector of another length, and does not show it', async () => {
      const store = bench.open(index);
      for (const length of [shape.dimensions - 1, shape.dimensions + 1]) {
        const vector = new Float32Array(length).fill(0.123456789);
        const outcome = await store.nearest(asked({ vector }), never);
        expect(outcome).toMatchObject({ kind: 'failed', code: 'dimension_mismatch' });
        if (outcome.kind !== 'failed') continue;
        expect(outcome.message).toMatch(new RegExp(`\\b${length}\\b.*\\b${shape.dimensions}\\b`));
        expect(outcome.message).not.toContain('0.1234');
      }
    });

    it('answers many callers at once, each with its own result', async () => {
      const store = bench.open(index);
      const answers = await Promise.all(
        [...queries, ...queries].map((vector) => store.nearest(asked({ vector }), never)),
      );
      expect(answers).toHaveLength(2 * queries.length);
      for (const [place, answer] of answers.entries()) {
        expectTrue(valueOf(answer), queries[place % queries.length] ?? aQuery, all);
      }
    });

    it('knows which ids are there, of none, of some and of thousands', async () => {
      const store = bench.open(index);
      expect(valueOf(await store.existing([], never))).toEqual(new Set());
      const some = ['doc-00007', 'doc-7', strange.id, '', `' or ''='`, 'DOC-00007', 'doc-00007 '];
      expect(valueOf(await store.existing(some, never))).toEqual(new Set(['doc-00007', strange.id]));
      const thousands = Array.from({ length: 3000 }, (_, number) => `doc-${String(number).padStart(5, '0')}`);
      expect(valueOf(await store.existing(thousands, never))).toEqual(new Set(documents.map(({ id }) => id)));
    });
  });

  it('finds every one of equals, and each once', async () => {
    const twins = ['twin-a', 'twin-b', 'twin-c', 'twin-d'].map(
      (id): VectorDocument => ({
        id,
        vector: Float32Array.from(aQuery),
        content: id,
        fields: { topic: 'twins', language: 'en' },
      }),
    );
    const index = await bench.makeIndex([...documents.slice(0, 100), ...twins], shape.dimensions);
    const store = bench.open(index);
    const four = valueOf(await store.nearest(asked({ k: 4 }), never)).neighbours;
    expect(four.map(({ id }) => id).toSorted()).toEqual(['twin-a', 'twin-b', 'twin-c', 'twin-d']);
    for (const { similarity } of four) expect(similarity).toBeCloseTo(1, 5);
    const two = valueOf(await store.nearest(asked({ k: 2 }), never)).neighbours;
    expect(new Set(two.map(({ id }) => id)).size).toBe(2);
  });

  it('finds nothing in an empty store, and that is no failure', async () => {
    const index = await bench.makeIndex([], shape.dimensions);
    const store = bench.open(index);
    expect(valueOf(await store.nearest(asked({}), never))).toEqual({ neighbours: [], isShort: true });
    expect(valueOf(await store.existing(['doc-00007'], never))).toEqual(new Set());
  });

  it('can be measured for recall in a large store: what the index loses, an exact search finds', async () => {
    const { index, documents: many, shape: large } = await bench.large();
    const store = bench.open(index);
    let [approximate, exact] = [0, 0];
    const tries = queriesLike(large, 20);
    for (const vector of tries) {
      const truth = bruteForce(many, vector, 10, abilities.metrics[0]);
      const found = valueOf(await store.nearest(asked({ vector }), never));
      expectTrue(found, vector, many);
      approximate +=
        recallOf(
          found.neighbours.map(({ id }) => id),
          truth,
        ) / tries.length;
      if (!abilities.exactSearch) continue;
      const compared = valueOf(await store.nearest(asked({ vector, exact: true }), never));
      exact +=
        recallOf(
          compared.neighbours.map(({ id }) => id),
          truth,
        ) / tries.length;
    }
    expect(approximate).toBeGreaterThan(0.7);
    expect(exact).toBeCloseTo(abilities.exactSearch ? 1 : 0, 9);
  });
}
