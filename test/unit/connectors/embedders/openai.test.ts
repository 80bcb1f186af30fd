import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { never, openEmbedder } from '../../../support/connectors.ts';
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
  server = await startFaultServer(answer([entry(0, [1, 0])]));
});
afterEach(() => server.close());

interface Entry {
  readonly object: 'embedding';
  readonly index: unknown;
  readonly embedding: unknown;
}

function entry(index: unknown, embedding: unknown): Entry {
  return { object: 'embedding', index, embedding };
}

/** The response format of https://platform.openai.com/docs/api-reference/embeddings. */
function answer(data: readonly Entry[]): Responder {
  return json({ object: 'list', data, model: 'm', usage: { prompt_tokens: 8, total_tokens: 8 } });
}

/** A vector for each text in the request, in reverse order. */
const backwards: Responder = (request, response) => {
  const { input } = JSON.parse(request.body) as { input: string[] };
  answer(input.map((text, index) => entry(index, [text.length, 1])).toReversed())(request, response);
};

function base64(...values: readonly number[]): string {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}

interface Options {
  readonly path?: string;
  readonly dimensions?: number;
  readonly batchSize?: number;
  readonly timeoutMs?: number;
  readonly retries?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

function embedder({ path = '/v1', batchSize = 64, timeoutMs = 5000, retries = 0, ...config }: Options = {}) {
  return openEmbedder({
    kind: 'openai',
    base_url: `${server.url}${path}`,
    model: 'text-embedding-3-small',
    batch_size: batchSize,
    timeout_ms: timeoutMs,
    retries,
    ...config,
  });
}

const bodies = () => server.requests.map(({ body }) => JSON.parse(body) as unknown);

describe('an OpenAI-compatible embedder', () => {
  it('follows the API', async () => {
    await embedder({ headers: { authorization: 'Bearer k' } }).embed(['a text'], never);
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      target: '/v1/embeddings',
      headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    });
    expect(bodies()).toStrictEqual([{ model: 'text-embedding-3-small', input: ['a text'], encoding_format: 'float' }]);
  });

  it('requests vectors of the configured length', async () => {
    await embedder({ dimensions: 2 }).embed(['a'], never);
    expect(bodies()).toMatchObject([{ dimensions: 2 }]);
  });

  it('follows the API of Azure: the API version in the address, the key in a header', async () => {
    const azure = embedder({
      path: '/openai/deployments/small?api-version=2024-10-21',
      headers: { 'api-key': 'k' },
    });
    expect(await azure.embed(['a'], never)).toMatchObject({ kind: 'vectors' });
    expect(server.requests[0]).toMatchObject({
      target: '/openai/deployments/small/embeddings?api-version=2024-10-21',
      headers: { 'api-key': 'k' },
    });
  });

  it('has the model and the vector length in its identity, since both change the vectors', () => {
    expect(embedder().identity).toBe('openai text-embedding-3-small');
    expect(embedder({ dimensions: 256 }).identity).toBe('openai text-embedding-3-small 256');
  });

  it('returns the vectors of all batches in the order of the texts, whatever the order of the response', async () => {
    server.respondWith(backwards);
    const texts = ['a', 'bb', 'ccc', 'dddd', 'eeeee'];
    const embedded = await embedder({ batchSize: 2 }).embed(texts, never);
    expect(embedded).toMatchObject({ vectors: texts.map((text) => new Float32Array([text.length, 1])) });
    expect(bodies()).toMatchObject([{ input: ['a', 'bb'] }, { input: ['ccc', 'dddd'] }, { input: ['eeeee'] }]);
  });

  it('sends no request without texts', async () => {
    expect(await embedder().embed([], never)).toEqual({ kind: 'vectors', vectors: [], latencyMs: 0 });
    expect(server.requests).toHaveLength(0);
  });

  it('reads base64 of little-endian float32, which some gateways always return', async () => {
    server.respondWith(answer([entry(0, base64(0.25, -1.5, 3e-9)), entry(1, [1, 2, 3])]));
    expect(await embedder().embed(['a', 'b'], never)).toMatchObject({
      vectors: [new Float32Array([0.25, -1.5, 3e-9]), new Float32Array([1, 2, 3])],
    });
  });

