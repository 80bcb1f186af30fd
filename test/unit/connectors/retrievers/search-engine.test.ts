import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { httpService, never, openRetriever, type RetrieverInput } from '../../../support/connectors.ts';
import {
  type FaultServer,
  hang,
  inTurn,
  json,
  type Responder,
  raw,
  startFaultServer,
  status,
  tooManyRequests,
  when,
} from '../../../support/fault-server.ts';
import { memoryEmbedder } from '../../../support/memory-embedder.ts';

let server: FaultServer;
beforeEach(async () => {
  server = await startFaultServer(hits([aHit('d1', 12.5), aHit('d2', 3)]));
});
afterEach(() => server.close());

interface Hit {
  readonly _index: string;
  readonly _id?: unknown;
  readonly _score: number | null;
  readonly _source?: unknown;
}

const aHit = (id: unknown, score: number | null, source?: unknown): Hit => ({
  _index: 'docs',
  _id: id,
  _score: score,
  ...(source === undefined ? {} : { _source: source }),
});

/** Returns a search response in the form that both engines document. */
function hits(list: readonly Hit[], changes: Readonly<Record<string, unknown>> = {}): Responder {
  return json({
    took: 5,
    timed_out: false,
    _shards: { total: 2, successful: 2, skipped: 0, failed: 0 },
    hits: { total: { value: list.length, relation: 'eq' }, max_score: 12.5, hits: list },
    ...changes,
  });
}

const embedder = memoryEmbedder({ 'a question': [0.5, -1] });

type EngineInput = RetrieverInput<'elasticsearch' | 'opensearch'>;

function aRetriever(changes: Partial<EngineInput> = {}, timeoutMs = 5000) {
  const kind = 'elasticsearch' as const;
  const service = httpService({ url: server.url, timeoutMs, retries: 1 });
  const fields = { index: 'docs', fields: ['title^2', 'text'], embedding: 'vector' };
  return openRetriever({ kind, ...service, ...fields, ...changes }, { embedder });
}

const request = { text: 'a question', k: 10, tags: { lang: 'en' } };
const ask = (changes: Partial<EngineInput> = {}, withText = false) =>
  aRetriever(changes).retrieve({ ...request, withText }, never);
const bodies = () => server.requests.map(({ body }) => JSON.parse(body) as unknown);
const isKnn = ({ body }: { readonly body: string }) => body.includes('"knn"');

describe('a keyword search', () => {
  it('matches the text with the fields and returns the hits with their scores', async () => {
    expect(await ask()).toStrictEqual({
      kind: 'documents',
      documents: [
        { id: 'd1', score: 12.5 },
        { id: 'd2', score: 3 },
      ],
      latencyMs: expect.any(Number),
      attempts: 1,
    });
    expect(server.requests[0]).toMatchObject({ method: 'POST', target: '/docs/_search' });
    expect(bodies()).toStrictEqual([
      {
        size: 10,
        query: { multi_match: { query: 'a question', fields: ['title^2', 'text'] } },
        _source: false,
      },
    ]);
  });

  it('is filtered by the tags', async () => {
    await ask({ filter: { lang: '{{tags.lang}}', course: '{{tags.course}}' } });
    expect(bodies()).toMatchObject([
      {
        query: {
          bool: {
            must: [{ multi_match: { query: 'a question' } }],
            filter: [{ term: { lang: 'en' } }],
          },
        },
      },
    ]);
  });

  it('uses a configured query instead of the match', async () => {
    const query = { match: { body: { query: '{{text}}', operator: 'and' } } };
    await ask({ query, filter: { lang: 'en' } });
    expect(bodies()).toStrictEqual([
      {
        size: 10,
        query: {
          bool: {
            must: [{ match: { body: { query: 'a question', operator: 'and' } } }],
            filter: [{ term: { lang: 'en' } }],
          },
        },
        _source: false,
      },
    ]);
  });

  it('escapes the name of the index in the address', async () => {
    await ask({ index: 'logs-*,a/../b' });
    expect(server.requests[0]?.target).toBe('/logs-*%2Ca%2F..%2Fb/_search');
  });

  it('rejects an unknown placeholder with its position', () => {
    expect(() => aRetriever({ query: { match: { text: '{{query}}' } } })).toThrow(
      'retriever.query.match.text: {{query}} is not a placeholder',
    );
  });
});

