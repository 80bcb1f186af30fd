import { describe, expect, it } from 'vitest';
import { completeQueries } from '../../../../../src/live/rules/otel/trace-fragment.ts';
import { aRetriever, aSpan, extract, queryId, traceId } from './telemetry.ts';

const text = 'how do I reset my password';

function anEmbedding(id: number, texts: readonly string[], parent?: number) {
  const vectors = texts.flatMap((text, index) => [
    [`embedding.embeddings.${index}.embedding.text`, text],
    [`embedding.embeddings.${index}.embedding.vector`, [id, index + 1]],
  ]);
  const attributes = {
    'openinference.span.kind': 'EMBEDDING',
    'embedding.model_name': 'bge-m3',
    ...Object.fromEntries(vectors),
  };
  return aSpan({ id, attributes, ...(parent === undefined ? {} : { parent }) });
}

function aReranker(id: number, documents: readonly string[], attributes = {}, parent?: number) {
  const output = documents.flatMap((document, rank) => [
    [`reranker.output_documents.${rank}.document.id`, document],
    [`reranker.output_documents.${rank}.document.score`, 9 - rank],
  ]);
  return aSpan({
    id,
    attributes: {
      'openinference.span.kind': 'RERANKER',
      'reranker.query': text,
      ...Object.fromEntries(output),
      ...attributes,
    },
    ...(parent === undefined ? {} : { parent }),
  });
}

const aPersonOf = (id: number, session: string) => aSpan({ id, attributes: { 'session.id': session } });

const vector = (query: { embedding: Float32Array | null } | undefined) =>
  query?.embedding === null || query === undefined ? null : [...(query.embedding ?? [])];

describe('the vector of a query', () => {
  it('comes from the embedding span with the same text in the same trace', () => {
    const { queries, fragments } = extract([
      anEmbedding(5, ['a document', text, 'another']),
      anEmbedding(6, ['something else']),
      aRetriever(['a']),
    ]);
    expect(vector(queries[0])).toEqual([5, 2]);
    expect(queries[0]?.versions.embedder).toBe('bge-m3');
    expect(fragments).toMatchObject([{ kind: 'embedding', text: 'something else' }]);
  });

  it('comes from the only embedding span even if the text was rewritten', () => {
    expect(vector(extract([anEmbedding(5, ['rewritten']), aRetriever(['a'])]).queries[0])).toEqual([5, 1]);
  });

  it('comes from the embedding span inside the retriever, when there are several queries', () => {
    const { queries } = extract([
      aRetriever(['a'], { id: 1 }),
      anEmbedding(5, ['rewritten'], 1),
      aRetriever(['b'], { id: 2 }),
      anEmbedding(6, ['rewritten too'], 2),
    ]);
    expect(queries.map(vector)).toEqual([
      [5, 1],
      [6, 1],
    ]);
  });

  it('comes with the text from the only embedding span, for the half of a hybrid search that has no text', () => {
    const bare = aSpan({
      id: 1,
      attributes: { 'openinference.span.kind': 'RETRIEVER', 'output.value': '[{"id": "a"}]' },
    });
    const { queries } = extract([anEmbedding(5, [text]), bare, aRetriever(['b'], { id: 2 })]);
    expect(queries.map((query) => [query.text, vector(query)])).toEqual([
      [text, [5, 1]],
      [text, [5, 1]],
    ]);
  });

  it('is unknown if the embedding span may belong to another query', () => {
    const several = [anEmbedding(5, ['one']), anEmbedding(6, ['two']), aRetriever(['a'])];
    expect(extract(several).queries).toMatchObject([{ embedding: null }]);
    const twoQueries = [anEmbedding(5, ['one']), aRetriever(['a'], { id: 1 }), aRetriever(['a'], { id: 2 })];
    expect(extract(twoQueries).queries).toMatchObject([{ embedding: null }, { embedding: null }]);
    const otherTrace = [{ ...anEmbedding(5, [text]), traceId: 'f'.repeat(32) }, aRetriever(['a'])];
    expect(extract(otherTrace).queries).toMatchObject([{ embedding: null }]);
  });

  it.each([
    ['redacted', '__REDACTED__'],
    ['zero', [0, 0]],
    ['sparse', '{"12": 0.5}'],
    ['empty', []],
    ['too large for float32', [1e300, 1]],
    ['not entirely numeric', [1, '2']],
  ])('is missing if the recorded vector is %s', (_, value) => {
    const attributes = { 'gen_ai.retrieval.query.text': text, 'embedding.vector': value };
    expect(extract([aRetriever(['a'], { attributes })]).queries).toMatchObject([{ embedding: null }]);
  });
});

