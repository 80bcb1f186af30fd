/** Formats in which services return documents and encode queries. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aSpan, extract, queryId } from './telemetry.ts';

const query = (attributes: Record<string, string>) =>
  extract([aSpan({ attributes: { 'openinference.span.kind': 'RETRIEVER', ...attributes } })]).queries[0];
const resultsOf = (output: unknown) => {
  const value = typeof output === 'string' ? output : JSON.stringify(output);
  const results = query({ 'output.value': value })?.results;
  return results?.map(({ id, score }) => [id, score]) ?? null;
};
const a1b2 = [
  ['a', 0.9],
  ['b', 0.4],
];
const ab = [
  ['a', null],
  ['b', null],
];

describe('documents are read from', () => {
  it.each<[string, unknown, unknown]>([
    [
      'a list',
      [
        { id: 'a', score: 0.9 },
        { id: 'b', score: 0.4 },
      ],
      a1b2,
    ],
    [
      'tuples of documents and scores',
      [
        [{ id: 'a' }, 0.9],
        [{ id: 'b' }, 0.4],
      ],
      a1b2,
    ],
    [
      'tuples of scores and documents',
      [
        [0.9, { id: 'a' }],
        [0.4, { id: 'b' }],
      ],
      a1b2,
    ],
    [
      'tuples whose score is NaN',
      '[[{"id": "a"}, NaN], [{"id": "b"}, 0.4]]',
      [
        ['a', null],
        ['b', 0.4],
      ],
    ],
    [
      'tuples printed by Python',
      "[(Document(id='a', metadata={}, page_content='x'), 0.9), (Document(id='b', page_content='y'), np.float32(0.4))]",
      a1b2,
    ],
    ['a dictionary printed by Python', "{'documents': [{'id': 'a', 'score': None}, {'id': 'b', 'new': True}]}", ab],
    [
      'documents printed as strings',
      [
        "page_content='x' metadata={'chunk_id': 'a', 'score': 0.9}",
        "page_content='y' metadata={'chunk_id': 'b', 'score': 0.4}",
      ],
      a1b2,
    ],
    ['JSON strings', ['{"id": "a", "score": 0.9}', '{"document.id": "b", "document.score": 0.4}'], a1b2],
    [
      'Elasticsearch',
      {
        hits: {
          total: { value: 2 },
          hits: [
            { _id: 'a', _score: 0.9, _source: {} },
            { _id: 'b', _score: 0.4 },
          ],
        },
      },
      a1b2,
    ],
    [
      'Qdrant over HTTP',
      {
        result: {
          points: [
            { id: 'a', score: 0.9, payload: {} },
            { id: 'b', score: 0.4 },
          ],
        },
        status: 'ok',
      },
      a1b2,
    ],
    [
      'Pinecone',
      {
        matches: [
          { id: 'a', score: 0.9, values: [] },
          { id: 'b', score: 0.4 },
        ],
        namespace: '',
      },
      a1b2,
    ],
    [
      'Weaviate',
      {
        objects: [
          { uuid: 'a', properties: {}, metadata: { score: 0.9, distance: 0.1 } },
          { uuid: 'b', metadata: { certainty: 0.4 } },
        ],
      },
      a1b2,
    ],
    [
      'Azure AI Search',
      {
        '@odata.count': 2,
        value: [
          { '@search.score': 0.9, id: 'a' },
          { '@search.score': 0.4, id: 'b' },
        ],
      },
      a1b2,
    ],
    [
      'Bedrock',
      {
        retrievalResults: [
          { content: { text: 'x' }, score: 0.9, metadata: { 'x-amz-bedrock-kb-chunk-id': 'a' } },
          { content: { text: 'y' }, score: 0.4, metadata: { chunk_id: 'b' } },
        ],
      },
      a1b2,
    ],
    [
      'OpenAI',
      {
        data: [
          { file_id: 'f', score: 0.9, attributes: { id: 'x' }, content: [{ type: 'text', text: 'one' }] },
          { score: 0.4, attributes: { id: 'y' }, content: [{ type: 'text', text: 'two' }] },
        ],
      },
      [
        ['f', 0.9],
        [expect.stringMatching(/^sha256:/), 0.4],
      ],
    ],
    [
      'LlamaIndex',
      [
        { node: { id_: 'a', metadata: {}, text: 'x' }, score: 0.9 },
        { node: { id_: 'b' }, score: 0.4 },
      ],
      a1b2,
    ],
    [
      'serialized LangChain documents',
      [{ lc: 1, id: ['langchain', 'Document'], kwargs: { id: 'a', page_content: 'x' } }, { kwargs: { id: 'b' } }],
      ab,
    ],
    [
      'Chroma columns',
      { ids: [['a', 'b']], distances: [[0.1, 0.6]], documents: [['x', 'y']], metadatas: [[{}, null]] },
      ab,
    ],
    ['columns', { ids: ['a', 'b'], scores: [0.9, 0.4] }, a1b2],
    [
      'columns of texts',
      { documents: ['one', 'two'], scores: [0.9, 0.1] },
      [
        [expect.stringMatching(/^sha256:/), 0.9],
        [expect.stringMatching(/^sha256:/), 0.1],
      ],
    ],
    ['a batch of one query', [[{ id: 'a' }, { id: 'b' }]], ab],
    ['nested wrappers', { response: { docs: [{ id: 'a' }, { id: 'b' }] } }, ab],
    [
      'scores in metadata',
      [
        { id: 'a', metadata: { relevance_score: 0.9 } },
        { id: 'b', metadata: { _score: 0.4 } },
      ],
      a1b2,
    ],
    [
      'ids beside the text',
      [
        { content: 'x', chunk_id: 'a', source: 's' },
        { content: 'y', document_id: 'b' },
      ],
      [
        ['a', null],
        [expect.anything(), null],
      ],
    ],
    [
      '64-bit ids',
      '[{"id": 9223372036854775807}, {"id": 9007199254740993}]',
      [
        ['9223372036854775807', null],
        ['9007199254740993', null],
      ],
    ],
    ['an empty Chroma response', { ids: [[]], documents: [[]] }, []],
    [
      'MongoDB',
      [
        { _id: { $oid: 'a' }, text: 'x', score: 0.9 },
        { _id: { $oid: 'b' }, text: 'y', score: 0.4 },
      ],
      a1b2,
    ],
    [
      'Vespa',
      {
        root: {
          id: 'toplevel',
          children: [
            { id: 'a', relevance: 0.9, fields: {} },
            { id: 'b', relevance: 0.4 },
          ],
        },
      },
      a1b2,
    ],
    [
      'Kendra',
      {
        ResultItems: [
          { Id: '1', DocumentId: 'a' },
          { Id: '2', DocumentId: 'b' },
        ],
      },
      ab,
    ],
    ['OpenLLMetry callbacks', { outputs: { documents: [{ id: 'a' }, { id: 'b' }] }, kwargs: { tags: [] } }, ab],
    [
      'a prediction printed by DSPy',
      "Prediction(\n    passages=['one', 'two']\n)",
      [
        [expect.stringMatching(/^sha256:/), null],
        [expect.stringMatching(/^sha256:/), null],
      ],
    ],
    [
      'documents printed by Haystack, with an apostrophe in a text',
      [
        "Document(id=a, content: 'it's, so (to say) one', meta: {'score': 7}, score: 0.9, embedding: vector of size 3)",
        "Document(id=b, content: 'y', score: 0.4)",
      ],
      a1b2,
    ],
    [
      'JSON strings, one of them truncated',
      ['{"id": "a", "score": 0.9}', '{"id": "b", "text": "so lo'],
      [
        ['a', 0.9],
        [`unidentified:${queryId(1)}#2`, null],
      ],
    ],
    [
      'ids, one of them truncated inside a character',
      [
        { id: 'a', score: 0.9 },
        { id: 'b\ufffd', score: 0.4 },
      ],
      [
        ['a', 0.9],
        [`unidentified:${queryId(1)}#2`, 0.4],
      ],
    ],
  ])('%s', (_, output, results) => {
    expect(resultsOf(output)).toEqual(results);
  });

  it.each<[string, unknown, string]>([
    ['results of several queries', [[{ id: 'a' }, { id: 'b' }], [{ id: 'c' }]], 'unknown_shape'],
    ['a text', 'The answer is 42.', 'unknown_shape'],
    ['one object', { answer: 'x' }, 'unknown_shape'],
    ['a vector', [0.1, 0.2, 0.3], 'unidentified'],
    ['a truncated list', '[{"id": "a", "text": "x"}, {"id": "b", "te', 'cut_off'],
    ['a truncated Python list', "[{'id': 'a'}, {'id': 'b", 'cut_off'],
    ['null', 'null', 'no_documents'],
    ['None', 'None', 'no_documents'],
    ['a hidden value', '__REDACTED__', 'hidden'],
    ['a value scrubbed by Logfire', "[Scrubbed due to 'password']", 'hidden'],
  ])('no unreadable output, which is reported with a reason: %s', (_, output, reason) => {
    const value = typeof output === 'string' ? output : JSON.stringify(output);
    const attributes = { 'openinference.span.kind': 'RETRIEVER', 'output.value': value };
    expect(extract([aSpan({ attributes })])).toMatchObject({ queries: [], unreadableRetrievers: [{ reason }] });
  });
});

it('derives document ids that do not depend on the score, in every format', () => {
  const forms: ((content: string, score: number) => unknown)[] = [
    (content, score) => [{ content, score }],
    (content, score) => [[content, score]],
    (content, score) => [JSON.stringify({ content, score })],
    (content, score) => [JSON.stringify({ heading: content, similarity: score })],
    (content, score) => [`page_content=${JSON.stringify(content)} metadata={'score': ${score}}`],
    (content, score) => ({ documents: [content], scores: [score] }),
    (content, score) => [{ page_content: content, metadata: { relevance_score: score } }],
    (content, score) => [`Hit(of='${content}'s', score=${score})`],
    (content, score) => [`{"text": "${content}" "score": ${score}}`],
  ];
  const content = fc.stringMatching(/^[a-z]{1,8}( [a-z]{1,8}){0,4}$/);
  fc.assert(
    fc.property(
      fc.constantFrom(...forms),
      content,
      fc.double({ noNaN: true, noDefaultInfinity: true, min: 0.001, max: 1 }),
      (form, text, score) => {
        const [one] = resultsOf(form(text, score)) ?? [];
        const [other] = resultsOf(form(text, 0.123)) ?? [];
        expect(one?.[0]).toMatch(/^sha256:/);
        expect(one?.[0]).toBe(other?.[0]);
      },
    ),
  );
});

it('keeps a document without id and text at its rank, under a unique id', () => {
  const output = [{ id: 'a' }, { score: 0.5 }, { id: 'c' }];
  expect(resultsOf(output)?.map(([id]) => id)).toEqual(['a', `unidentified:${queryId(1)}#2`, 'c']);
});

describe('the query is read from', () => {
  it.each<[string, unknown, string | null]>([
    ['arguments of a call', { args: ['how?', 3], kwargs: {} }, 'how?'],
    ['named arguments of a call', { args: [], kwargs: { query: 'how?', k: 3 } }, 'how?'],
    ['an argument that is an object', { args: [{ question: 'how?' }], kwargs: {} }, 'how?'],
    ['positional arguments', ['how?', 3], 'how?'],
    ['positional arguments after an object', [{ filter: {} }, 'how?'], 'how?'],
    [
      'messages',
      {
        messages: [
          { role: 'user', content: 'how?' },
          { role: 'assistant', content: 'so' },
        ],
      },
      'how?',
    ],
    [
      'a list of messages',
      [
        { type: 'human', content: 'how?' },
        { type: 'ai', content: 'so' },
      ],
      'how?',
    ],
    ['a query bundle', { query_bundle: { query_str: 'how?', embedding: null } }, 'how?'],
    ['inputs', { inputs: 'how?', tags: [] }, 'how?'],
    ['a dictionary that Python printed', "{'query': 'how?', 'filter': None}", 'how?'],
    ['a number', { query: 2024 }, '2024'],
    [
      'messages with several parts',
      { messages: [{ role: 'user', content: [{ type: 'image' }, { type: 'text', text: 'how?' }] }] },
      'how?',
    ],
    ['messages of OTel GenAI', [{ role: 'user', parts: [{ type: 'text', content: 'how?' }] }], 'how?'],
    [
      'serialized LangChain messages',
      { messages: [[{ lc: 1, type: 'constructor', kwargs: { content: 'how?', type: 'human' } }]] },
      'how?',
    ],
    ['arguments after the object of a method', { args: ['<app.Search object at 0x7f3a>', 'how?'] }, 'how?'],
    ['arguments without a query, as null', { args: [], kwargs: { collection: 'x' } }, null],
    ['numbers, as null', [0.1, 0.2], null],
  ])('%s', (_, input, text) => {
    const value = typeof input === 'string' ? input : JSON.stringify(input);
    expect(query({ 'input.value': value, 'output.value': '[]' })?.text ?? null).toBe(text);
  });
});

describe('retrievers without a standard type', () => {
  const documents = JSON.stringify([
    { pageContent: 'x', metadata: {}, id: 'a' },
    { pageContent: 'y', metadata: { source: 'b' } },
  ]);
  const langfuse = (more: Record<string, string>) =>
    extract([
      aSpan({ attributes: { 'langfuse.observation.type': 'span', 'langfuse.observation.input': 'how?', ...more } }),
    ]);

  it('from the LangChain.js handler of Langfuse are recognized by their documents or retriever name', () => {
    expect(langfuse({ 'langfuse.observation.output': documents }).queries).toMatchObject([
      { text: 'how?', results: [{ id: 'a' }, { id: 'b' }] },
    ]);
    const named = {
      'langfuse.observation.metadata.ls_retriever_name': 'vectorstore',
      'langfuse.observation.output': '[]',
    };
    expect(langfuse(named).queries).toMatchObject([{ results: [] }]);
    for (const other of ['[]', '"an answer"', '[{"role":"user"}]', '{"pageContent":"x"}'])
      expect(langfuse({ 'langfuse.observation.output': other })).toMatchObject({
        queries: [],
        unreadableRetrievers: [],
      });
  });

  it('from MLflow are recognized by their span type, and JSON-encoded texts are parsed', () => {
    const mlflow = (type: string, input: unknown) =>
      extract([
        aSpan({
          attributes: {
            'mlflow.spanType': JSON.stringify(type),
            'mlflow.spanInputs': JSON.stringify(input),
            'mlflow.spanOutputs': JSON.stringify([{ page_content: 'x', metadata: {}, id: 'a' }, { id: 'b' }]),
          },
        }),
      ]);
    for (const input of ['how?', { query: 'how?' }])
      expect(mlflow('RETRIEVER', input).queries).toMatchObject([{ text: 'how?', results: [{ id: 'a' }, { id: 'b' }] }]);
    expect(mlflow('CHAIN', 'how?')).toMatchObject({ queries: [], unreadableRetrievers: [] });
  });

  it('from Spring AI are read even if quotes and line breaks in texts are not escaped', () => {
    const attributes = {
      'db.vector.query.content': 'how?',
      'db.vector.query.response.documents': '["He said "hi"\nand left", "two"]',
    };
    const texts = { 'db.vector.query.response.documents': JSON.stringify(['He said "hi"\nand left', 'two']) };
    const [raw, escaped] = [attributes, { ...attributes, ...texts }].map(
      (own) => extract([aSpan({ attributes: own })]).queries[0]?.results,
    );
    expect(raw).toHaveLength(2);
    expect(raw).toEqual(escaped);
  });

  it('from the LangSmith exporter are not mistaken for embeddings, nor its chains for retrievers', () => {
    const langSmith = (kind: string) =>
      extract([
        aSpan({
          attributes: {
            'langsmith.span.kind': kind,
            'gen_ai.operation.name': 'embeddings',
            'gen_ai.prompt': '{"query": "how?"}',
            'gen_ai.completion': JSON.stringify({ documents: JSON.parse(documents) }),
          },
        }),
      ]);
    expect(langSmith('retriever').queries).toMatchObject([{ text: 'how?', results: [{ id: 'a' }, { id: 'b' }] }]);
    expect(langSmith('chain')).toMatchObject({ queries: [], unreadableRetrievers: [] });
  });
});

it('reads no latency from a span that lacks a time or ends before it starts', () => {
  const latencyOf = (startTimeUnixNano: bigint, endTimeUnixNano: bigint) =>
    extract([
      aSpan({
        startTimeUnixNano,
        endTimeUnixNano,
        attributes: { 'openinference.span.kind': 'RETRIEVER', 'output.value': '[]' },
      }),
    ]).queries[0]?.latencyMs;
  const at = 1_700_000_000_000_000_000n;
  expect([latencyOf(0n, 0n), latencyOf(at, 0n), latencyOf(0n, at), latencyOf(at, at - 1n)]).toEqual([
    null,
    null,
    null,
    null,
  ]);
  expect([latencyOf(at, at), latencyOf(at, at + 5_000_000n)]).toEqual([0, 5]);
});
