import { describe, expect, it } from 'vitest';
import type { VectorStore } from '../../../src/connectors/stores/vector-store.ts';
import { openSearch, searchCoverage } from '../../../src/density/search-store.ts';
import { failed, neighbours, ok, scriptedStore } from '../../support/scripted-store.ts';

const never = new AbortController().signal;

/**
 * A store that returns a chunk named after the first number of each vector, and records the number of vectors in each
 * request.
 */
function countingStore(isTogetherRefused = false) {
  const requests: number[] = [];
  const found = (vector: Float32Array) => ({ ...neighbours([`chunk ${vector[0]}`, 0.5]), isShort: true });
  const store: VectorStore = {
    ...scriptedStore({
      nearest: ({ vector }) => {
        requests.push(1);
        return vector[0] === 13 ? failed('It returned 500.') : ok(found(vector));
      },
    }),
    nearestOfEach: async (vectors) => {
      requests.push(vectors.length);
      return isTogetherRefused ? failed('It returned 500.') : ok(vectors.map(found));
    },
  };
  return { store, requests };
}

function searchAll(store: VectorStore, numbers: readonly number[]) {
  const search = openSearch(store, never);
  return Promise.all(numbers.map((number) => searchCoverage(search, Float32Array.of(number, 1))));
}

describe('searches of live queries', () => {
  it('are sent as one request if they start together', async () => {
    const { store, requests } = countingStore();
    const found = await searchAll(store, [1, 2, 3]);
    expect(found).toMatchObject([1, 2, 3].map((number) => ({ nearest: [[`chunk ${number}`, 0.5]] })));
    expect(requests).toEqual([3]);
  });

  it('share the next request if they start when a request completes', async () => {
    const { store, requests } = countingStore();
    const search = openSearch(store, never);
    const later: Promise<unknown>[] = [];
    const first = search(Float32Array.of(0, 1), 20).then((outcome) => {
      later.push(...[1, 2].map((number) => search(Float32Array.of(number, 1), 20)));
      return outcome;
    });
    expect(await first).toMatchObject({ kind: 'ok' });
    expect(await Promise.all(later)).toMatchObject(
      [1, 2].map((n) => ({ value: { neighbours: [{ id: `chunk ${n}` }] } })),
    );
    expect(requests).toEqual([1, 2]);
  });

  it('are sent separately after a request for several vectors failed', async () => {
    const { store, requests } = countingStore(true);
    const found = await searchAll(store, [1, 13, 3]);
    expect(found.map(({ kind }) => kind)).toEqual(['measured', 'failed', 'measured']);
    expect(requests).toEqual([3, 1, 1, 1]);
  });

  it('are sent separately to a store that searches for one vector at a time', async () => {
    const { store, requests } = countingStore();
    expect(Reflect.deleteProperty(store, 'nearestOfEach')).toBe(true);
    expect(await searchAll(store, [1, 2])).toMatchObject([{ kind: 'measured' }, { kind: 'measured' }]);
    expect(requests).toEqual([1, 1]);
  });
});