describe('the order of the results', () => {
  it('is that of the reranker, with the length of its list and the scores of the retriever', () => {
    const { queries, fragments } = extract([
      aRetriever(['a', 'b', 'c'], { attributes: { 'gen_ai.retrieval.top_k': 3 } }),
      aReranker(2, ['c', 'a'], { 'reranker.top_k': 2 }),
    ]);
    expect(queries).toMatchObject([
      {
        results: [
          { id: 'c', score: 0.8 },
          { id: 'a', score: 1 },
        ],
        topK: 2,
      },
    ]);
    expect(fragments).toEqual([]);
  });

  it('is that of the reranker that ended last', () => {
    const late = { ...aReranker(3, ['a', 'b']), endTimeUnixNano: 2n ** 61n };
    const { queries } = extract([late, aRetriever(['a', 'b', 'c']), aReranker(2, ['c', 'b', 'a'])]);
    expect(queries[0]?.results.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it.each([
    ['is inside the retriever, whose results are already reranked', aReranker(2, ['b', 'a'], {}, 1)],
    ['merges the results of another retriever', aReranker(2, ['b', 'x', 'a'])],
    ['ranked for another query', aReranker(2, ['b', 'a'], { 'reranker.query': 'another' })],
    ['has no documents', aReranker(2, [])],
    ['has an unidentified document', aReranker(2, ['b', ''])],
  ])('is unchanged if the reranker %s', (_, reranker) => {
    const { queries } = extract([aRetriever(['a', 'b']), reranker]);
    expect(queries[0]?.results.map(({ id }) => id)).toEqual(['a', 'b']);
  });
});

describe('the stages of a query', () => {
  const answered = { ranks: [1, 2] };
  const stagesOf = (spans: Parameters<typeof extract>[0]) => extract(spans).queries[0]?.stages;

  it('are the retrieval and a sibling reranker, each with its latency', () => {
    expect(stagesOf([aRetriever(['a', 'b', 'c']), aReranker(2, ['c', 'a'])])).toEqual([
      { name: 'retrieval', isSide: false, latencyMs: 250, documents: 3, ranks: [3, 1] },
      { name: 'rerank', isSide: false, latencyMs: 250, documents: 2, ...answered },
    ]);
  });

  it('are the merged inner retrievers and the reranker if all of them are inside one retriever', () => {
    const spans = [
      aRetriever(['c', 'a'], { id: 1 }),
      aRetriever(['a', 'b'], { id: 2, parent: 1 }),
      aRetriever(['b', 'd', 'c'], { id: 3, parent: 1 }),
      aReranker(4, ['c', 'a', 'b'], {}, 1),
    ];
    const stages = [
      { name: 'retrieval', isSide: false, latencyMs: 250, documents: 4, ranks: [4, 1] },
      { name: 'rerank', isSide: false, latencyMs: 250, documents: 3, ...answered },
    ];
    expect(stagesOf(spans)).toEqual(stages);
    // The reranker ends before the enclosing retriever, so its span may arrive first.
    const [early, late] = [extract(spans.slice(3)), extract(spans.slice(0, 3))];
    expect(completeQueries(late.queries, early.fragments).queries).toMatchObject([{ stages }]);
  });

  it('include the latency of a reranker without documents, even if its operation name is not standardized yet', () => {
    const reranker = aSpan({ id: 2, attributes: { 'gen_ai.operation.name': 'rerank' } });
    const stage = { name: 'rerank', isSide: false, latencyMs: 250, documents: null, ranks: [] };
    expect(stagesOf([aRetriever(['a', 'b']), reranker])).toEqual([stage]);
    expect(stagesOf([aRetriever(['a'], { id: 1 }), aRetriever(['b'], { id: 3 }), reranker])).toEqual([]);
  });

  it('are those that the service reported, with ranks adjusted to the reranked results', () => {
    const own = { name: 'reranked', isSide: false, latencyMs: 9, documents: 2, ranks: [1, 2] };
    const reported = extract([aRetriever(['a', 'b'])]).queries.map((query) => ({ ...query, stages: [own] }));
    const { fragments } = extract([aReranker(2, ['b', 'a'])]);
    expect(completeQueries(reported, fragments).queries).toMatchObject([
      { results: [{ id: 'b' }, { id: 'a' }], stages: [{ ...own, ranks: [2, 1] }] },
    ]);
  });
});

describe('spans of one trace in several exports', () => {
  const spans = [
    anEmbedding(5, [text]),
    aRetriever(['a', 'b']),
    aReranker(2, ['b', 'a']),
    aSpan({ id: 9, attributes: { 'session.id': 's', 'user.id': 'u' } }),
  ];

  it('yield the same live query as one export, even if fragments are added twice', () => {
    const [whole] = extract(spans).queries;
    const exports = spans.map((span) => extract([span]));
    const fragments = exports.flatMap((extraction) => extraction.fragments);
    expect(fragments.map(({ kind }) => kind)).toEqual(['embedding', 'rerank', 'person']);

    const queries = exports.flatMap((extraction) => extraction.queries);
    const joined = completeQueries(queries, fragments);
    expect(joined).toEqual({ queries: [whole], unused: [] });
    expect(whole).toMatchObject({ sessionId: 's', userId: 'u', results: [{ id: 'b' }, { id: 'a' }] });
    expect(vector(whole)).toEqual([5, 1]);

    expect(completeQueries(joined.queries, fragments).queries).toEqual([whole]);
  });

  it('record the query of a fragment before that query arrives', () => {
    const { fragments } = extract([anEmbedding(5, ['rewritten'], 1)]);
    expect(fragments).toMatchObject([{ traceId, within: queryId(1), text: 'rewritten', model: 'bge-m3' }]);
  });

  it('yield no fragments for documents that a service embeds for its store', () => {
    expect(extract([anEmbedding(5, ['one', 'two', 'three'])]).fragments).toEqual([]);
  });

  it('keep the user and session for other queries of the trace, even if one query already has them', () => {
    const { queries, fragments } = extract([aPersonOf(5, 's'), aRetriever(['a'])]);
    expect(queries).toMatchObject([{ sessionId: 's' }]);
    expect(fragments).toMatchObject([{ kind: 'person', sessionId: 's', pipeline: 'support' }]);
  });

  it('yield one fragment for a repeated session, and no session if spans disagree', () => {
    expect(extract([aPersonOf(5, 's'), aPersonOf(6, 's')]).fragments).toHaveLength(1);
    const { queries } = extract([aPersonOf(5, 's'), aPersonOf(6, 't'), aRetriever(['a'])]);
    expect(queries).toMatchObject([{ sessionId: null }]);
  });
});
