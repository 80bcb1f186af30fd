import { describe, expect, it } from 'vitest';
import { createVectorStoreRetriever } from '../../../../src/connectors/retrievers/vector-store.ts';
import type {
  Nearest,
  NearestRequest,
  StoreOutcome,
  VectorStore,
} from '../../../../src/connectors/stores/vector-store.ts';
import { never } from '../../../support/connectors.ts';
import { silentLogger } from '../../../support/log.ts';
import { memoryEmbedder } from '../../../support/memory-embedder.ts';

const neighbours: Nearest['neighbours'] = [
  { id: 'd1', similarity: 0.9, score: 0.1, scoreKind: 'cosine_distance', content: 'one' },
  { id: 'd2', similarity: 0.4, score: 0.6, scoreKind: 'cosine_distance', content: null },
];

/** A store that supports only searches; a search returns `outcome` or hangs. */
function aStore(outcome: StoreOutcome<Nearest> | 'hangs') {
  const asked: NearestRequest[] = [];
  const nearest: VectorStore['nearest'] = (request, signal) => {
    asked.push(request);
    if (outcome !== 'hangs') return Promise.resolve(outcome);
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  };
  const notAsked = () => Promise.reject(new Error('only the search may be asked'));
  const store: VectorStore = {
    kind: 'memory',
    nearest,
    sample: notAsked,
    describe: notAsked,
    existing: notAsked,
    list: notAsked,
    chunks: notAsked,
    close: notAsked,
  };
  return { store, asked };
}

const found = (isShort = false): StoreOutcome<Nearest> => ({
  kind: 'ok',
  value: { neighbours, isShort },
  latencyMs: 5,
});

function aRetriever(
  store: VectorStore,
  { filter = {}, timeoutMs = 5000 }: { filter?: Record<string, string>; timeoutMs?: number } = {},
) {
  const embedder = memoryEmbedder({ question: [3, 4] });
  return createVectorStoreRetriever(
    { kind: 'vector_store', filter, timeout_ms: timeoutMs },
    { embedder, store, logger: silentLogger, repeatsAnswers: true },
    'retriever',
  );
}

const request = { text: 'question', k: 2, tags: { course: 'ml-101' } };

describe('a retriever over a vector store', () => {
  it('returns the nearest documents with their similarity; the latency includes the embedder and the store', async () => {
    const { store, asked } = aStore(found());
    expect(await aRetriever(store).retrieve(request, never)).toStrictEqual({
      kind: 'documents',
      documents: [
        { id: 'd1', score: 0.9 },
        { id: 'd2', score: 0.4 },
      ],
      latencyMs: 8,
      attempts: 1,
    });
    expect(asked).toEqual([{ vector: new Float32Array([3, 4]), k: 2, filter: {}, exact: false, withContent: false }]);
  });

  it('returns texts if a reranker needs them', async () => {
    const { store, asked } = aStore(found());
    const answer = await aRetriever(store).retrieve({ ...request, withText: true }, never);
    expect(answer).toMatchObject({ documents: [{ text: 'one' }, { text: null }] });
    expect(asked[0]?.withContent).toBe(true);
  });

  it('accepts fewer than k results', async () => {
    const { store } = aStore(found(true));
    expect(await aRetriever(store).retrieve({ ...request, k: 10 }, never)).toMatchObject({
      kind: 'documents',
      documents: [{ id: 'd1' }, { id: 'd2' }],
    });
  });

  it('fills tags into the filter, and omits empty values', async () => {
    const { store, asked } = aStore(found());
    const filter = { course: '{{tags.course}}', year: '{{tags.year}}', kind: 'chunk-{{tags.year}}' };
    await aRetriever(store, { filter }).retrieve(request, never);
    expect(asked[0]?.filter).toStrictEqual({ course: 'ml-101', kind: 'chunk-' });
  });

  it('rejects an unknown placeholder with its position', () => {
    const { store } = aStore(found());
    expect(() => aRetriever(store, { filter: { a: '{{query}}' } })).toThrow(
      'retriever.filter.a: {{query}} is not a placeholder',
    );
  });

  it('reports the error codes of the embedder and the store', async () => {
    const { store, asked } = aStore({ kind: 'failed', code: 'http_429', message: 'busy', latencyMs: 2 });
    expect(await aRetriever(store).retrieve(request, never)).toStrictEqual({
      kind: 'error',
      code: 'http_429',
      message: 'busy',
      latencyMs: 5,
      attempts: 1,
    });
    const unknown = await aRetriever(store).retrieve({ ...request, text: 'unknown' }, never);
    expect(unknown).toMatchObject({ kind: 'error', code: 'http_500' });
    expect(asked).toHaveLength(1);
  });

  it('reports why the store does not support a search', async () => {
    const { store } = aStore({ kind: 'unsupported', reason: 'It filters only by numbers.' });
    expect(await aRetriever(store).retrieve(request, never)).toMatchObject({
      kind: 'error',
      code: 'unsupported',
      message: 'It filters only by numbers.',
    });
  });

  it('times out if embedding and search together take too long, or if the store times out', async () => {
    const hanging = aRetriever(aStore('hangs').store, { timeoutMs: 20 });
    expect(await hanging.retrieve(request, never)).toMatchObject({ kind: 'timeout', attempts: 1 });
    const late = aStore({ kind: 'failed', code: 'timeout', message: 'late', latencyMs: 2 });
    expect(await aRetriever(late.store).retrieve(request, never)).toStrictEqual({
      kind: 'timeout',
      message: 'late',
      latencyMs: 5,
      attempts: 1,
    });
  });

  it('rejects an aborted call with the reason of the abort', async () => {
    const { store, asked } = aStore('hangs');
    const stop = new AbortController();
    const asking = aRetriever(store).retrieve(request, stop.signal);
    await expect.poll(() => asked.length).toBe(1);
    stop.abort(new Error('the daemon stops'));
    await expect(asking).rejects.toThrow('the daemon stops');
    await expect(aRetriever(store).retrieve(request, stop.signal)).rejects.toThrow('the daemon stops');
  });
});
