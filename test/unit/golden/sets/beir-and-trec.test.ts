import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Files, read, readFiles, refusal, withFiles } from './golden-files.ts';

const beirQueries = '{"_id": "q1", "text": "Why?"}\n';

describe('a malformed BEIR or TREC file is refused with the file and the line', () => {
  it.each<[string, Files, string]>([
    [
      'a query without an id',
      { 'queries.jsonl': '{"text": "Why?"}', 'qrels.tsv': 'q1\td1\t1' },
      'Line 1 of queries.jsonl has no "_id"; write {"_id": "...", "text": "..."}.',
    ],
    [
      'a query without a text',
      { 'queries.jsonl': '{"_id": "q1"}', 'qrels.tsv': 'q1\td1\t1' },
      'Line 1 of queries.jsonl has no "text"; write {"_id": "...", "text": "..."}.',
    ],
    [
      'a line that is not an object',
      { 'queries.jsonl': '1', 'qrels.tsv': 'q1\td1\t1' },
      'Line 1 of queries.jsonl is not a JSON object; write {"_id": "...", "text": "..."}.',
    ],
    [
      'a repeated query id',
      { 'queries.jsonl': beirQueries + beirQueries, 'qrels.tsv': 'q1\td1\t1' },
      'Line 2 of queries.jsonl repeats the query id "q1" of line 1 of queries.jsonl; give each query its own id.',
    ],
    [
      'a line with two columns',
      { 'queries.jsonl': beirQueries, 'qrels.tsv': 'q1\td1\t1\nq1\td2\n' },
      'Line 2 of qrels.tsv has 2 columns, but line 1 has 3 (query id, document, grade)',
    ],
    [
      'a header in the middle',
      { 'queries.jsonl': beirQueries, 'qrels.tsv': 'q1\td1\t1\nquery-id\tcorpus-id\tscore\n' },
      'Line 2 of qrels.tsv has the grade "score", which is not a whole number; use 0, 1, 2, ...',
    ],
    [
      'a first line that is neither a header nor a judgment',
      { 'queries.jsonl': beirQueries, 'qrels.tsv': 'q1\td1\thigh\n' },
      'Line 1 of qrels.tsv has the grade "high", which is not a whole number; use 0, 1, 2, ...',
    ],
    [
      'two grades for one document',
      { 'queries.jsonl': beirQueries, 'qrels.tsv': 'q1\td1\t1\nq1\td1\t0\n' },
      'Line 2 of qrels.tsv gives the document "d1" the grade 0 for the query "q1", but line 1 of qrels.tsv gives 1; keep one of the two.',
    ],
    [
      'a malformed corpus',
      { 'queries.jsonl': beirQueries, 'qrels.tsv': 'q1\td1\t1\n', 'corpus.jsonl': '{"_id": "d1"}\n{"_id"' },
      'Line 2 of corpus.jsonl is not JSON: at column 7 it has no colon after a name; write one complete JSON object',
    ],
    [
      'topics in SGML',
      { 'topics.txt': '<top>\n<num> 301\n', 'qrels.txt': '301 0 d1 1\n' },
      'Line 1 of topics.txt does not consist of a query id, one tab and the text; convert other topic formats to this format.',
    ],
    [
      'queries in Latin-1',
      { 'queries.tsv': Buffer.from('q1\tWhy?\nq2\tZürich?\n', 'latin1'), 'qrels.txt': 'q1 0 d1 1\n' },
      'Line 2 of queries.tsv is not UTF-8; save the file as UTF-8.',
    ],
  ])('%s', async (_, files, message) => {
    const error = await refusal(files, '.');
    expect(error).toEqual({ code: 'file_malformed', message: expect.stringContaining(message) });
  });
});

