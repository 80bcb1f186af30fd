import { describe, expect, it } from 'vitest';
import type { RetrieverConfigOf } from '../../../../src/connectors/retrievers/config.ts';
import { compileResults as compileAll } from '../../../../src/connectors/retrievers/results.ts';
import { RecalldError } from '../../../../src/core/errors.ts';
import { contentId } from '../../../../src/core/text/content-id.ts';

type ResultExpressions = Omit<RetrieverConfigOf<'http'>['results'], 'stages'> &
  Partial<Pick<RetrieverConfigOf<'http'>['results'], 'stages'>>;

const compileResults = (results: ResultExpressions, ...rest: [field?: string, namesKeys?: boolean]) =>
  compileAll({ stages: {}, ...results }, ...rest);

const plain: ResultExpressions = { list: 'results', id: 'id', score: 'score' };

function read(text: string, expressions = plain, contentType: string | null = 'application/json', withText = false) {
  return compileResults(expressions)({
    text,
    contentType,
    label: 'http://rag/search',
    queryText: 'Kubernetes',
    k: 10,
    withText,
  });
}
const readJson = (value: unknown, expressions = plain) => read(JSON.stringify(value), expressions);
const idOf = (idAsJson: string) => read(`{"results":[{"id":${idAsJson}}]}`);

