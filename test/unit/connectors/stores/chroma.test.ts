import { afterEach, describe, expect, it } from 'vitest';
import { whereOf } from '../../../../src/connectors/stores/chroma.ts';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { openChroma } from '../../../support/chroma.ts';
import {
  type FaultServer,
  inTurn,
  json,
  type Responder,
  raw,
  startFaultServer,
  status,
  when,
} from '../../../support/fault-server.ts';

const never = new AbortController().signal;
const vector = Float32Array.of(1, 0);
const request = { vector, k: 2, filter: {}, exact: false, withContent: false };

let server: FaultServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

async function storeOver(responder: Responder): Promise<VectorStore> {
  server = await startFaultServer(responder);
  return openChroma({ headers: {} }, 'chunks', { url: server.url, timeoutMs: 2000, retries: 0 });
}

const collection = (id: string, dimension: number | null = 2, space = 'cosine'): Responder =>
  json({ id, dimension, configuration_json: { hnsw: { space } } });

const found = json({ ids: [['a']], distances: [[0.25]] });

describe('a collection of Chroma', () => {
  it('is looked up once by its name, and then queried by its id', async () => {
    const store = await storeOver(when(({ method }) => method === 'GET', collection('c-1'), found));
    await store.nearest(request, never);
    const outcome = await store.nearest(request, never);
    expect(outcome).toMatchObject({
      kind: 'ok',
      value: {
        neighbours: [{ id: 'a', similarity: 0.75, score: 0.25, scoreKind: 'cosine_distance', content: null }],
        isShort: true,
      },
    });
    const collections = '/api/v2/tenants/default_tenant/databases/default_database/collections';
    expect(server?.requests.map(({ target }) => target)).toEqual([
      `${collections}/chunks`,
      `${collections}/c-1/query`,
      `${collections}/c-1/query`,
    ]);
    expect(JSON.parse(server?.requests[1]?.body ?? '')).toEqual({
      query_embeddings: [[1, 0]],
      n_results: 2,
      include: ['distances'],
    });
  });

  it('that was recreated under the same name is found again', async () => {
    const store = await storeOver(inTurn(collection('c-1'), found, status(404), collection('c-2'), found));
    await store.nearest(request, never);
    expect(await store.nearest(request, never)).toMatchObject({ kind: 'ok' });
    expect(server?.requests.at(-1)?.target).toContain('/c-2/query');
  });

  it('that was recreated for another model accepts the vectors of that model', async () => {
    const store = await storeOver(inTurn(collection('c-1', 3), collection('c-1', 3), collection('c-2'), found));
    expect(await store.nearest(request, never)).toMatchObject({ kind: 'failed', code: 'dimension_mismatch' });
    expect(await store.nearest(request, never)).toMatchObject({ kind: 'failed', code: 'dimension_mismatch' });
    expect(await store.nearest(request, never)).toMatchObject({ kind: 'ok' });
  });

  it('that does not exist is reported by its name, with the config keys to check', async () => {
    const store = await storeOver(status(404));
    for (const outcome of [await store.describe(never), await store.existing(['a'], never)]) {
      expect(outcome).toMatchObject({
        kind: 'failed',
        code: 'collection_missing',
        message: expect.stringMatching(/no collection chunks in .*check .*vector_store\.collection/) as unknown,
      });
    }
  });

  it('with unexpected responses is an error, not an empty store', async () => {
    for (const answer of [json({}), json([]), json(null), json({ ids: 'a' }), json({ ids: [['a']] })]) {
      const store = await storeOver(when(({ method }) => method === 'GET', collection('c-1'), answer));
      expect(await store.nearest(request, never)).toMatchObject({
        kind: 'failed',
        code: 'unexpected_answer',
      });
      await server?.close();
    }
    const page = await storeOver(raw('<html>'));
    expect(await page.describe(never)).toMatchObject({ kind: 'failed', code: 'not_json' });
  });

  it('is sampled without the documents that are deleted during the sampling', async () => {
    const store = await storeOver(
      inTurn(
        collection('c-1'),
        json({ ids: ['a', 'b', 'c'] }),
        json({ ids: [] }),
        json({
          ids: ['c', 'a'],
          embeddings: [
            [0, 1],
            [1, 0],
          ],
        }),
      ),
    );
    const outcome = await store.sample({ n: 3, seed: 1, withContent: false }, never);
    expect(outcome).toMatchObject({ kind: 'ok', value: { vectors: { rows: 2, columns: 2 } } });
    expect(outcome.kind === 'ok' && outcome.value.ids.toSorted()).toEqual(['a', 'c']);
  });

  it('in Chroma Cloud is read in pages within its quota', async () => {
    const ids = Array.from({ length: 700 }, (_, number) => `doc-${number}`);
    const store = await storeOver((incoming, response) => {
      if (incoming.method === 'GET') return collection('c-1')(incoming, response);
      const {
        ids: wanted,
        limit,
        offset = 0,
      } = JSON.parse(incoming.body) as {
        ids?: string[];
        limit: number;
        offset?: number;
      };
      if (limit > 300) return status(422)(incoming, response);
      const some = wanted ?? ids.slice(offset, offset + limit);
      return json({ ids: some, embeddings: some.map(() => [1, 0]) })(incoming, response);
    });
    const sample = await store.sample({ n: 650, seed: 1, withContent: false }, never);
    expect(sample).toMatchObject({ kind: 'ok', value: { vectors: { rows: 650 } } });
    expect(await store.existing(ids, never)).toMatchObject({ kind: 'ok', value: new Set(ids) });
    const refused = server?.requests.filter(({ body }) => body.includes('"limit":5000'));
    expect(refused).toHaveLength(1);
  });
});

describe('a filter for Chroma', () => {
  it('is omitted if it is empty, since Chroma rejects an empty filter', () => {
    expect(whereOf({})).toEqual({});
  });

  it('is one condition, or several conditions joined by $and', () => {
    expect(whereOf({ course: 'maths' })).toEqual({ where: { course: { $eq: 'maths' } } });
    expect(whereOf({ course: 'maths', language: 'de' })).toEqual({
      where: { $and: [{ course: { $eq: 'maths' } }, { language: { $eq: 'de' } }] },
    });
  });

  it('matches numbers and booleans both as such and as text, since Chroma does not convert them', () => {
    expect(whereOf({ year: '2024' })).toEqual({
      where: { $or: [{ year: { $eq: '2024' } }, { year: { $eq: 2024 } }] },
    });
    expect(whereOf({ draft: 'true', score: '-1.5' })).toEqual({
      where: {
        $and: [
          { $or: [{ draft: { $eq: 'true' } }, { draft: { $eq: true } }] },
          { $or: [{ score: { $eq: '-1.5' } }, { score: { $eq: -1.5 } }] },
        ],
      },
    });
    for (const text of ['', ' 5', 'Infinity', 'NaN', '5 apples']) {
      expect(whereOf({ name: text })).toEqual({ where: { name: { $eq: text } } });
    }
  });
});