describe('an import without queries or judgments is refused', () => {
  it.each<[string, Files, string, string]>([
    [
      'an empty CSV file',
      { 'set.csv': '' },
      'set.csv',
      'set.csv has no queries; a golden set needs at least one query with a judged document.',
    ],
    [
      'a CSV file with only a header',
      { 'set.csv': 'question,document\n' },
      'set.csv',
      'set.csv has no queries; a golden set needs at least one query with a judged document.',
    ],
    [
      'an empty JSONL file',
      { 'set.jsonl': '\n\n' },
      'set.jsonl',
      'set.jsonl has no queries; a golden set needs at least one query with a judged document.',
    ],
    [
      'a query without judgments',
      { 'set.jsonl': '{"text": "Why?", "relevant": []}' },
      'set.jsonl',
      'set.jsonl has no judgment for any of its queries; judge at least one document.',
    ],
    [
      'judgments with other query ids',
      { 'queries.jsonl': beirQueries, 'qrels.tsv': 'Q1\td1\t1\n' },
      '.',
      'FOLDER has no judgment for any of its queries: judgments have the query id "Q1", but queries have "q1"; they differ in case. Use the same query ids for both.',
    ],
    ['empty qrels', { 'queries.jsonl': beirQueries, 'qrels.tsv': '' }, '.', 'has no judgment for any of its queries'],
  ])('%s', async (_, files, name, message) => {
    expect(await refusal(files, name)).toEqual({
      code: 'golden_set_empty',
      message: expect.stringContaining(message),
    });
  });
});

const queries = '{"_id": "q1", "text": "Why?"}\n{"_id": "q2", "text": "How?"}\n';
const header = 'query-id\tcorpus-id\tscore\n';

describe('BEIR', () => {
  it.each([
    ['qrels.tsv to qrels/', ['qrels.tsv', 'qrels/test.tsv'], 'qrels.tsv', 'qrels/test.tsv'],
    [
      'the test split to other splits',
      ['qrels/dev.tsv', 'qrels/test.tsv', 'qrels/train.tsv'],
      'qrels/test.tsv',
      'qrels/dev.tsv, qrels/train.tsv',
    ],
    [
      'the first split if there is no test split',
      ['qrels/train.tsv', 'qrels/dev.tsv'],
      'qrels/dev.tsv',
      'qrels/train.tsv',
    ],
  ])('prefers %s, with a warning', async (_, names, taken, others) => {
    const files = Object.fromEntries(names.map((name) => [name, `${header}q1\t${name}\t1\n`]));
    const set = await readFiles({ 'queries.jsonl': queries, ...files }, '.');
    expect(set.queries[0]?.judgments[0]?.documentId).toBe(taken);
    expect(set.warnings[0]).toBe(
      `Judgments are read from ${taken}, not from ${others}. Use --qrels to choose another file.`,
    );
  });

  it('accepts the only split without a warning', async () => {
    const qrels = { 'qrels/dev.tsv': 'q1\td1\t1\nq2\td1\t1\n', 'qrels/README.md': 'About the splits.' };
    const set = await readFiles({ 'queries.jsonl': queries, ...qrels }, '.');
    expect(set.warnings).toEqual([]);
    expect(set.counts.judgments).toBe(2);
  });

  it('reads the specified files', async () => {
    const files = {
      'queries.jsonl': queries,
      'other.tsv': 'q9\tWhat?\n',
      'qrels.tsv': 'q1\td1\t1\n',
      'my.tsv': 'q9\td9\t1\n',
    };
    await withFiles(files, async (folder) => {
      const set = await read(folder, {
        queriesPath: join(folder, 'other.tsv'),
        qrelsPath: join(folder, 'my.tsv'),
      });
      expect(set).toMatchObject({ format: 'beir', queries: [{ id: 'q9', text: 'What?' }], warnings: [] });
    });
  });

  it('converts short metadata fields to tags, and counts the other fields', async () => {
    const metadata = {
      lang: 'en',
      year: 2024,
      open: true,
      none: null,
      list: ['a'],
      long: 'x'.repeat(257),
      'a=b': 'c',
    };
    const query = JSON.stringify({ _id: 7, text: 'Why?', metadata, other: 1 });
    const set = await readFiles({ 'queries.jsonl': query, 'qrels.tsv': '7\td1\t1\n' }, '.');
    expect(set.queries[0]).toMatchObject({ id: '7', tags: { lang: 'en', year: '2024', open: 'true' } });
    expect(set.warnings).toEqual([expect.stringContaining('because they are not short text: 3 (first: line 1 of ')]);
  });

  it('creates at most 32 tags from the metadata', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`key${i}`, 'value']));
    const query = JSON.stringify({ _id: 'q1', text: 'Why?', metadata });
    const set = await readFiles({ 'queries.jsonl': query, 'qrels.tsv': 'q1\td1\t1\n' }, '.');
    expect(Object.keys(set.queries[0]?.tags ?? {})).toHaveLength(32);
    expect(set.warnings).toEqual([expect.stringContaining(': 8 (first: line 1 of ')]);
  });

  it('counts judged documents that are missing from the corpus, and keeps their judgments', async () => {
    const set = await readFiles(
      {
        'queries.jsonl': queries,
        'qrels.tsv': 'q1\td1\t1\nq1\td2\t1\nq2\td2\t1\nq2\td3\t1\n',
        'corpus.jsonl': '{"_id": "d1", "text": "a"}\n\n{"_id": "d9", "text": "b"}\n',
      },
      '.',
    );
    expect(set.counts).toEqual({ queries: 2, judgments: 4 });
    expect(set.warnings).toEqual(['Judged documents that are not in corpus.jsonl: 2 (first: d2).']);
  });

  it('reads ids with spaces if tabs separate the columns', async () => {
    const set = await readFiles({ 'queries.jsonl': queries, 'qrels.tsv': 'q1\tuser guide/3\t1\n' }, '.');
    expect(set.queries[0]?.judgments).toEqual([{ documentId: 'user guide/3', grade: 1 }]);
  });
});