describe('a vector search', () => {
  it('follows the API of Elasticsearch', async () => {
    await ask({ mode: 'knn', filter: { lang: 'en' } });
    expect(bodies()).toStrictEqual([
      {
        size: 10,
        knn: {
          field: 'vector',
          query_vector: [0.5, -1],
          k: 10,
          num_candidates: 100,
          filter: [{ term: { lang: 'en' } }],
        },
        _source: false,
      },
    ]);
  });

  it('follows the API of OpenSearch, with the filter inside the k-NN clause', async () => {
    await ask({ mode: 'knn', kind: 'opensearch', filter: { lang: 'en' } });
    await ask({ mode: 'knn', kind: 'opensearch' });
    expect(bodies()).toStrictEqual([
      {
        size: 10,
        query: {
          knn: {
            vector: { vector: [0.5, -1], k: 100, filter: { bool: { filter: [{ term: { lang: 'en' } }] } } },
          },
        },
        _source: false,
      },
      { size: 10, query: { knn: { vector: { vector: [0.5, -1], k: 100 } } }, _source: false },
    ]);
  });

  it('never requests fewer candidates than documents', async () => {
    await ask({ mode: 'knn', num_candidates: 5 });
    expect(bodies()).toMatchObject([{ knn: { k: 10, num_candidates: 10 } }]);
  });

  it('reports the error code of the embedder, and does not query the engine', async () => {
    const unknown = { ...request, text: 'unknown' };
    expect(await aRetriever({ mode: 'knn' }).retrieve(unknown, never)).toMatchObject({
      kind: 'error',
      code: 'http_500',
    });
    expect(server.requests).toHaveLength(0);
  });
});

describe('a hybrid search', () => {
  const words = hits([aHit('w1', 9), aHit('both', 8), aHit('w3', 7)]);
  const vectors = hits([aHit('v1', 0.9), aHit('v2', 0.8), aHit('both', 0.7)]);

  it('combines keyword and vector results by reciprocal rank fusion', async () => {
    server.respondWith(when(isKnn, vectors, words));
    expect(await aRetriever({ mode: 'hybrid' }).retrieve({ ...request, k: 4 }, never)).toMatchObject({
      kind: 'documents',
      documents: [
        { id: 'both', score: 1 / 62 + 1 / 63 },
        { id: 'w1', score: 1 / 61 },
        { id: 'v1', score: 1 / 61 },
        { id: 'v2', score: 1 / 62 },
      ],
    });
    expect(bodies()).toMatchObject([{ size: 100 }, { size: 100 }]);
  });

  it('returns the results of each side on request', async () => {
    server.respondWith(when(isKnn, vectors, words));
    expect(await aRetriever({ mode: 'hybrid' }).retrieve({ ...request, withStages: true }, never)).toMatchObject({
      stages: [
        { name: 'words', isSide: true, documents: [{ id: 'w1' }, { id: 'both' }, { id: 'w3' }] },
        { name: 'vectors', isSide: true, documents: [{ id: 'v1' }, { id: 'v2' }, { id: 'both' }] },
      ],
    });
  });

  it('uses the configured rank constant', async () => {
    server.respondWith(when(isKnn, vectors, words));
    expect(await ask({ mode: 'hybrid', rank_constant: 1 })).toMatchObject({
      documents: [{ id: 'both', score: 1 / 3 + 1 / 4 }, { id: 'w1', score: 1 / 2 }, {}, {}, {}],
    });
  });

  it.each([
    ['words', (fault: Responder) => when(isKnn, vectors, fault)],
    ['vectors', (fault: Responder) => when(isKnn, fault, words)],
  ])(
    'fails if the search by %s fails, since half of the results would measure another retriever',
    async (_, faulty) => {
      server.respondWith(faulty(status(400)));
      expect(await ask({ mode: 'hybrid' })).toMatchObject({ kind: 'error', code: 'http_400' });
    },
  );
});

