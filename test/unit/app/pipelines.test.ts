import { describe, expect, it, onTestFinished } from 'vitest';
import { parseConfig } from '../../../src/app/config/parse.ts';
import { closePipelines, createPipelines } from '../../../src/app/pipelines.ts';
import { findPipeline, scheduleOf, type WatchedPipeline } from '../../../src/golden/watched-pipeline.ts';
import { aWatchedPipeline } from '../../support/builders.ts';
import { json, startFaultServer } from '../../support/fault-server.ts';
import { silentLogger } from '../../support/log.ts';
import { waitFor } from '../../support/wait-for.ts';

function pipelinesOf(rest: string, retriever = 'kind: http, url: "http://rag/"'): WatchedPipeline[] {
  const text = `pipelines: [{name: docs, retriever: {${retriever}}, ${rest}}]`;
  return createPipelines(
    parseConfig(text, 'recalld.yaml', {}, () => ''),
    silentLogger,
  );
}

describe('a pipeline of the config', () => {
  it('is monitored as configured', () => {
    const golden =
      'golden: [{set: faq, cron: "0 * * * *", timezone: Europe/Paris, cutoffs: [10, 1, 10], on_error: void, error_budget: 0.2, max_per_second: 7}]';
    const [pipeline] = pipelinesOf(
      `${golden}, segments: {keys: [lang], max: 3}, checks: [{measure: ndcg@10, below: 0.8, severity: warning}]`,
    );
    expect(pipeline).toMatchObject({
      name: 'docs',
      timeoutMs: 2000,
      checks: [{ kind: 'floor', measure: 'ndcg@10', below: 0.8, severity: 'warning' }],
      golden: [
        {
          set: 'faq',
          cron: { expression: '0 * * * *', timezone: 'Europe/Paris' },
          settings: {
            cutoffs: [1, 10],
            relevanceLevel: 1,
            concurrency: 4,
            maxPerSecond: 7,
            onError: 'void',
            errorBudget: 0.2,
            segmentKeys: ['lang'],
            maxSegments: 3,
          },
        },
      ],
    });
  });

  it('has no schedule for a golden set that runs manually', () => {
    expect(pipelinesOf('golden: [{set: faq}]')[0]?.golden[0]?.cron).toBeNull();
  });

  it('is rejected with its index and name if a retriever template is invalid', () => {
    expect(() => pipelinesOf('golden: []', 'kind: http, url: "http://rag/", body: {q: "{{txt}}"}')).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message: expect.stringMatching(/^pipelines\[0\] \(docs\): retriever\.body\.q.*txt/),
      }),
    );
  });

  it('has its checks in the order of the config', () => {
    const [pipeline] = pipelinesOf(
      'golden: [{set: faq}], checks: [{measure: mrr@5, below: 0.5}, {regression: mrr@5, drop: 0.1}, {stale_labels_above: 0.1}]',
    );
    expect(pipeline?.checks.map(({ kind }) => kind)).toEqual(['floor', 'regression', 'stale_labels']);
  });
});

describe('finding a pipeline', () => {
  it('by an unknown name fails with the known names', () => {
    const pipelines = [aWatchedPipeline({ name: 'a' }), aWatchedPipeline({ name: 'b' })];
    expect(findPipeline(pipelines, 'b')).toBe(pipelines[1]);
    expect(() => findPipeline(pipelines, 'c')).toThrow('The config has no pipeline "c". Known pipelines: a, b.');
  });

  it('fails with the config key to add if there are no pipelines', () => {
    expect(() => findPipeline([], 'c')).toThrow('The config has no pipelines; add a pipeline under `pipelines`.');
  });
});

describe('a golden set that the config does not name', () => {
  it('runs with the defaults of the config', () => {
    const [pipeline] = pipelinesOf('golden: [{set: faq}]');
    if (pipeline === undefined) throw new Error('there is no pipeline');
    expect(scheduleOf(pipeline, 'other')).toEqual({ ...scheduleOf(pipeline, 'faq'), set: 'other' });
  });
});

it('closing pipelines closes all connections of their retrievers, stores and embedders', async () => {
  const answers: Readonly<Record<string, unknown>> = {
    '/v1/embeddings': { data: [{ index: 0, embedding: [1, 0] }] },
    '/docs/_search': { hits: { hits: [{ _id: 'd1', _score: 1, _source: { body: 'a text' } }] } },
    '/rerank': [{ index: 0, score: 1 }],
  };
  const server = await startFaultServer((request, response) => json(answers[request.target] ?? {})(request, response));
  onTestFinished(() => server.close());
  const { url } = server;
  const first = `{kind: elasticsearch, url: "${url}", index: docs, mode: knn, content: body}`;
  const pipelines = pipelinesOf(
    `vector_store: {kind: qdrant, url: "${url}", collection: c}, embedder: {kind: openai, base_url: "${url}/v1", model: m}`,
    `kind: rerank, of: ${first}, reranker: {kind: tei, url: "${url}"}`,
  );
  const [pipeline] = pipelines;
  const { signal } = new AbortController();
  const answer = await pipeline?.retriever.retrieve({ text: 'a question', k: 1, tags: {} }, signal);
  expect(answer).toMatchObject({ kind: 'documents' });
  await pipeline?.store?.describe(signal);
  expect(server.openConnections).toBe(4);
  await closePipelines(pipelines);
  // Idle connections close by themselves only after 4 s.
  await waitFor(() => server.openConnections === 0, { timeoutMs: 3000 });
});