  it('is retried if the service is busy', async () => {
    server.respondWith(inTurn(tooManyRequests('0'), status(503), answer([entry(0, [1])])));
    expect(await embedder({ retries: 2 }).embed(['a'], never)).toMatchObject({ kind: 'vectors' });
  });

  it('rejects an aborted call with the reason of the abort', async () => {
    server.respondWith(hang());
    const stop = new AbortController();
    const embedding = embedder().embed(['a'], stop.signal);
    await expect.poll(() => server.requests.length).toBe(1);
    stop.abort(new Error('the daemon stops'));
    await expect(embedding).rejects.toThrow('the daemon stops');
  });
});

describe('a failure of an OpenAI-compatible embedder', () => {
  it.each<[what: string, responder: Responder, code: string, message: string]>([
    ['a rejected API key', status(401), 'http_401', 'check embedder.api_key'],
    ['a wrong address', status(404), 'http_404', 'check embedder.base_url'],
    ['an outage', status(500), 'http_500', '500'],
    ['too many calls', tooManyRequests('3600'), 'http_429', '429'],
    ['a web page', raw('<html>'), 'not_json', 'check embedder.base_url'],
    ['NaN, as Python writes it', raw('{"data":[{"index":0,"embedding":[NaN]}]}'), 'not_json', 'not return JSON'],
    ['an answer of another API', json({ embeddings: [[1]] }), 'no_vector', 'no `data` list'],
    ['too few vectors', answer([entry(0, [1])]), 'wrong_count', '1 vector for 2 texts'],
    ['no index', answer([entry(0, [1]), entry(undefined, [1])]), 'missing_index', 'element 1'],
    ['a duplicate index', answer([entry(1, [1]), entry(1, [1])]), 'missing_index', 'index 1 twice'],
    ['an index out of range', answer([entry(0, [1]), entry(2, [1])]), 'missing_index', 'element 1'],
    ['no vector', answer([entry(0, [1]), entry(1, null)]), 'no_vector', 'element 1'],
    ['an empty vector', answer([entry(0, [1]), entry(1, [])]), 'no_vector', 'element 1'],
    ['broken base64', answer([entry(0, base64(1)), entry(1, 'AAA')]), 'no_vector', 'element 1'],
    ['null in a vector', answer([entry(0, [1]), entry(1, [null])]), 'not_a_number', 'vector 1'],
    ['NaN in base64', answer([entry(0, [1]), entry(1, base64(Number.NaN))]), 'not_a_number', 'vector 1'],
    ['a number beyond float32', answer([entry(0, [1]), entry(1, [1e300])]), 'not_a_number', 'vector 1'],
    ['different lengths', answer([entry(0, [1]), entry(1, [1, 2])]), 'length_mismatch', 'vector 1 has 2 numbers'],
    ['the zero vector', answer([entry(0, [1, 0]), entry(1, [0, 0])]), 'zero_vector', 'text 1'],
  ])('has a code, and no input text in its message: %s', async (_, responder, code, message) => {
    server.respondWith(responder);
    const failed = await embedder().embed(['first secret', 'second secret'], never);
    expect(failed).toMatchObject({ kind: 'failed', code, message: expect.stringContaining(message) });
    expect(JSON.stringify(failed)).not.toContain('secret');
  });

  it('is reported if vectors do not have the requested length', async () => {
    expect(await embedder({ dimensions: 3 }).embed(['a'], never)).toMatchObject({
      code: 'dimension_mismatch',
      message: expect.stringContaining('embedder.dimensions is 3'),
    });
  });

  it('is a timeout if the service hangs', async () => {
    server.respondWith(hang());
    expect(await embedder({ timeoutMs: 50 }).embed(['a'], never)).toMatchObject({ code: 'timeout' });
  });

  it('of a later batch fails the call without further requests', async () => {
    server.respondWith(inTurn(backwards, status(500), backwards));
    expect(await embedder({ batchSize: 1 }).embed(['a', 'b', 'c'], never)).toMatchObject({
      code: 'http_500',
    });
    expect(server.requests).toHaveLength(2);
  });

  it('is reported if vector lengths differ between batches', async () => {
    server.respondWith(inTurn(answer([entry(0, [1])]), answer([entry(0, [1, 2])])));
    expect(await embedder({ batchSize: 1 }).embed(['a', 'b'], never)).toMatchObject({
      code: 'length_mismatch',
    });
  });
});
