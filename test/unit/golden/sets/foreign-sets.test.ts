/** The formats are those that Quepid 8 (book export, JSON and CSV), Ragas 0.1 to 0.3 and OpenSearch 3 write. */
import { describe, expect, it } from 'vitest';
import { contentId } from '../../../../src/core/text/content-id.ts';
import { parsePythonList } from '../../../../src/golden/rules/cell-lists.ts';
import { readFiles, refusal } from './golden-files.ts';

const pair = (doc_id: string, ...judgements: object[]) => ({
  query_text: 'red dress',
  doc_id,
  position: 1,
  document_fields: { title: 'A "dress" {', tags: ['[', {}] },
  judgements: judgements.map((one) => ({ unrateable: false, judge_later: false, user_email: 'a@x', ...one })),
});

const book = {
  name: 'Dresses',
  scorer: { name: 'nDCG@10', scale: [0, 1, 2, 3] },
  query_doc_pairs: [
    pair('d1', { rating: 3 }, { rating: 2 }),
    pair('d2', { rating: 0 }),
    pair('d3', { unrateable: true, rating: 3 }, { rating: null, judge_later: true }),
  ],
};

const table = 'query,docid,Ann,"Bob, jr"\nred dress,d1,3,2\nred dress,d2,,0\nred dress,d3,,\nblue jeans,d1,1.0,\n';

describe('a Quepid book', () => {
  it('is detected by its content, and each grade is the rounded mean of the ratings', async () => {
    const { queries, format, origin } = await readFiles({ 'book.json': JSON.stringify(book, null, 2) }, 'book.json');
    expect({ format, origin }).toEqual({ format: 'quepid', origin: 'human' });
    expect(queries).toMatchObject([
      {
        text: 'red dress',
        judgments: [
          { documentId: 'd1', grade: 3 },
          { documentId: 'd2', grade: 0 },
        ],
      },
    ]);
  });

  it('is read the same from CSV with a column for each rater', async () => {
    const [json, csv] = await Promise.all([
      readFiles({ 'book.json': JSON.stringify(book) }, 'book.json'),
      readFiles({ 'book.csv': table }, 'book.csv'),
    ]);
    expect(csv.format).toBe('quepid');
    expect(csv.queries[0]).toEqual(json.queries[0]);
    expect(csv.queries[1]).toMatchObject({ text: 'blue jeans', judgments: [{ documentId: 'd1', grade: 1 }] });
  });

  it('may contain the ratings of a case, in which an unrated query has a separate row', async () => {
    const files = { 'case.csv': 'query,docid,rating\nred dress,d1,2\nblue jeans\n' };
    const { queries, warnings } = await readFiles(files, 'case.csv');
    expect(queries).toMatchObject([{ text: 'red dress', judgments: [{ documentId: 'd1', grade: 2 }] }]);
    expect(warnings.join()).toContain('Skipped queries without a judgment: 1 (first: line 3 of');
  });
});

const contexts = ['Open the settings.\nThen "Reset".', "It's in the menu.\tDone"];

describe('a Ragas test set', () => {
  const row = {
    user_input: 'How do I reset it?',
    reference_contexts: [`<1-hop>\n\n${contexts[0]}`, `<2-hop>\n\n${contexts[1]}`],
    reference: 'In the settings.',
    synthesizer_name: 'multi_hop_specific_query_synthesizer',
  };
  const judgments = contexts.map((context) => ({ documentId: contentId(context), grade: 1 }));

  it('identifies its contexts by their texts, and is recorded as generated', async () => {
    const { queries, format, origin } = await readFiles({ 'testset.jsonl': JSON.stringify(row) }, 'testset.jsonl');
    expect({ format, origin }).toEqual({ format: 'ragas', origin: 'generated' });
    expect(queries).toMatchObject([
      {
        text: row.user_input,
        tags: { synthesizer_name: 'multi_hop_specific_query_synthesizer' },
        judgments,
      },
    ]);
  });

  it('is read the same from a pandas CSV file with lists in Python syntax and from a single JSON list', async () => {
    const list = String.raw`['<1-hop>\n\nOpen the settings.\nThen ""Reset"".', ""<2-hop>\n\nIt's in the menu.\tDone""]`;
    const csv = `,user_input,reference_contexts,reference,synthesizer_name\n0,${row.user_input},"${list}",x,${row.synthesizer_name}\n`;
    const files = { 'a.csv': csv, 'a.json': JSON.stringify([row]), 'a.jsonl': JSON.stringify(row) };
    const [first, ...others] = await Promise.all(Object.keys(files).map((name) => readFiles(files, name)));
    for (const other of others) expect(other.queries).toEqual(first?.queries);
    expect(first?.queries[0]?.judgments).toEqual(judgments);
  });

  it('uses document ids if available, and accepts the field names from before version 0.2', async () => {
    const ids = { ...row, reference_context_ids: ['kb-1', 7] };
    const old = { question: 'Why?', contexts: ['Because.'], ground_truth: 'x', evolution_type: 'simple' };
    const files = { 'testset.jsonl': `${JSON.stringify(ids)}\n${JSON.stringify(old)}\n` };
    const { queries } = await readFiles(files, 'testset.jsonl', { format: 'ragas' });
    expect(queries[0]?.judgments.map(({ documentId }) => documentId)).toEqual(['kb-1', '7']);
    expect(queries[1]).toMatchObject({ judgments: [{ documentId: contentId('Because.') }] });
  });

  it.each<[string, (string | number)[] | null]>([
    [`[]`, []],
    [String.raw`['a', "b'c", 'd\'e\x41é\U0001f600\\n', 12]`, ['a', "b'c", "d'eAé😀\\n", 12]],
    [`['a' 'b']`, null],
    [`array(['a'], dtype=object)`, null],
    [`['a`, null],
    ['nan', null],
  ])('has its lists in Python syntax parsed: %s', (text, expected) => {
    expect(parsePythonList(text)).toEqual(expected);
  });
});

