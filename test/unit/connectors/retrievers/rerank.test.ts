import { describe, expect, it } from 'vitest';
import type { RerankCandidate, Reranker, RerankerAnswer } from '../../../../src/connectors/models/reranker.ts';
import { createRerankRetriever } from '../../../../src/connectors/retrievers/rerank.ts';
import type {
  FoundDocument,
  Retriever,
  RetrieverAnswer,
  RetrieverRequest,
} from '../../../../src/connectors/retrievers/retriever.ts';
import { never } from '../../../support/connectors.ts';

/** Documents `d1` to `d<count>` with their texts. */
const found = (count: number): FoundDocument[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `d${index + 1}`,
    score: 1 / (index + 1),
    text: `text ${index + 1}`,
  }));

function aFirstStage(answer: RetrieverAnswer | readonly FoundDocument[]) {
  const asked: RetrieverRequest[] = [];
  let closed = 0;
  const retriever: Retriever = {
    retrieve(request) {
      asked.push(request);
      return Promise.resolve(
        'kind' in answer ? answer : { kind: 'documents', documents: answer, latencyMs: 10, attempts: 2 },
      );
    },
    close: () => {
      closed += 1;
      return Promise.resolve();
    },
  };
  return { retriever, asked, closings: () => closed };
}

/** A reranker that returns `answer`, hangs or, by default, reverses the order of the candidates. */
function aReranker(answer: RerankerAnswer | 'hangs' | null = null) {
  const asked: (readonly RerankCandidate[])[] = [];
  const reranker: Reranker = {
    rerank({ candidates }, signal) {
      asked.push(candidates);
      if (answer === 'hangs') {
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      }
      const documents = candidates.map(({ id }, score) => ({ id, score })).toReversed();
      return Promise.resolve(answer ?? { kind: 'ranking', documents, latencyMs: 5 });
    },
  };
  return { reranker, asked };
}

const request = { text: 'a question', k: 2, tags: { lang: 'en' } };

function aRetriever(first: Retriever, reranker: Reranker, timeoutMs = 5000) {
  return createRerankRetriever(first, reranker, 4, timeoutMs);
}

describe('a reranking retriever', () => {
  it('returns its candidates on request, after the stages of the first retriever', async () => {
    const earlier = [{ name: 'words', documents: found(1) }];
    const first = aFirstStage({ kind: 'documents', documents: found(6), stages: earlier, latencyMs: 1, attempts: 1 });
    const retriever = aRetriever(first.retriever, aReranker().reranker);
    expect(await retriever.retrieve({ ...request, withStages: true }, never)).toMatchObject({
      stages: [...earlier, { name: 'candidates', documents: found(4), latencyMs: 1 }],
    });
    expect(await retriever.retrieve(request, never)).not.toHaveProperty('stages');
  });

  it('requests candidates with texts from the first stage, and returns the k best by the reranker', async () => {
    const first = aFirstStage(found(6));
    const second = aReranker();
    expect(await aRetriever(first.retriever, second.reranker).retrieve(request, never)).toStrictEqual({
      kind: 'documents',
      documents: [
        { id: 'd4', score: 3 },
        { id: 'd3', score: 2 },
      ],
      latencyMs: 15,
      attempts: 2,
    });
    expect(first.asked).toEqual([{ ...request, k: 4, withText: true }]);
    expect(second.asked[0]).toEqual(found(4).map(({ id, text }) => ({ id, text })));
  });

  it('returns texts on request', async () => {
    const retriever = aRetriever(aFirstStage(found(2)).retriever, aReranker().reranker);
    expect(await retriever.retrieve({ ...request, withText: true }, never)).toMatchObject({
      documents: [{ text: 'text 2' }, { text: 'text 1' }],
    });
  });

  it('does not call the reranker without candidates', async () => {
    const second = aReranker();
    const answer = await aRetriever(aFirstStage([]).retriever, second.reranker).retrieve(request, never);
    expect(answer).toMatchObject({ kind: 'documents', documents: [] });
    expect(second.asked).toEqual([]);
  });

  it.each([
    ['no text', undefined],
    ['a null text', null],
    ['an empty text', ' '],
  ])('fails if a candidate has %s, since omitting the candidate would change the measurement', async (_, text) => {
    const documents = [...found(2), { id: 'd3', score: 0, ...(text === undefined ? {} : { text }) }];
    const answer = await aRetriever(aFirstStage(documents).retriever, aReranker().reranker).retrieve(request, never);
    expect(answer).toMatchObject({
      kind: 'error',
      code: 'missing_text',
      message: expect.stringContaining('1 of 3 documents without a text'),
    });
  });

  it('reports the failure of either stage', async () => {
    const down = { kind: 'error', code: 'http_503', message: 'down', latencyMs: 1, attempts: 3 } as const;
    expect(await aRetriever(aFirstStage(down).retriever, aReranker().reranker).retrieve(request, never)).toBe(down);
    const late = { kind: 'timeout', message: 'It did not answer.', latencyMs: 1, attempts: 1 } as const;
    expect(await aRetriever(aFirstStage(late).retriever, aReranker().reranker).retrieve(request, never)).toBe(late);
    const broken = aReranker({ kind: 'failed', code: 'http_413', message: 'too many', latencyMs: 4 });
    expect(await aRetriever(aFirstStage(found(1)).retriever, broken.reranker).retrieve(request, never)).toStrictEqual({
      kind: 'error',
      code: 'http_413',
      message: 'too many',
      latencyMs: 14,
      attempts: 1,
    });
  });

  it('times out if both stages together take too long', async () => {
    const retriever = aRetriever(aFirstStage(found(1)).retriever, aReranker('hangs').reranker, 20);
    expect(await retriever.retrieve(request, never)).toMatchObject({ kind: 'timeout' });
  });

  it('closes its first stage', async () => {
    const first = aFirstStage([]);
    await aRetriever(first.retriever, aReranker().reranker).close?.();
    expect(first.closings()).toBe(1);
  });
});
