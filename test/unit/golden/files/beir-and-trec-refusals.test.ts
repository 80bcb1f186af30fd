import { describe, expect, it } from 'vitest';
import { type Files, refusal } from './golden-files.ts';

const beirQueries = '{"_id": "q1", "text": "Why?"}\n';

describe('bad BEIR and TREC files are refused with file and line', () => {
  it.each<[string, Files, string]>([
    [
      'a query without id',
      { 'queries.jsonl': '{"text": "Why?"}', 'qrels.tsv': 'q1\td1\t1' },
      'Line 1 of queries.jsonl has no "_id"; write {"_id": "...", "text": "..."}.',
    ],
    [
      'a query without text',
      { 'queries.jsonl': '{"_id": "q1"}', 'qrels.tsv': 'q1\td1\t1' },
      'Line 1 of queries.jsonl has no "text"; write {"_id": "...", "text": "..."}.',
    ],
    [
      'no object',
      { 'queries.jsonl': '1', 'qrels.tsv': 'q1\td1\t1' },
      'Line 1 of queries.jsonl is not a JSON object; write {"_id": "...", "text": "..."}.',
    ],
    [
      'a query id twice',
      { 'queries.jsonl': beirQueries + beirQueries, 'qrels.tsv': 'q1\td1\t1' },
      'Line 2 of queries.jsonl repeats the query id "q1" of line 1 of queries.jsonl; give each query its own id.',
    ],
    [
      'two columns',
      { 'queries.jsonl': beirQueries, 'qrels.tsv': 'q1\td1\t1\nq1 d2\n' },
      'Line 2 of qrels.tsv has 2 columns; write "query 0 document grade" (TREC) or',
    ],
    [
      'a header in the middle',
      { 'queries.jsonl': beirQueries, 'qrels.tsv': 'q1\td1\t1\nquery-id\tcorpus-id\tscore\n' },
      'Line 2 of qrels.tsv has the grade "score", which is not a whole number; use 0, 1, 2, ...',
    ],
    [
      'a first line that is no header',
      { 'queries.jsonl': beirQueries, 'qrels.tsv': 'q1\td1\thigh\n' },
      'Line 1 of qrels.tsv has the grade "high", which is not a whole number; use 0, 1, 2, ...',
    ],
    [
      'two grades',
      { 'queries.jsonl': beirQueries, 'qrels.tsv': 'q1\td1\t1\nq1\td1\t0\n' },
      'Line 2 of qrels.tsv gives the document "d1" the grade 0 for the query "q1", but line 1 of qrels.tsv gives 1; keep one of the two.',
    ],
    [
      'a bad corpus',
      { 'queries.jsonl': beirQueries, 'qrels.tsv': 'q1\td1\t1\n', 'corpus.jsonl': '{"_id": "d1"}\n{"_id"' },
      'Line 2 of corpus.jsonl is not JSON; write one complete JSON object on each line.',
    ],
    [
      'topics in SGML',
      { 'topics.txt': '<top>\n<num> 301\n', 'qrels.txt': '301 0 d1 1\n' },
      'Line 1 of topics.txt is not a query id, one tab and the text; write topics of other forms that way.',
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

describe('what has no queries or no judgments is no golden set', () => {
  it.each<[string, Files, string, string]>([
    ['an empty CSV file', { 'set.csv': '' }, 'set.csv', 'set.csv holds no queries;'],
    [
      'a CSV file with a header alone',
      { 'set.csv': 'question,document\n' },
      'set.csv',
      'set.csv holds no queries;',
    ],
    ['an empty JSONL file', { 'set.jsonl': '\n\n' }, 'set.jsonl', 'set.jsonl holds no queries;'],
    [
      'no judgment',
      { 'set.jsonl': '{"text": "Why?", "relevant": []}' },
      'set.jsonl',
      'set.jsonl has no judgment for any of its queries; check that the ids of the two agree.',
    ],
    [
      'ids that do not meet',
      { 'queries.jsonl': beirQueries, 'qrels.tsv': 'Q1\td1\t1\n' },
      '.',
      'FOLDER has no judgment for any of its queries; check that the ids of the two agree.',
    ],
    [
      'empty qrels',
      { 'queries.jsonl': beirQueries, 'qrels.tsv': '' },
      '.',
      'has no judgment for any of its queries',
    ],
  ])('%s', async (_, files, name, message) => {
    expect(await refusal(files, name)).toEqual({
      code: 'golden_set_empty',
      message: expect.stringContaining(message),
    });
  });
});