describe('judgments of the Search Relevance Workbench', () => {
  const entry = (query: string, ...ratings: [string, string][]) => ({
    query,
    ratings: ratings.map(([docId, rating]) => ({ rating, docId })),
  });
  const answer = (...judgmentRatings: object[]) => ({
    took: 36,
    hits: { total: { value: 1 }, hits: [{ _id: 'x', _source: { type: 'UBI_JUDGMENT', judgmentRatings } }] },
  });

  it('are read as grades if all ratings are integers', async () => {
    const value = answer(entry('red dress', ['d1', '3.000'], ['d2', '0.000']), entry('blue jeans', ['d1', '1.000']));
    const { queries, format, warnings } = await readFiles({ 'j.json': JSON.stringify(value) }, 'j.json');
    expect(format).toBe('ubi');
    expect(queries.map(({ text, judgments: [first] }) => [text, first?.grade])).toEqual([
      ['red dress', 3],
      ['blue jeans', 1],
    ]);
    expect(warnings).toEqual([]);
  });

  it('are read as clicks over expected clicks if any rating is a fraction, with a warning', async () => {
    const value = {
      type: 'UBI_JUDGMENT',
      judgmentRatings: [entry('q', ['a', '1.000'], ['b', '0.250'], ['c', '0.000'], ['d', '4.125'])],
    };
    const { queries, warnings } = await readFiles({ 'j.json': JSON.stringify(value) }, 'j.json');
    expect(queries[0]?.judgments.map(({ grade }) => grade)).toEqual([2, 1, 0, 2]);
    expect(warnings[0]).toContain('are read as clicks over expected clicks (COEC):');
  });
});

const broken = { ...book, query_doc_pairs: [...book.query_doc_pairs, pair('d4', { rating: 'good' })] };
const lines = JSON.stringify(broken, null, 2).split('\n');
const lineOfPair = lines.findLastIndex((line) => line === '    {') + 1;

describe('a malformed file from another tool is refused with the line number', () => {
  it.each<[string, string, string, object?]>([
    [
      'book.csv',
      table.replace('d1,3,2', 'd1,3,good'),
      'Line 2 of book.csv has the rating "good", which is not a number',
    ],
    ['book.json', lines.join('\n'), `Line ${lineOfPair} of book.json has the rating "good", which is not a number;`],
    [
      'book.json',
      lines.slice(0, 9).join('\n'),
      'Line 9 of book.json is not valid JSON: at column 8 it has an unexpected end of input inside a list or an object;',
      { format: 'quepid' },
    ],
    [
      'book.json',
      '{"name":\n"x",}',
      'Line 2 of book.json is not valid JSON: at column 5 it has a comma before };',
      { format: 'quepid' },
    ],
    [
      'book.json',
      '{"name": "x"}',
      'Line 1 of book.json has no query_doc_pairs and no queries with ratings;',
      { format: 'quepid' },
    ],
    ['book.csv', 'question,doc\n', 'Line 1 of book.csv is not a Quepid', { format: 'quepid' }],
    [
      't.jsonl',
      '\n{"user_input": "Why?", "reference_contexts": "array([1])"}',
      'Line 2 of t.jsonl has no list of texts',
    ],
    [
      't.jsonl',
      '{"user_input": "Why?", "reference_context_ids": ["d1"]}\n{"user_input": "How?", "reference_context_ids": []}',
      'Line 2 of t.jsonl lists no documents in reference_context_ids;',
    ],
    ['t.jsonl', '{"user_input": [], "reference_contexts": []}', 'Line 1 of t.jsonl is a conversation'],
    ['t.json', '{"user_input": 1, "reference_contexts": []}', 'Line 1 of t.json has no user_input,'],
    ['j.json', '{"judgmentRatings":\n[{"query": "q"}]}', 'Line 2 of j.json is not a judged query'],
    ['j.json', '{"judgmentRatings": {}}', 'Line 1 of j.json is not a list of judgments'],
    [
      'j.json',
      '{}',
      'j.json is neither a list of JSON objects nor in another known format; write a JSON list, or one JSON object per line',
    ],
  ])('%s', async (name, content, problem, options = {}) => {
    expect((await refusal({ [name]: content }, name, options)).message).toContain(problem);
  });
});
