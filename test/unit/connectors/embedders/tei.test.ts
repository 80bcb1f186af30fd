import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { never, openEmbedder } from '../../../support/connectors.ts';
import { type FaultServer, json, type Responder, startFaultServer, status } from '../../../support/fault-server.ts';

let server: FaultServer;
beforeEach(async () => {
  server = await startFaultServer(lengths);
});
afterEach(() => server.close());

/** The response format of https://huggingface.github.io/text-embeddings-inference: a list of vectors. */
const lengths: Responder = (request, response) => {
  const { inputs } = JSON.parse(request.body) as { inputs: string[] };
  json(inputs.map((text) => [text.length, 1]))(request, response);
};

const embedder = (promptName?: string, batchSize = 32) =>
  openEmbedder({ kind: 'tei', base_url: server.url, retries: 0, prompt_name: promptName, batch_size: batchSize });

describe('the embedder of Text Embeddings Inference', () => {
  it('follows its API, batch by batch', async () => {
    expect(await embedder('query', 2).embed(['a', 'bb', 'ccc'], never)).toMatchObject({
      vectors: [new Float32Array([1, 1]), new Float32Array([2, 1]), new Float32Array([3, 1])],
    });
    expect(server.requests.map(({ method, target }) => `${method} ${target}`)).toEqual(['POST /embed', 'POST /embed']);
    expect(server.requests.map(({ body }) => JSON.parse(body) as unknown)).toStrictEqual([
      { inputs: ['a', 'bb'], truncate: true, prompt_name: 'query' },
      { inputs: ['ccc'], truncate: true, prompt_name: 'query' },
    ]);
  });

  it('has its prompt in its identity, and sends no prompt by default', async () => {
    expect([embedder().identity, embedder('query').identity]).toEqual(['tei', 'tei query']);
    await embedder().embed(['a'], never);
    expect(JSON.parse(server.requests[0]?.body ?? '')).toStrictEqual({ inputs: ['a'], truncate: true });
  });

  it.each<[what: string, responder: Responder, code: string]>([
    ['a batch that is too large', status(413), 'http_413'],
    ['a model that embeds nothing', status(424), 'http_424'],
    ['an error in place of the list', json({ error: 'overloaded' }), 'no_vector'],
    ['a row that is not a vector', json([[1], 'x']), 'no_vector'],
    ['a missing row', json([[1]]), 'wrong_count'],
    ['rows of different lengths', json([[1], [1, 2]]), 'length_mismatch'],
    ['a row of zeros', json([[1], [0]]), 'zero_vector'],
  ])('reports a code for %s', async (_, responder, code) => {
    server.respondWith(responder);
    expect(await embedder().embed(['a', 'b'], never)).toMatchObject({ kind: 'failed', code });
  });
});