describe('the documents of a search', () => {
  const content = 'passage.body';

  it('include their texts if a reranker needs them', async () => {
    server.respondWith(
      hits([
        aHit('d1', 3, { passage: { body: 'one' } }),
        aHit('d2', 2, { 'passage.body': 'two' }),
        aHit('d3', 1, {}),
        aHit('d4', 1, { passage: { body: ['a list'] } }),
      ]),
    );
    const answer = await ask({ content }, true);
    expect(answer).toMatchObject({
      documents: [{ text: 'one' }, { text: 'two' }, { text: null }, { text: null }],
    });
    expect(JSON.stringify(await ask({ content }))).not.toContain('text');
    expect(bodies()).toMatchObject([{ _source: ['passage.body'] }, { _source: false }]);
  });

  it('can have their id in a field, as text or as a number of any length', async () => {
    server.respondWith(
      raw(
        '{"hits":{"hits":[{"_id":"x","_score":1,"_source":{"meta":{"doc":"a"}}},{"_score":null,"_source":{"meta":{"doc":12345678901234567890}}},{"_score":0.5,"_source":{"meta":{"doc":7}}}]}}',
      ),
    );
    expect(await ask({ id: 'meta.doc' })).toMatchObject({
      documents: [
        { id: 'a', score: 1 },
        { id: '12345678901234567890', score: null },
        { id: '7', score: 0.5 },
      ],
    });
    expect(bodies()).toMatchObject([{ _source: ['meta.doc'] }]);
  });
});

describe('a failure of a search', () => {
  it.each<[what: string, responder: Responder, code: string]>([
    ['a query that the engine rejects', status(400), 'http_400'],
    ['an index that does not exist', status(404), 'http_404'],
    ['an outage', status(503), 'http_503'],
    ['too many calls', tooManyRequests('3600'), 'http_429'],
    ['a web page', raw('<html>'), 'not_json'],
    ['an answer without hits', json({ acknowledged: true }), 'no_result_list'],
    ['a search that the engine cut short', hits([aHit('d1', 1)], { timed_out: true }), 'search_timed_out'],
    ['shards that are missing', hits([aHit('d1', 1)], { _shards: { failed: 1 } }), 'shards_failed'],
    ['a hit without an id', hits([aHit('d1', 1), aHit(undefined, 1)]), 'missing_id'],
    ['an empty id', hits([aHit('', 1)]), 'missing_id'],
  ])('has a code for %s, and no query text in its message', async (_, responder, code) => {
    server.respondWith(responder);
    const failed = await ask();
    expect(failed).toMatchObject({ kind: 'error', code, attempts: 1 });
    expect(JSON.stringify(failed)).not.toContain('question');
  });

  it('is retried if the engine is busy', async () => {
    server.respondWith(inTurn(tooManyRequests('0'), hits([aHit('d1', 1)])));
    expect(await ask()).toMatchObject({ kind: 'documents' });
  });

  it('is a timeout if the engine hangs, and an abort rejects the call with its reason', async () => {
    server.respondWith(hang());
    expect(await aRetriever({}, 50).retrieve(request, never)).toMatchObject({ kind: 'timeout' });
    const stop = new AbortController();
    const asking = aRetriever({ mode: 'hybrid' }).retrieve(request, stop.signal);
    await expect.poll(() => server.requests.length).toBe(3);
    stop.abort(new Error('the daemon stops'));
    await expect(asking).rejects.toThrow('the daemon stops');
  });
});