describe('TREC', () => {
  it.each([
    ['qrels', 'queries.tsv', 'q1\tWhy?\n'],
    ['qrels.txt', 'topics.tsv', 'q1\tWhy?\n'],
    ['qrels.dl19-passage.txt', 'queries.tsv', 'q1\tWhy?\n'],
    ['dl19.qrels', 'queries.txt', 'query_id\ttext\nq1\tWhy?\n'],
    ['qrels.tsv', 'topics.txt', 'qid\tquery\r\nq1\tWhy?\r\n'],
    ['qrels.trec', 'queries.jsonl', '{"id": "q1", "text": "Why?"}\n'],
  ])('reads %s with %s next to it', async (qrels, queriesName, content) => {
    const files = { [qrels]: 'q1 0 d1 1\nq1  Q0\td2   0\n', [queriesName]: content };
    const expected = {
      format: 'trec',
      queries: [{ id: 'q1', text: 'Why?', judgments: [{ grade: 1 }, { grade: 0 }] }],
    };
    expect(await readFiles(files, '.')).toMatchObject(expected);
    expect(await readFiles(files, qrels, { format: 'trec' })).toMatchObject(expected);
  });

  it('reads a qrels file with queries in another folder', async () => {
    await withFiles({ 'a/judged.dat': 'q1 0 d1 1\n', 'b/asked.tsv': 'q1\tWhy?\n' }, async (folder) => {
      const set = await read(join(folder, 'a/judged.dat'), { queriesPath: join(folder, 'b/asked.tsv') });
      expect(set).toMatchObject({ format: 'trec', counts: { queries: 1, judgments: 1 } });
    });
  });

  it('treats only the first line of the queries as a header', async () => {
    const set = await readFiles({ 'qrels.txt': 'id 0 d1 1\n', 'queries.tsv': 'id\ttext\nid\ttext\n' }, '.');
    expect(set.queries).toMatchObject([{ id: 'id', text: 'text' }]);
  });

  it('skips unjudged queries and counts them', async () => {
    const set = await readFiles(
      {
        'qrels.txt': 'q1 0 d1 1\nq1 0 d2 -1\nq1 0 d1 1\nq2 0 d1 -2\nq4 0 d1 0\nq9 0 d1 1\nq9 0 d2 1\n',
        'queries.tsv': 'q1\tWhy?\nq2\tHow?\nq3\tWhat?\nq4\tWho?\n',
      },
      '.',
    );
    expect(set.queries.map(({ id, judgments }) => [id, judgments.length])).toEqual([
      ['q1', 1],
      ['q4', 1],
    ]);
    expect(set.warnings.map((warning) => warning.replace(/line (\d+) of \S+\//, 'line $1 of '))).toEqual([
      'Skipped queries without a judgment: 2 (first: line 2 of queries.tsv).',
      'Skipped judgments of unknown queries: 2 (first: line 6 of qrels.txt).',
      'Skipped judgments with a negative grade, which means unjudged: 2 (first: line 2 of qrels.txt).',
      'Merged judgments that repeat an earlier one: 1 (first: line 3 of qrels.txt).',
      'Queries that always score 0, because their grades are all 0: 1 (first: line 4 of queries.tsv).',
    ]);
  });
});