describe('the results of an answer', () => {
  it('are the documents in the order of the answer, including duplicates', () => {
    const results = [
      { id: 'b', score: 0.5 },
      { id: 'a', score: 0.9 },
      { id: 'b', score: 0.5 },
    ];
    expect(readJson({ results })).toStrictEqual({ kind: 'documents', documents: results });
  });

  it('get ids from their texts if the service returns no ids', () => {
    const results = [{ body: 'Open the settings.', score: 1 }, { body: ' Open\nthe settings. ' }];
    const id = contentId('Open the settings.');
    const byText = { list: 'results', id: null, score: 'score', text: 'body' };
    expect(readJson({ results }, byText)).toStrictEqual({
      kind: 'documents',
      documents: [
        { id, score: 1 },
        { id, score: null },
      ],
    });
    expect(readJson({ results: [{ body: ' ' }] }, byText)).toMatchObject({
      code: 'missing_id',
      message: expect.stringContaining('retriever.results.text is body'),
    });
    expect(() => readJson({}, { list: 'results', id: null, score: null })).toThrow(
      'retriever.results.id: null means that ids are derived from the texts; set results.text, or set results.id to the field that contains the ids.',
    );
  });

  it('are described without keys of the answer if messages must not repeat the answer', () => {
    const body = {
      contentType: 'application/json',
      label: 'http://rag/search',
      queryText: 'q',
      k: 10,
      withText: false,
    };
    const read = compileResults(plain, 'retriever', false);
    expect(read({ ...body, text: '{"alice":[]}' })).toMatchObject({
      code: 'no_result_list',
      message:
        'http://rag/search returned no list of results: retriever.results.list (results) is null; the response is an object.',
    });
    expect(read({ ...body, text: '{"results":[{"alice":1}]}' })).toMatchObject({
      code: 'missing_id',
      message: expect.not.stringContaining('alice'),
    });
  });

  it('include the results of earlier stages on request', () => {
    const stage = { list: 'debug.first', id: 'doc', score: 'sim' };
    const read = compileResults({
      ...plain,
      stages: {
        candidates: { ...stage, latency: 'debug.ms' },
        fused: { ...stage, list: 'debug.fused' },
        filtered: { ...stage, list: 'debug.none' },
      },
    });
    const body = { contentType: null, label: 'x', queryText: 'q', k: 10, withText: false };
    const text = JSON.stringify({
      results: [{ id: 'a', score: 1 }],
      debug: { first: [{ doc: 'b', sim: 0.5 }, { doc: 7 }, { sim: 1 }], fused: [], ms: 12.5 },
    });
    const documents = [{ id: 'a', score: 1 }];
    expect(read({ ...body, text })).toStrictEqual({ kind: 'documents', documents });
    expect(read({ ...body, text, withStages: true })).toStrictEqual({
      kind: 'documents',
      documents,
      stages: [
        {
          name: 'candidates',
          documents: [
            { id: 'b', score: 0.5 },
            { id: '7', score: null },
          ],
          latencyMs: 12.5,
        },
        { name: 'fused', documents: [] },
      ],
    });
  });

  it('can be empty', () => {
    expect(readJson({ results: [] })).toStrictEqual({ kind: 'documents', documents: [] });
  });

  it.each<[name: string, expressions: ResultExpressions, answer: unknown]>([
    [
      'Elasticsearch hits',
      { list: 'hits.hits', id: '_id', score: '_score' },
      { hits: { hits: [{ _id: 'd1', _score: 2 }] } },
    ],
    ['a bare array', { list: '@', id: 'doc.id', score: 'sim' }, [{ doc: { id: 'd1' }, sim: 2 }]],
    ['an array of ids', { list: 'ids', id: '@', score: '`2`' }, { ids: ['d1'] }],
    [
      'names with hyphens',
      { list: '"the-list"', id: '"doc-id"', score: 's' },
      { 'the-list': [{ 'doc-id': 'd1', s: 2 }] },
    ],
    ['a distance turned into a score', { list: 'r', id: 'id', score: '`3` - d' }, { r: [{ id: 'd1', d: 1 }] }],
  ])('can be %s', (_name, expressions, answer) => {
    expect(readJson(answer, expressions)).toStrictEqual({
      kind: 'documents',
      documents: [{ id: 'd1', score: 2 }],
    });
  });

  it.each([
    ['an unchanged string', '" a\\tb "', ' a\tb '],
    ['an integer', '42', '42'],
    ['zero', '0', '0'],
    ['a negative integer', '-7', '-7'],
    ['a 64-bit integer with all its digits', '9223372036854775807', '9223372036854775807'],
  ])('have %s as their id', (_name, json, id) => {
    expect(idOf(json)).toStrictEqual({ kind: 'documents', documents: [{ id, score: null }] });
  });

  it.each([
    ['null', 'null'],
    ['empty text', '""'],
    ['a decimal number', '0.83'],
    ['a number beyond every double', '1e400'],
    ['a boolean', 'true'],
    ['an object', '{"oid": "x"}'],
    ['text with a NUL character', '"a\\u0000b"'],
  ])('do not accept %s as an id', (_name, json) => {
    expect(idOf(json)).toMatchObject({ kind: 'error', code: 'missing_id' });
  });

  it('make the answer an error if one result has no id, so that later results do not move up', () => {
    const answer = { results: [{ id: 'a' }, { doc: 'b', secret: 'value' }, { id: 'c' }] };
    expect(readJson(answer)).toStrictEqual({
      kind: 'error',
      code: 'missing_id',
      message:
        'http://rag/search returned no valid id for 1 of 3 results, first at rank 2: ' +
        'retriever.results.id is id, and the result at that rank is an object with the keys doc, secret.',
    });
  });

  it.each([
    ['a number', '0.5', 0.5],
    ['a number in a string', '" 1.5e-3 "', 0.0015],
    ['a long integer', '12345678901234567890', Number('12345678901234567890')],
    ['null', 'null', null],
    ['words', '"high"', null],
    ['empty text', '""', null],
    ['NaN in a string', '"NaN"', null],
    ['a hexadecimal number', '"0x10"', null],
    ['infinity', '1e400', null],
    ['a boolean', 'true', null],
  ])('read %s as a score, or as no score', (_name, json, score) => {
    expect(read(`{"results":[{"id":"a","score":${json}}]}`)).toStrictEqual({
      kind: 'documents',
      documents: [{ id: 'a', score }],
    });
  });

  it('have no scores if the service returns none', () => {
    const expected = { kind: 'documents', documents: [{ id: 'a', score: null }] };
    expect(readJson({ results: [{ id: 'a' }] })).toStrictEqual(expected);
    expect(readJson({ results: [{ id: 'a', score: 1 }] }, { ...plain, score: null })).toStrictEqual(expected);
    // An expression that does not fit the value yields no score and does not crash.
    expect(readJson({ results: [{ id: 'a', score: 'x' }] }, { ...plain, score: 'abs(score)' })).toStrictEqual(expected);
  });

  it('are limited to 1,000 documents', () => {
    const answer = readJson({ results: Array.from({ length: 100_000 }, (_, index) => index) }, { ...plain, id: '@' });
    expect(answer.kind === 'documents' && answer.documents.length).toBe(1000);
  });

  it.each([
    ['an object', { hits: [], took: 3 }, 'is null; the response is an object with the keys hits, took.'],
    ['a list', [1, 2], 'is null; the response is an array of 2.'],
    [
      'an error in the place of the list',
      { results: 'down' },
      'is a string; the response is an object with the keys results.',
    ],
    ['nothing', null, 'is null; the response is null.'],
    [
      'keys that could be data',
      { 'how do I': 1, Kubernetes: 2, kubernetes: 3 },
      'is an object without keys that can be shown.',
    ],
  ])('that are missing from %s are an error, which describes the shape but no values', (_name, answer, message) => {
    const reading = readJson(answer);
    expect(reading).toMatchObject({ kind: 'error', code: 'no_result_list' });
    expect(reading).toHaveProperty('message', expect.stringContaining(message));
    expect(reading).not.toHaveProperty('message', expect.stringMatching(/kubernetes|how do|down/i));
  });

  it.each([
    ['a web page', '<html>', 'text/html; charset=utf-8', 'returned text/html instead of JSON.'],
    ['NaN, which is not JSON', '[NaN]', 'application/problem+json', 'declares application/problem+json, but'],
    ['an empty body', ' ', 'application/json', 'returned an empty body instead of JSON.'],
    ['text without a type', 'ok', null, 'returned no content type, and the body is not JSON.'],
    ['an invalid content type', 'ok', '<script>', 'returned no content type'],
  ])('cannot be read from %s', (_name, text, contentType, message) => {
    expect(read(text, plain, contentType)).toMatchObject({ code: 'not_json' });
    expect(read(text, plain, contentType)).toHaveProperty('message', expect.stringContaining(message));
  });

  it.each(['{"results": [', '{"results":[{"id":"a"}', '[{"id":"a', '{"results":[{"id":"a\\"}]}'])(
    'cannot be read from JSON that was cut off: %s',
    (text) => {
      const message = expect.stringContaining(
        'returned JSON that ends early; a gateway or the retriever may limit',
      ) as string;
      expect(read(text, plain, 'application/json')).toMatchObject({ code: 'cut_off', message });
    },
  );

  it('are read whatever the content type is', () => {
    expect(read('{"results":[{"id":"a"}]}', plain, 'text/plain').kind).toBe('documents');
  });

  it.each<[name: string, expressions: ResultExpressions, message: string]>([
    ['a list that is not JMESPath', { ...plain, list: 'hits[' }, 'retriever.results.list: "hits[" is not a JMESPath'],
    ['an empty id', { ...plain, id: '' }, 'retriever.results.id: "" is not a JMESPath expression'],
    [
      'an unknown function',
      { ...plain, score: 'a.round(score)' },
      'retriever.results.score: JMESPath has no function round()',
    ],
    [
      'a hyphen outside quotes',
      { ...plain, id: 'doc-id' },
      'retriever.results.id: JMESPath parses doc-id as arithmetic',
    ],
  ])('cannot be configured with %s', (_name, expressions, message) => {
    expect(() => compileResults(expressions)).toThrowError(RecalldError);
    expect(() => compileResults(expressions)).toThrowError(message);
  });
});

describe('the texts of an answer', () => {
  const body = JSON.stringify({
    results: [{ id: 'a', passage: { body: 'one' } }, { id: 'b' }, { id: 'c', passage: { body: 3 } }],
  });
  const withText = { ...plain, text: 'passage.body' };

  it('are read if needed, and null if missing', () => {
    expect(read(body, withText, null, true)).toEqual({
      kind: 'documents',
      documents: [
        { id: 'a', score: null, text: 'one' },
        { id: 'b', score: null, text: null },
        { id: 'c', score: null, text: null },
      ],
    });
  });

  it.each([
    ['they are not requested', withText, false],
    ['the config does not name their field', plain, true],
  ])('are omitted if %s', (_, expressions, isAsked) => {
    const reading = read(body, expressions, null, isAsked);
    expect(JSON.stringify(reading)).not.toContain('text');
  });
});
