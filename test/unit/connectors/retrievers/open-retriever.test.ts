import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseConfig } from '../../../../src/app/config/parse.ts';
import type { Config } from '../../../../src/app/config/schema.ts';
import { closePipelines, createPipelines } from '../../../../src/app/pipelines.ts';
import type { RetrieverAnswer } from '../../../../src/connectors/retrievers/retriever.ts';
import type { WatchedPipeline } from '../../../../src/golden/watched-pipeline.ts';
import { never } from '../../../support/connectors.ts';
import { documents, type FaultServer, json, startFaultServer } from '../../../support/fault-server.ts';
import { silentLogger } from '../../../support/log.ts';

let server: FaultServer;
beforeEach(async () => {
  server = await startFaultServer(documents([{ id: 'd1', score: 0.5 }]));
});
afterEach(() => server.close());

function configOf(pipeline: object): Config {
  return parseConfig(JSON.stringify({ pipelines: [{ name: 'docs', ...pipeline }] }), 'recalld.yaml', {}, () => '');
}

/** Sends one query to a pipeline's retriever, as a golden run does. */
async function ask(pipeline: object): Promise<RetrieverAnswer> {
  const built = createPipelines(configOf(pipeline), silentLogger);
  try {
    const question = { text: 'a question', k: 5, tags: { lang: 'en' } };
    return await (built[0] as WatchedPipeline).retriever.retrieve(question, never);
  } finally {
    await closePipelines(built);
  }
}

const bodies = () => server.requests.map(({ body }) => JSON.parse(body) as unknown);
const vectors = json({ data: [{ index: 0, embedding: [1, 2] }] });
const hits = json({ hits: { hits: [{ _id: 'd1', _score: 2, _source: { body: 'text of d1' } }] } });

describe('a retriever of the config', () => {
  it('over HTTP has a default body', async () => {
    expect(await ask({ retriever: { kind: 'http', url: server.url } })).toMatchObject({
      documents: [{ id: 'd1', score: 0.5 }],
    });
    expect(bodies()).toEqual([{ query: 'a question', k: 5 }]);
  });

  it.each([
    ['elasticsearch', { api_key: 'k' }, 'ApiKey k'],
    ['opensearch', { api_key: 'k' }, 'ApiKey k'],
    ['elasticsearch', { username: 'ann', password: 'pw' }, 'Basic YW5uOnB3'],
    ['opensearch', { username: 'ann', password: 'pw', headers: { Authorization: 'Own' } }, 'Own'],
  ])('over %s authenticates with %o', async (kind, credentials, authorization) => {
    server.respondWith(hits);
    await ask({ retriever: { kind, url: server.url, index: 'docs', ...credentials } });
    expect(server.requests[0]).toMatchObject({ target: '/docs/_search', headers: { authorization } });
  });

  it.each([
    ['elasticsearch', { knn: { field: 'embedding', query_vector: [1, 2], num_candidates: 100 } }],
    ['opensearch', { query: { knn: { embedding: { vector: [1, 2], k: 100 } } } }],
  ])('over %s gets vectors from its embedder', async (kind, search) => {
    server.respondWith((request, response) =>
      (request.target === '/v1/embeddings' ? vectors : hits)(request, response),
    );
    const embedder = { kind: 'openai', base_url: `${server.url}/v1`, model: 'm', api_key: 'k' };
    const retriever = { kind, url: server.url, index: 'docs', mode: 'knn' };
    expect(await ask({ retriever, embedder })).toMatchObject({ documents: [{ id: 'd1' }] });
    expect(bodies()).toMatchObject([{ model: 'm', input: ['a question'] }, search]);
    expect(server.requests[0]?.headers).toMatchObject({ authorization: 'Bearer k' });
  });

  it.each([
    ['tei', '/rerank', { query: 'a question', texts: ['text of d1'] }],
    ['cohere', '/v2/rerank', { model: 'm', documents: ['text of d1'], top_n: 1 }],
  ])('is reranked by %s', async (kind, target, body) => {
    const scores = json(kind === 'tei' ? [{ index: 0, score: 7 }] : { results: [{ index: 0, relevance_score: 7 }] });
    server.respondWith((request, response) => (request.target === target ? scores : hits)(request, response));
    const retriever = {
      kind: 'rerank',
      candidates: 20,
      of: { kind: 'elasticsearch', url: server.url, index: 'docs', content: 'body' },
      reranker: { kind, url: server.url, api_key: 'k', ...(kind === 'cohere' ? { model: 'm' } : {}) },
    };
    expect(await ask({ retriever })).toMatchObject({ documents: [{ id: 'd1', score: 7 }] });
    expect(bodies()).toMatchObject([{ size: 20, _source: ['body'] }, body]);
    expect(server.requests[1]).toMatchObject({ target, headers: { authorization: 'Bearer k' } });
  });

  it('can be a program, which stops with its pipeline', async () => {
    const source = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id } = JSON.parse(line);
      console.log(JSON.stringify({ id, documents: [{ id: String(process.pid) }] }));
    });`;
    const answer = await ask({ retriever: { kind: 'command', command: [process.execPath, '-e', source] } });
    const pid = answer.kind === 'documents' ? Number(answer.documents[0]?.id) : 0;
    expect(pid).toBeGreaterThan(0);
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});

describe('a pipeline that cannot be built', () => {
  const engine = { kind: 'elasticsearch', url: 'http://es', index: 'docs' };

  it.each<[pipeline: object, message: string]>([
    [{ retriever: { ...engine, url: 'es:9200' } }, 'retriever.url: '],
    [{ retriever: { ...engine, query: { a: '{{x}}' } } }, 'retriever.query.a: {{x}} is not a placeholder'],
    [{ retriever: { ...engine, filter: { a: '{{x}}' } } }, 'retriever.filter.a: {{x}} is not a placeholder'],
    [
      { retriever: { kind: 'http', url: 'http://rag/', tls: { ca_file: '/nowhere.pem' } } },
      'retriever.tls.ca_file: /nowhere.pem does not exist',
    ],
    [
      {
        retriever: { kind: 'http', url: 'http://rag/' },
        embedder: { kind: 'tei', base_url: 'models:80' },
      },
      'embedder.base_url: ',
    ],
    [
      {
        retriever: {
          kind: 'rerank',
          of: { kind: 'http', url: 'http://rag/', body: '{{x}}', results: { text: 't' } },
          reranker: { kind: 'tei', url: 'http://models' },
        },
      },
      'retriever.of.body: {{x}} is not a placeholder',
    ],
    [
      {
        retriever: {
          kind: 'rerank',
          of: { kind: 'http', url: 'http://rag/', results: { text: 't' } },
          reranker: { kind: 'tei', url: 'http://models', headers: { 'a b': 'c' } },
        },
      },
      'retriever.reranker.headers.a b: ',
    ],
  ])('is rejected with its position and name: %j', (pipeline, message) => {
    const build = () => createPipelines(configOf(pipeline), silentLogger);
    expect(build).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message: expect.stringContaining(`pipelines[0] (docs): ${message}`),
      }),
    );
  });
});

describe('a retriever program', () => {
  it('starts in its configured folder', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'recalld-folder-'));
    const source = `process.stdin.once('data', (line) => {
      console.log(JSON.stringify({ id: JSON.parse(line).id, documents: [{ id: process.cwd() }] }));
    });`;
    const command = [process.execPath, '-e', source];
    const answer = await ask({ retriever: { kind: 'command', command, directory: folder } });
    rmSync(folder, { recursive: true });
    expect(answer).toMatchObject({ documents: [{ id: folder }] });
  });
});
