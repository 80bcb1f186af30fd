import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Reranker } from '../../../../src/connectors/models/reranker.ts';
import { httpService, never, openReranker } from '../../../support/connectors.ts';
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
} from '../../../support/fault-server.ts';

let server: FaultServer;
beforeEach(async () => {
  server = await startFaultServer(status(500));
});
afterEach(() => server.close());

const candidates = ['d1', 'd2', 'd3'].map((id) => ({ id, text: `text of ${id}` }));
const question = { text: 'a secret question', candidates, k: 2 };

interface Kind {
  readonly name: string;
  readonly create: (timeoutMs?: number) => Reranker;
  /** Responds with the given pairs of index and score, in the given order. */
  readonly scores: (...pairs: readonly (readonly [unknown, unknown])[]) => Responder;
}

const service = (timeoutMs = 5000) => httpService({ url: server.url, timeoutMs, retries: 1 });
const kinds: Kind[] = [
  {
    name: 'Text Embeddings Inference',
    create: (timeoutMs) => openReranker({ kind: 'tei', ...service(timeoutMs) }),
    // Follows the format of https://huggingface.github.io/text-embeddings-inference.
    scores: (...pairs) => json(pairs.map(([index, score]) => ({ index, score }))),
  },
  {
    name: 'Cohere',
    create: (timeoutMs) => openReranker({ kind: 'cohere', ...service(timeoutMs), model: 'rerank-v3.5' }),
    // Follows the format of https://docs.cohere.com/reference/rerank.
    scores: (...pairs) =>
      json({
        id: '07734bd2-2473-4f07-94e1-0d9f0e6843cf',
        results: pairs.map(([index, score]) => ({ index, relevance_score: score })),
        meta: { api_version: { version: '2' }, billed_units: { search_units: 1 } },
      }),
  },
];

describe.each(kinds)('the reranker of $name', ({ create, scores }) => {
  it('returns the candidates by score, whatever the order of the response', async () => {
    server.respondWith(scores([0, 0.1], [2, 0.9], [1, 0.5]));
    expect(await create().rerank(question, never)).toMatchObject({
      kind: 'ranking',
      documents: [
        { id: 'd3', score: 0.9 },
        { id: 'd2', score: 0.5 },
        { id: 'd1', score: 0.1 },
      ],
    });
  });

  it('keeps the order of the first stage among equal scores', async () => {
    server.respondWith(scores([2, 0.5], [0, 0.5], [1, 0.5]));
    const ranking = await create().rerank(question, never);
    expect(ranking).toMatchObject({ documents: [{ id: 'd1' }, { id: 'd2' }, { id: 'd3' }] });
  });

  it('retries a busy service', async () => {
    server.respondWith(inTurn(tooManyRequests('0'), scores([0, 1])));
    expect(await create().rerank(question, never)).toMatchObject({ kind: 'ranking' });
  });

  it.each<[what: string, code: string, respond: () => Responder]>([
    ['an outage', 'http_500', () => status(500)],
    ['a rejected API key', 'http_401', () => status(401)],
    ['a web page', 'not_json', () => raw('<html>')],
    ['an answer of another API', 'no_result_list', () => json({ data: [] })],
    ['no index', 'missing_index', () => scores([undefined, 0.5])],
    ['an index out of range', 'missing_index', () => scores([3, 0.5])],
    ['a duplicate index', 'missing_index', () => scores([1, 0.5], [1, 0.4])],
    ['no score', 'missing_score', () => scores([1, null])],
  ])('reports %s with a code, and without texts in the message', async (_, code, respond) => {
    server.respondWith(respond());
    const failed = await create().rerank(question, never);
    expect(failed).toMatchObject({ kind: 'failed', code });
    expect(JSON.stringify(failed)).not.toMatch(/secret|text of/);
  });

  it('times out if the service hangs, and rejects an aborted call with the reason of the abort', async () => {
    server.respondWith(hang());
    expect(await create(50).rerank(question, never)).toMatchObject({ kind: 'failed', code: 'timeout' });
    const stop = new AbortController();
    const reranking = create().rerank(question, stop.signal);
    await expect.poll(() => server.requests.length).toBe(2);
    stop.abort(new Error('the daemon stops'));
    await expect(reranking).rejects.toThrow('the daemon stops');
  });
});

describe('the request of a reranker', () => {
  const body = () => JSON.parse(server.requests.at(-1)?.body ?? '') as unknown;

  it('follows the API of Text Embeddings Inference', async () => {
    await kinds[0]?.create().rerank(question, never);
    expect(server.requests[0]).toMatchObject({ method: 'POST', target: '/rerank' });
    expect(body()).toStrictEqual({
      query: 'a secret question',
      texts: ['text of d1', 'text of d2', 'text of d3'],
      truncate: true,
    });
  });

  it('follows the API of Cohere', async () => {
    await kinds[1]?.create().rerank(question, never);
    expect(server.requests[0]).toMatchObject({ method: 'POST', target: '/v2/rerank' });
    expect(body()).toStrictEqual({
      model: 'rerank-v3.5',
      query: 'a secret question',
      documents: ['text of d1', 'text of d2', 'text of d3'],
      top_n: 2,
    });
  });

  it('is split at the batch size of Text Embeddings Inference, and the scores are combined', async () => {
    const many = Array.from({ length: 70 }, (_, index) => ({ id: `d${index}`, text: `${index}` }));
    server.respondWith((request, response) => {
      const { texts } = JSON.parse(request.body) as { texts: string[] };
      json(texts.map((text, index) => ({ index, score: Number(text) })))(request, response);
    });
    const ranking = await kinds[0]?.create().rerank({ ...question, candidates: many }, never);
    expect(server.requests.map(({ body }) => (JSON.parse(body) as { texts: string[] }).texts.length)).toEqual([
      32, 32, 6,
    ]);
    expect(ranking).toMatchObject({ documents: many.toReversed().map(({ id }) => ({ id })) });
  });
});
