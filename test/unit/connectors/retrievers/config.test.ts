import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { redactConfig } from '../../../../src/app/config/inspect.ts';
import { parseConfig } from '../../../../src/app/config/parse.ts';
import type { Config } from '../../../../src/app/config/schema.ts';
import { RecalldError } from '../../../../src/core/errors.ts';

function parse(pipeline: object): Config {
  return parseConfig(JSON.stringify({ pipelines: [{ name: 'docs', ...pipeline }] }), 'recalld.yaml', {}, () => '');
}

function problemOf(pipeline: object): string | null {
  try {
    parse(pipeline);
  } catch (error) {
    if (error instanceof RecalldError && error.code === 'config_invalid') {
      return error.message.replace(/^recalld\.yaml: pipelines\[0\]\./, '');
    }
    throw error;
  }
  return null;
}

const store = { kind: 'pgvector', url: 'postgres://db/docs', table: 'chunks' };
const embedder = { kind: 'openai', base_url: 'http://models/v1', model: 'm' };
const http = { kind: 'http', url: 'http://rag/' };
const engine = { kind: 'elasticsearch', url: 'http://es:9200', index: 'docs' };
const overStore = { kind: 'vector_store' };
const reranker = { kind: 'tei', url: 'http://models' };
const reranked = (of: object) => ({ kind: 'rerank', of, reranker });

describe('a retriever', () => {
  it.each<[what: string, pipeline: object, problem: string | null]>([
    [
      'kind vector_store without a store',
      { retriever: overStore, embedder },
      'vector_store is missing; a retriever of kind vector_store requires it.',
    ],
    [
      'kind vector_store without an embedder',
      { retriever: overStore, vector_store: store },
      'embedder is missing; a retriever of kind vector_store requires it.',
    ],
    ['kind vector_store with both', { retriever: overStore, vector_store: store, embedder }, null],
    ['keyword search without an embedder', { retriever: engine }, null],
    [
      'vector search without an embedder',
      { retriever: { ...engine, mode: 'knn' } },
      'embedder is missing; a retriever of kind elasticsearch requires it.',
    ],
    [
      'hybrid search without an embedder',
      { retriever: { ...engine, kind: 'opensearch', mode: 'hybrid' } },
      'embedder is missing; a retriever of kind opensearch requires it.',
    ],
    ['hybrid search with an embedder', { retriever: { ...engine, mode: 'hybrid' }, embedder }, null],
    [
      'a first stage that requires an embedder, without one',
      { retriever: reranked({ ...engine, mode: 'knn', content: 'body' }) },
      'embedder is missing; a retriever of kind rerank requires it.',
    ],
  ])('is accepted only with the store and the embedder that it requires: %s', (_, pipeline, problem) => {
    expect(problemOf(pipeline)).toBe(problem);
  });

  const needsTexts = 'is missing; the reranker requires document texts.';

  it.each<[what: string, pipeline: object, problem: string | null]>([
    ['HTTP without texts', { retriever: reranked(http) }, `retriever.of.results.text ${needsTexts}`],
    ['HTTP with texts', { retriever: reranked({ ...http, results: { text: 'body' } }) }, null],
    ['a search engine without texts', { retriever: reranked(engine) }, `retriever.of.content ${needsTexts}`],
    ['a search engine with texts', { retriever: reranked({ ...engine, content: 'body' }) }, null],
    [
      'a store without texts',
      { retriever: reranked(overStore), vector_store: store, embedder },
      `vector_store.content ${needsTexts}`,
    ],
    [
      'a store with texts',
      { retriever: reranked(overStore), vector_store: { ...store, content: 'body' }, embedder },
      null,
    ],
    [
      'Chroma, which stores texts by default',
      {
        retriever: reranked(overStore),
        vector_store: { kind: 'chroma', url: 'http://chroma', collection: 'docs' },
        embedder,
      },
      null,
    ],
    ['a program, which may return texts', { retriever: reranked({ kind: 'command', command: ['./find'] }) }, null],
  ])('is accepted as a first stage only if it can return texts: %s', (_, pipeline, problem) => {
    expect(problemOf(pipeline)).toBe(problem);
  });

  it('cannot rerank the results of a reranker, nor use Cohere without a model', () => {
    expect(problemOf({ retriever: reranked(reranked(http)) })).toMatch(/^retriever\.of\.kind must be /);
    const cohere = {
      ...reranked({ ...http, results: { text: 'body' } }),
      reranker: { ...reranker, kind: 'cohere' },
    };
    expect(problemOf({ retriever: cohere })).toBe('retriever.reranker.model is missing; it must be text.');
  });
});

describe('the printed config', () => {
  const secret = 'XQ70ZJ7X0QZJ';
  const service = { api_key: secret, headers: { 'x-key': secret } };
  const secretUrl = `https://host/path?sig=${secret}`;

  it.each<[what: string, pipeline: object]>([
    ['an embedder', { retriever: http, embedder: { ...embedder, ...service, base_url: secretUrl } }],
    ['Text Embeddings Inference', { retriever: http, embedder: { kind: 'tei', ...service, base_url: secretUrl } }],
    [
      'a search engine',
      { retriever: { ...engine, ...service, url: secretUrl, password: secret, query: { token: secret } } },
    ],
    [
      'a reranker and its first stage',
      {
        retriever: {
          ...reranked({ ...http, url: secretUrl, results: { text: 'body' }, headers: { 'x-key': secret } }),
          reranker: { ...reranker, ...service, url: secretUrl },
        },
      },
    ],
    [
      'a program',
      {
        retriever: {
          kind: 'command',
          command: ['./find', '--key', secret],
          environment: { API_KEY: secret },
        },
      },
    ],
  ])('contains no secret of %s', (_, pipeline) => {
    const redacted = redactConfig(parse(pipeline));
    expect(`${stringify(redacted)}${JSON.stringify(redacted)}`).not.toContain(secret);
  });

  it('still shows the name of the program', () => {
    expect(redactConfig(parse({ retriever: { kind: 'command', command: ['./find', '--fast'] } }))).toMatchObject({
      pipelines: [{ retriever: { command: ['./find', '[redacted]'] } }],
    });
  });
});
