import { assert, constantFrom, integer, property } from 'fast-check';
import { expect, it } from 'vitest';
import { findResults } from '../../../../src/connectors/retrievers/find-request.ts';
import { compileResults } from '../../../../src/connectors/retrievers/results.ts';

const chunks = [
  { page_content: 'one', metadata: { source: 'a.md' } },
  { page_content: 'two', metadata: { source: 'a.md' } },
];

it.each<[service: string, answer: unknown, expected: object | null]>([
  ["recalld's own format", { results: [{ id: 'a', score: 1 }] }, { list: 'results', id: 'id', score: 'score' }],
  ['a bare list', [{ id: 7, text: 'x' }], { list: '@', id: 'id', score: null, text: 'text' }],
  ['a list of ids', { data: { ids: ['a', 'b'] } }, { list: 'data.ids', id: '@', score: null }],
  [
    'Elasticsearch',
    { took: 3, hits: { total: { value: 2 }, hits: [{ _id: 'x', _score: 2, _source: { title: 't', body: 'b' } }] } },
    { list: 'hits.hits', id: '_id', score: '_score', text: '_source.body' },
  ],
  ['LangChain', { documents: chunks }, { id: 'metadata.source', text: 'page_content', isUnique: false }],
  [
    'nodes of LlamaIndex',
    { source_nodes: [{ node: { node_id: 'n1', text: 'x' }, score: 0.4 }] },
    { list: 'source_nodes', id: 'node.node_id', score: 'score', text: 'node.text' },
  ],
  ['Azure', { value: [{ key: 'k', '@search.score': 2 }] }, { list: 'value', id: 'key', score: '"@search.score"' }],
  [
    'two lists, of which one has better ids',
    { facets: [{ name: 'x' }, { name: 'y' }], 'top results': [{ doc_id: 'd', score: 1 }] },
    { list: '"top results"', id: 'doc_id' },
  ],
  ['no list', { answer: 'forty-two' }, null],
  [
    'texts without ids, which are identified by their hashes',
    { query: 'q', documents: [{ text: 'one' }, { text: ' one ' }] },
    { list: 'documents', id: null, text: 'text', isUnique: false },
  ],
  ['results without ids', { results: [{ score: 1 }, { score: 2 }] }, null],
  ['an empty list', { results: [] }, null],
])('finds the results, if any, in an answer: %s', (_, answer, expected) => {
  const found = findResults(answer);
  if (expected === null) expect(found).toBeNull();
  else expect(found).toMatchObject(expected);
});

it('the detected expressions read the same results, wherever the list is nested', () => {
  const name = constantFrom('results', 'data', 'top hits', 'a-b', 'x.y', '"q"');
  assert(
    property(
      name,
      name,
      constantFrom('id', '_id', 'doc_id'),
      integer({ min: 1, max: 5 }),
      (outer, inner, id, count) => {
        const results = Array.from({ length: count }, (_, n) => ({ [id]: `d${n}`, score: n }));
        const answer = { [outer]: { [inner]: results, took: 3 } };
        const found = findResults(answer);
        if (found === null) throw new Error('not found');
        const body = {
          text: JSON.stringify(answer),
          contentType: null,
          label: 'x',
          queryText: 'q',
          k: 10,
          withText: false,
        };
        const { list, id: idOf, score } = found;
        expect(compileResults({ list, id: idOf, score, stages: {} })(body)).toEqual({
          kind: 'documents',
          documents: found.ids.map((one, score) => ({ id: one, score })),
        });
      },
    ),
  );
});

it('detects the format of 100,000 results from the first hundred', () => {
  const results = Array.from({ length: 100_000 }, (_, index) => ({ id: `d${index}`, score: 1, text: 'x' }));
  const found = findResults({ results });
  expect(found).toMatchObject({ list: 'results', id: 'id', score: 'score', text: 'text', isUnique: true });
  expect(found?.ids).toHaveLength(100);
});
