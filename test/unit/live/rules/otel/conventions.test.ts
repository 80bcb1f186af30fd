/** Spans exactly as the emitters of each convention create them. */
import { expect, it } from 'vitest';
import { contentId } from '../../../../../src/core/text/content-id.ts';
import type { OtlpSpan } from '../../../../../src/live/rules/otel/span.ts';
import { aSpan, extract, queryId } from './telemetry.ts';

interface Case {
  readonly convention: string;
  readonly spans: readonly OtlpSpan[];
  readonly text: string | null;
  readonly results: readonly (readonly [id: string, score: number | null])[];
  readonly topK?: number;
  readonly embedding?: readonly number[];
  readonly embedder?: string;
  readonly index?: string;
  readonly sessionId?: string;
  readonly userId?: string;
}

const text = 'how do I reset my password';

const cases: readonly Case[] = [
  {
    convention: 'OTel GenAI (Development), structured documents',
    spans: [
      aSpan({
        name: 'retrieval H7STPQYOND',
        attributes: {
          'gen_ai.operation.name': 'retrieval',
          'gen_ai.data_source.id': 'H7STPQYOND',
          'gen_ai.provider.name': 'openai',
          'gen_ai.request.model': 'text-embedding-3-small',
          'gen_ai.retrieval.top_k': 3,
          'gen_ai.retrieval.query.text': text,
          'gen_ai.retrieval.documents': [
            { id: 'doc_123', score: 0.95 },
            { id: 'doc_456', score: 0.87 },
            { id: 'doc_789' },
          ],
          'gen_ai.conversation.id': 'conv_5j66UpCpwteGg4YSxUnt7lPY',
        },
      }),
    ],
    text,
    topK: 3,
    results: [
      ['doc_123', 0.95],
      ['doc_456', 0.87],
      ['doc_789', null],
    ],
    embedder: 'text-embedding-3-small',
    index: 'H7STPQYOND',
    sessionId: 'conv_5j66UpCpwteGg4YSxUnt7lPY',
  },
  {
    convention: 'earlier OTel GenAI: documents as JSON text, top_k of the request, ids beyond 2^53',
    spans: [
      aSpan({
        attributes: {
          'gen_ai.operation.name': 'retrieval',
          'gen_ai.system': 'openai',
          'gen_ai.request.top_k': 2,
          'gen_ai.retrieval.query.text': text,
          'gen_ai.retrieval.documents': '[{"id":9007199254740993,"score":0.5},{"id":42,"score":"0.25"}]',
        },
      }),
    ],
    text,
    topK: 2,
    results: [
      ['9007199254740993', 0.5],
      ['42', 0.25],
    ],
  },
  {
    convention: 'OpenInference, LlamaIndex 4.4.5: nodes with scores, the embedding span inside the retriever',
    spans: [
      aSpan({
        id: 2,
        parent: 1,
        name: 'CreateEmbeddings',
        attributes: {
          'openinference.span.kind': 'EMBEDDING',
          'embedding.model_name': 'text-embedding-3-small',
          'embedding.embeddings.0.embedding.text': text,
          'embedding.embeddings.0.embedding.vector': [0.25, 1, -0.5],
        },
      }),
      aSpan({
        name: 'VectorIndexRetriever.retrieve',
        attributes: {
          'openinference.span.kind': 'RETRIEVER',
          'input.value': text,
          'session.id': 's-1',
          'user.id': 'u-1',
          'retrieval.documents.0.document.id': 'node-a',
          'retrieval.documents.0.document.content': 'Open the settings.',
          'retrieval.documents.0.document.score': 0.84,
          'retrieval.documents.0.document.metadata': '{"file_name":"a.md"}',
          'retrieval.documents.1.document.id': 'node-b',
          'retrieval.documents.1.document.content': 'Passwords are long.',
          // A score of 1 arrives as an integer.
          'retrieval.documents.1.document.score': 1,
        },
      }),
    ],
    text,
    results: [
      ['node-a', 0.84],
      ['node-b', 1],
    ],
    embedding: [0.25, 1, -0.5],
    embedder: 'text-embedding-3-small',
    sessionId: 's-1',
    userId: 'u-1',
  },
  {
    convention: 'OpenInference, LlamaIndex 4.4.5: a query bundle as JSON, and more than ten nodes',
    spans: [
      aSpan({
        attributes: {
          'openinference.span.kind': 'RETRIEVER',
          'input.value': JSON.stringify({ query_str: text, custom_embedding_strs: ['x'] }),
          'input.mime_type': 'application/json',
          'retrieval.documents.10.document.id': 'last',
          'retrieval.documents.2.document.id': 'third',
          'retrieval.documents.0.document.id': 7,
          ...Object.fromEntries(
            [1, 3, 4, 5, 6, 7, 8, 9].map((rank) => [`retrieval.documents.${rank}.document.id`, `n-${rank}`]),
          ),
        },
      }),
    ],
    text,
    results: [
      ['7', null],
      ['n-1', null],
      ['third', null],
      ...[3, 4, 5, 6, 7, 8, 9].map((rank) => [`n-${rank}`, null] as const),
      ['last', null],
    ],
  },
  {
    convention: 'OpenInference, Haystack 0.1.36: the text and vector only in the embedder span',
    spans: [
      aSpan({
        id: 2,
        parent: 9,
        attributes: {
          'openinference.span.kind': 'EMBEDDING',
          'input.value': JSON.stringify({ text }),
          'input.mime_type': 'application/json',
          'embedding.model_name': 'thenlper/gte-large',
          'embedding.embeddings.0.embedding.text': text,
          'embedding.embeddings.0.embedding.vector': [0.5, 0.5],
        },
      }),
      aSpan({
        id: 1,
        parent: 9,
        name: 'InMemoryEmbeddingRetriever.run',
        attributes: {
          'openinference.span.kind': 'RETRIEVER',
          'input.mime_type': 'application/json',
          'input.value': '{"query_embedding": "<2-dimensional vector>", "top_k": 5}',
          'output.mime_type': 'application/json',
          'output.value': '{"documents": ["Document(id=h1, content: \'a\')"]}',
          'retrieval.documents.0.document.content': 'a',
          'retrieval.documents.0.document.id': 'h1',
          'retrieval.documents.0.document.score': 0.7,
          'retrieval.documents.0.document.metadata': '{}',
        },
      }),
    ],
    text,
    topK: 5,
    results: [['h1', 0.7]],
    embedding: [0.5, 0.5],
    embedder: 'thenlper/gte-large',
  },
  {
    convention: 'OpenInference, LangChain.js 4.1.1: ids only in the output',
    spans: [
      aSpan({
        name: 'VectorStoreRetriever',
        attributes: {
          'openinference.span.kind': 'RETRIEVER',
          'input.value': text,
          'input.mime_type': 'text/plain',
          'output.value': JSON.stringify({
            documents: [
              { pageContent: 'Open the settings.', metadata: { source: 'a.md' }, id: 'chunk-1' },
              { pageContent: 'Passwords are long.', metadata: { source: 'b.md', chunk_id: 'b#4' } },
              { pageContent: 'Nothing known.', metadata: {} },
            ],
          }),
          'output.mime_type': 'application/json',
          'retrieval.documents.0.document.content': 'Open the settings.',
          'retrieval.documents.0.document.metadata': '{"source":"a.md"}',
          'retrieval.documents.1.document.content': 'Passwords are long.',
          'retrieval.documents.1.document.metadata': '{"source":"b.md","chunk_id":"b#4"}',
          'retrieval.documents.2.document.content': 'Nothing known.',
          'retrieval.documents.2.document.metadata': '{}',
        },
      }),
    ],
    text,
    results: [
      ['chunk-1', null],
      ['b#4', null],
      [contentId('Nothing known.') ?? '', null],
    ],
  },
  {
    convention: 'OpenInference, LangChain for Python 0.1.70: page_content, a null id, the source in the metadata',
    spans: [
      aSpan({
        attributes: {
          'openinference.span.kind': 'RETRIEVER',
          'input.value': text,
          'output.value':
            '{"documents": [{"id": null, "metadata": {"source": "faq.md"}, "page_content": "Settings.", "type": "Document"}]}',
          'output.mime_type': 'application/json',
          'retrieval.documents.0.document.content': 'Settings.',
          'retrieval.documents.0.document.metadata': '{"source": "faq.md"}',
          metadata: '{"ls_retriever_name": "vectorstore"}',
        },
      }),
    ],
    text,
    results: [['faq.md', null]],
  },
  {
    convention: 'LangChain, serialized documents',
    spans: [
      aSpan({
        attributes: {
          'openinference.span.kind': 'RETRIEVER',
          'input.value': text,
          'output.value': JSON.stringify({
            documents: [
              {
                lc: 1,
                type: 'constructor',
                id: ['langchain_core', 'documents', 'base', 'Document'],
                kwargs: { page_content: 'Settings.', metadata: {}, id: 'd-9' },
              },
            ],
          }),
        },
      }),
    ],
    text,
    results: [['d-9', null]],
  },
  {
    convention: 'Langfuse 5.10.1, LangChain callback: a bare array of documents',
    spans: [
      aSpan({
        name: 'VectorStoreRetriever',
        attributes: {
          'langfuse.observation.type': 'retriever',
          'langfuse.observation.input': text,
          'langfuse.observation.output': JSON.stringify([
            { pageContent: 'Settings.', metadata: { chunk_id: 'c1' } },
            { pageContent: 'Passwords.', metadata: {}, id: 'c2' },
          ]),
          'session.id': 's-2',
          'user.id': 'u-2',
        },
      }),
    ],
    text,
    results: [
      ['c1', null],
      ['c2', null],
    ],
    sessionId: 's-2',
    userId: 'u-2',
  },
  {
    convention: 'Langfuse 5.10.1, manual observation: objects as input and output',
    spans: [
      aSpan({
        attributes: {
          'langfuse.observation.type': 'retriever',
          'langfuse.observation.input': JSON.stringify({ query: text, topK: 10, k: 2 }),
          'langfuse.observation.output': JSON.stringify({ results: [{ id: 'x', score: 0.9 }] }),
          'langfuse.observation.model.name': 'voyage-3',
        },
      }),
    ],
    text,
    topK: 2,
    results: [['x', 0.9]],
    embedder: 'voyage-3',
  },
  {
    convention: 'OpenLLMetry 0.62.1, LangChain: vector_db_retrieve with inputs and outputs as JSON',
    spans: [
      aSpan({
        name: 'vector_db_retrieve VectorStoreRetriever',
        attributes: {
          'gen_ai.operation.name': 'vector_db_retrieve',
          'gen_ai.provider.name': 'langchain',
          'traceloop.span.kind': 'task',
          'traceloop.entity.name': 'VectorStoreRetriever',
          'traceloop.entity.input': JSON.stringify({
            query: text,
            tags: ['Chroma'],
            metadata: {},
            kwargs: {},
          }),
          'traceloop.entity.output': JSON.stringify({
            documents: [{ page_content: 'Settings.', metadata: { source: 'a.md' } }],
            count: 1,
          }),
          'traceloop.association.properties.session_id': 's-3',
          'traceloop.association.properties.user_id': 'u-3',
        },
      }),
    ],
    text,
    results: [['a.md', null]],
    sessionId: 's-3',
    userId: 'u-3',
  },
  {
    convention: 'OpenLLMetry 0.62.4, LlamaIndex: nested spans of a custom retriever, without a retriever kind',
    spans: [
      aSpan({
        name: 'HelpPages.workflow',
        attributes: {
          'traceloop.span.kind': 'workflow',
          'traceloop.entity.name': 'HelpPages.workflow',
          'traceloop.entity.input': JSON.stringify({ str_or_query_bundle: text }),
          'traceloop.entity.output': JSON.stringify([
            JSON.stringify({ node: { id_: 'kb-1', metadata: {}, text: 'Settings.' }, score: 0.5 }),
          ]),
          'traceloop.association.properties.session_id': 's-3',
        },
      }),
      aSpan({
        id: 2,
        parent: 1,
        name: 'HelpPages.task',
        attributes: {
          'traceloop.span.kind': 'task',
          'traceloop.entity.name': 'HelpPages.task',
          'traceloop.entity.input': JSON.stringify({ query_bundle: { query_str: text, embedding: null } }),
          'traceloop.entity.output': JSON.stringify([
            JSON.stringify({ node: { id_: 'kb-1', metadata: {}, text: 'Settings.' }, score: 0.5 }),
          ]),
        },
      }),
    ],
    text,
    results: [['kb-1', 0.5]],
    sessionId: 's-3',
  },
  {
    convention: 'OpenLLMetry 0.62.1, Chroma: result events with distances, the vector on the span of the segment',
    spans: [
      aSpan({
        id: 2,
        parent: 1,
        name: 'chroma.query.segment._query',
        attributes: { 'db.system': 'chroma', 'db.operation': '_query' },
        events: [['db.query.embeddings', { 'db.query.embeddings.vector': '[0.125, 0.5]' }]],
      }),
      aSpan({
        name: 'chroma.query',
        attributes: {
          'db.system': 'chroma',
          'db.operation': 'query',
          'db.chroma.query.n_results': 2,
          'db.chroma.query.query_texts_count': 1,
        },
        events: [
          ['db.query.result', { 'db.query.result.id': 'id1', 'db.query.result.distance': 0.1 }],
          [
            'db.query.result',
            {
              'db.query.result.id': 'id2',
              'db.query.result.distance': 0.2,
              'db.query.result.document': 'Settings.',
              'db.query.result.metadata': '{"source": "a.md"}',
            },
          ],
        ],
      }),
    ],
    text: null,
    topK: 2,
    results: [
      ['id1', null],
      ['id2', null],
    ],
    embedding: [0.125, 0.5],
  },
  {
    convention: 'OpenLLMetry 0.62.1, Pinecone: vector and scores as events',
    spans: [
      aSpan({
        name: 'pinecone.query',
        attributes: {
          'db.system': 'Pinecone',
          'pinecone.query.top_k': 3,
          'db.vector.query.embeddings_count': 1,
          'db.vector.query.result_count': 1,
        },
        events: [
          ['db.query.embeddings', { 'db.query.embeddings.vector': [0.5, 0.25, 0] }],
          [
            'db.query.result',
            {
              'db.query.result.id': 'A',
              'db.query.result.score': 0.8,
              'db.query.result.metadata': "{'title': 'a'}",
            },
          ],
        ],
      }),
    ],
    text: null,
    topK: 3,
    results: [['A', 0.8]],
    embedding: [0.5, 0.25, 0],
  },
  {
    convention: 'OpenLLMetry for JavaScript 0.27.0, Pinecone and Qdrant: flat attributes on the span',
    spans: [
      aSpan({
        name: 'qdrant.search',
        attributes: {
          'db.system': 'Qdrant',
          'db.vector.query.top_k': 2,
          'db.vector.query.embeddings.vector': '[1,2]',
          'db.vector.query.result.matches_length': 2,
          'db.vector.query.result.0.score': 0.9,
          'db.vector.query.result.0.id': 11,
          'db.vector.query.result.0.values': 'null',
          'db.vector.query.result.0.metadata': '{"source":"a.md"}',
          'db.vector.query.result.1.score': 0.7,
          'db.vector.query.result.1.id': '3c1e8c9c-5f50-4a4c-9d2a-3b7d3a3f4a9f',
        },
        events: [
          ['qdrant.search.request', {}],
          ['qdrant.search.result', {}],
        ],
      }),
    ],
    text: null,
    topK: 2,
    results: [
      ['11', 0.9],
      ['3c1e8c9c-5f50-4a4c-9d2a-3b7d3a3f4a9f', 0.7],
    ],
    embedding: [1, 2],
  },
  {
    convention: 'OpenLLMetry 0.62.1, Milvus: integer ids, distances as text, numbered queries',
    spans: [
      aSpan({
        name: 'milvus.search',
        attributes: { 'db.system': 'milvus', 'db.operation': 'search', 'db.vector.query.result_count': 2 },
        events: [
          [
            'db.search.result',
            { 'db.search.query.id': 0, 'db.search.result.id': 451, 'db.search.result.distance': '0.93' },
          ],
          [
            'db.search.result',
            { 'db.search.query.id': 0, 'db.search.result.id': 18, 'db.search.result.distance': '0.91' },
          ],
        ],
      }),
    ],
    text: null,
    results: [
      ['451', null],
      ['18', null],
    ],
  },
];

it.each(cases)('reads a live query from $convention', ({ spans, ...expected }) => {
  const { queries, fragments } = extract(spans);
  const [query] = queries;
  expect(queries).toHaveLength(1);
  expect(query).toMatchObject({
    id: queryId(1),
    pipeline: 'support',
    text: expected.text,
    topK: expected.topK ?? null,
    sessionId: expected.sessionId ?? null,
    userId: expected.userId ?? null,
    error: null,
    versions: {
      retriever: '2.3.0',
      embedder: expected.embedder ?? null,
      index: expected.index ?? null,
    },
  });
  expect(query?.results.map(({ id, score }) => [id, score])).toEqual(expected.results);
  expect(query?.embedding === null ? null : [...(query?.embedding ?? [])]).toEqual(expected.embedding ?? null);
  expect(fragments).toEqual([]);
});
