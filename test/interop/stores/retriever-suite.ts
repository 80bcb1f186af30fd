/** Tests the results of a search-engine retriever on a real engine: by keywords, by vectors, and by both. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bruteForce } from '../../../src/connectors/stores/store-tests/subject.ts';
import type { StoreService, TestIndex } from '../../contract/vector-store-bench.ts';
import { never, openRetriever, type RetrieverInput } from '../../support/connectors.ts';
import { memoryEmbedder } from '../../support/memory-embedder.ts';
import { searchEngineService } from '../../support/search-engines.ts';
import { queriesLike, topicByTopic, type VectorDocument } from '../../support/vector-documents.ts';
import type { RunningStore } from './real-stores.ts';

const shape = { count: 60, dimensions: 16, topics: 6 };
const words = ['reset', 'password', 'invoice', 'refund', 'shipping', 'warranty'];
/** Each topic has a unique word, and each document a unique number. */
const documents = topicByTopic(shape).map((document, place): VectorDocument => {
  const [word = '', next = ''] = [words[Math.floor(place / 10)], words[Math.floor(place / 10 + 1) % words.length]];
  return { ...document, content: place % 10 === 0 ? `${word} ${next} and more of it` : `${word} number ${place}` };
});
const [vector = new Float32Array()] = queriesLike(shape, 1);
const embedder = memoryEmbedder({ 'reset password': [...vector] });

export function describeSearchEngineRetriever(
  kind: 'elasticsearch' | 'opensearch',
  start: () => Promise<Pick<RunningStore, 'url' | 'stop'>>,
): void {
  let running: Pick<RunningStore, 'url' | 'stop'>;
  let service: StoreService;
  let index: TestIndex;

  beforeAll(async () => {
    running = await start();
    service = searchEngineService(kind, running.url, () => running.stop());
    index = await service.createIndex({ metric: 'cosine', dimensions: shape.dimensions });
    await index.add(documents);
  });
  afterAll(async () => {
    await index.drop();
    await service.stop();
  });

  /** Returns the retriever's results for `reset password`, with the results of earlier stages. */
  const retrieve = async (changes: Partial<RetrieverInput<'opensearch'>>, k = 5) => {
    const config = { url: running.url, retries: 0, index: index.name ?? '', id: 'doc_id', ...changes };
    const retriever = openRetriever({ kind, ...config }, { embedder });
    try {
      return await retriever.retrieve({ text: 'reset password', k, tags: { language: 'de' }, withStages: true }, never);
    } finally {
      await retriever.close?.();
    }
  };
  const found = async (...request: Parameters<typeof retrieve>) => {
    const answer = await retrieve(...request);
    if (answer.kind !== 'documents') throw new Error(JSON.stringify(answer));
    return answer;
  };
  const german = documents.filter(({ fields }) => fields.language === 'de');
  const nearest = (among: readonly VectorDocument[], k: number) =>
    bruteForce(among, vector, k, 'cosine').map(({ id }) => id);
  const idsOf = (answer: Awaited<ReturnType<typeof found>>) => answer.documents.map(({ id }) => id);

  it('ranks documents by keywords, with the document that has both words first, and scores in decreasing order', async () => {
    const answer = await found({ mode: 'bm25', fields: ['text'] });
    const [first, ...others] = idsOf(answer);
    expect(first).toBe('doc-00000');
    expect(others).toHaveLength(4);
    const withWord = new Set(documents.filter(({ content }) => /reset|password/.test(content)).map(({ id }) => id));
    expect(others.filter((id) => !withWord.has(id))).toEqual([]);
    const scores = answer.documents.map(({ score }) => score ?? 0);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(scores[0]).toBeGreaterThan(scores[1] ?? 0);
  });

  it('sends a custom query with a filter on a tag', async () => {
    const query = { multi_match: { query: '{{text}}', fields: ['text^3', 'topic'], type: 'best_fields' } };
    const answer = await found({ mode: 'bm25', query, filter: { language: '{{tags.language}}' } }, 60);
    const expected = german.filter(({ content }) => /reset|password/.test(content)).map(({ id }) => id);
    expect(idsOf(answer).toSorted()).toEqual(expected.toSorted());
  });

  it('returns the nearest documents by vectors, with and without a filter', async () => {
    expect(idsOf(await found({ mode: 'knn' }))).toEqual(nearest(documents, 5));
    const filtered = await found({ mode: 'knn', filter: { language: '{{tags.language}}' } });
    expect(idsOf(filtered)).toEqual(nearest(german, 5));
  });

  it('combines keywords and vectors, and returns the results of each as a stage', async () => {
    const answer = await found({ mode: 'hybrid', fields: ['text'], num_candidates: 20 });
    const [byWords, byVectors] = answer.stages ?? [];
    expect([byWords?.name, byVectors?.name]).toEqual(['words', 'vectors']);
    expect(byVectors?.documents.map(({ id }) => id)).toEqual(nearest(documents, 20));
    const sides = [byWords, byVectors].map((stage) => stage?.documents.map(({ id }) => id) ?? []);
    for (const id of idsOf(answer)) expect(sides.some((ids) => ids.includes(id))).toBe(true);
    expect(answer.documents).toHaveLength(5);
  });

  it('reports a missing index and a field without vectors as errors', async () => {
    expect(await retrieve({ mode: 'bm25', index: 'recalld_test_none' })).toMatchObject({
      kind: 'error',
      code: 'http_404',
    });
    expect(await retrieve({ mode: 'knn', embedding: 'text' })).toMatchObject({ kind: 'error', code: 'http_400' });
  });
}
