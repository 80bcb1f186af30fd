/** Ambiguous files that other programs write. If recalld guessed their meaning, a wrong guess would go unnoticed. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ReadGoldenSetOptions } from '../../../../src/golden/rules/golden-set.ts';
import { readFiles, refusal } from './golden-files.ts';

type Options = Partial<ReadGoldenSetOptions>;
type Grades = Record<string, Record<string, number>>;

async function gradesOf(name: string, content: string): Promise<Grades> {
  const { queries } = await readFiles({ [name]: content }, name);
  return Object.fromEntries(
    queries.map(({ text, judgments }) => [
      text,
      Object.fromEntries(judgments.map(({ documentId, grade }) => [documentId, grade])),
    ]),
  );
}

/** A BEIR folder with three queries. */
const beir = (qrels: string): Record<string, string> => ({
  'queries.jsonl': '{"_id":"1","text":"one?"}\n{"_id":"2","text":"two?"}\n{"_id":"3","text":"three?"}\n',
  'qrels/test.tsv': qrels,
});

const json = (value: unknown): string => JSON.stringify(value);

describe('a file that is not UTF-8 text is refused, and the error states its type', () => {
  const utf16 = Buffer.from('question,document\nWhy?,d1\n', 'utf16le');
  it.each<[string, Buffer, string]>([
    ['set.csv', Buffer.concat([Buffer.from([0xff, 0xfe]), utf16]), 'is UTF-16; save the file as UTF-8.'],
    ['set.txt', utf16, 'is UTF-16; save the file as UTF-8.'],
    ['set.csv.gz', gzipSync('question,document\n'), 'is compressed with gzip; unpack it.'],
    ['set.csv', Buffer.from('PK\x03\x04\0\0', 'latin1'), 'is a ZIP archive, like .xlsx'],
    ['set.csv', Buffer.from('version https://git-lfs.github.com/spec/v1\n'), 'is a Git LFS pointer'],
  ])('%s', async (name, content, problem) => {
    const { code, message } = await refusal({ [name]: content }, name);
    expect(code).toBe('file_malformed');
    expect(message).toContain(problem);
  });

  it('an id may begin with the letters of an archive signature', async () => {
    const files = { 'queries.tsv': 'PAR1\tone?\n', 'qrels.txt': 'PAR1 0 d1 1\n' };
    expect((await readFiles(files, '.')).queries).toHaveLength(1);
  });
});

describe('a table with an ambiguous column is refused', () => {
  it.each([
    ['words for relevance', 'question,document,judged\nWhy?,d1,relevant\nHow?,d2,not_relevant\n', '--grade judged'],
    ['letters for truth values', 'question,document,ok\nWhy?,d1,Y\nHow?,d2,N\n', '--grade ok'],
    ['check marks', 'question,document,ok\nWhy?,d1,x\nHow?,d2,\n', '--grade ok'],
    ['percentages', 'question,document,overlap\nWhy?,d1,80%\nHow?,d2,20%\n', '--grade overlap'],
    ['decimal commas', 'question;document;Wert\nWhy?;d1;0,5\nHow?;d2;1,0\n', '--grade Wert'],
    ['exponents', 'question,document,w\nWhy?,d1,1.0e+00\nHow?,d2,0.0e+00\n', '--grade w'],
    ['numbers and nan', 'question,document,w\nWhy?,d1,1\nHow?,d2,nan\n', '--grade w'],
    ['a scale up to 100', 'question,document,points\nWhy?,d1,80\nHow?,d2,20\n', '--grade points'],
    ['a repeated name', 'question,document,document.1,grade\nWhy?,d1,d2,1\n', 'columns with the same meaning'],
    ['a column without a name', 'question,document,grade,Unnamed: 3\nWhy?,d1,1,7\n', 'column 4, which has no name'],
    ['row numbers without a name', 'question,document,grade\n0,Why?,d1,1\n', 'index=False in pandas'],
    ['a page beside query and doc_id', 'query,doc_id,page\nWhy?,d1,3\nHow?,d2,7\n', '--grade page'],
    ['a rank beside query and docid', 'query,docid,rank\nWhy?,d1,1\nHow?,d2,2\n', '--grade rank'],
    ['a Python dictionary as document', `question,document\nWhy?,"{'id': 'd1'}"\n`, 'write only the id'],
  ])('%s', async (_what, content, message) => {
    expect((await refusal({ 'set.csv': content }, 'set.csv')).message).toContain(message);
  });

  it('row numbers under the names that pandas uses are skipped', async () => {
    const rows = '0,0,Why?,d1,1\n1,1,How?,d2,0\n';
    const content = `Unnamed: 0.1,Unnamed: 0,question,document,grade\n${rows}`;
    expect(await gradesOf('set.csv', content)).toEqual({ 'Why?': { d1: 1 }, 'How?': { d2: 0 } });
    expect(await gradesOf('set.csv', content.replace(/^.*question/, 'index,level_0,question'))).toEqual({
      'Why?': { d1: 1 },
      'How?': { d2: 0 },
    });
  });

  it('grades may have the exponent that numpy writes', async () => {
    const content = 'question,document,grade\nWhy?,d1,2.000000000000000000e+00\n';
    expect(await gradesOf('set.csv', content)).toEqual({ 'Why?': { d1: 2 } });
  });

  it('a value that may be missing and a rounded number are reported', async () => {
    const content = 'question,document,grade\nWhy?,nan,1\nHow?,1.23457E+12,1\nWho?,d1,1\n';
    const { warnings } = await readFiles({ 'set.csv': content }, 'set.csv');
    expect(warnings).toEqual([expect.stringMatching(/left empty or changed.*: 2 \(first: line 2 of/)]);
  });
});

describe('a JSON file with a value in the wrong place is refused', () => {
  it.each<[string, string, string, string]>([
    ['an object as document', 'a.jsonl', '{"query":"a","document":{"id":"d1"},"label":1}', 'write only the id'],
    ['an object as query', 'a.jsonl', '{"query":{"id":"q"},"doc_id":"d1","label":1}', 'an object under "query"'],
    ['an object as tag', 'a.jsonl', '{"query":"a","doc_id":"d1","label":1,"meta":{"a":1}}', '--ignore meta'],
    ['a list of grades', 'a.jsonl', '{"query":"a","doc_id":["d1","d2"],"label":[1,0]}', 'under "label"'],
    ['a repeated key', 'a.jsonl', '{"text":"a","judgments":{"d1":1,"d1":0}}', 'has the key "d1" twice'],
    ['NaN', 'a.jsonl', '{"query":"a","doc_id":"d1","label":NaN}', 'at column 36 (label) it has NaN'],
    ['the column format of pandas', 'a.json', '{"query":{"0":"a"},"doc_id":{"0":"d1"}}', 'to_json(orient="records")'],
    [
      'LlamaIndex nodes instead of ids',
      'a.json',
      '{"queries":{"u":"a"},"relevant_docs":{"u":[{"id":"n"}]}}',
      'that is not a node id',
    ],
    [
      'null as a LlamaIndex node id',
      'a.json',
      '{"queries":{"u":"a"},"relevant_docs":{"u":[null]}}',
      'that is not a node id',
    ],
  ])('%s', async (_what, name, content, message) => {
    expect((await refusal({ [name]: `${content}\n` }, name)).message).toContain(message);
  });

  it('JSON lines may be named .json, and a list .jsonl', async () => {
    const rows = [
      { query: 'a', doc_id: 'd1', label: 1 },
      { query: 'a', doc_id: 'd2', label: 0 },
    ];
    const expected = { a: { d1: 1, d2: 0 } };
    expect(await gradesOf('set.json', rows.map((row) => `${json(row)}\n`).join(''))).toEqual(expected);
    expect(await gradesOf('set.jsonl', JSON.stringify(rows, null, 2))).toEqual(expected);
  });

  it('the text of an RRE query is its placeholder $query, wherever it occurs', async () => {
    const placeholders = { $lang: 'en', $query: 'star wars' };
    const content = json({ queries: [{ placeholders, relevant_documents: { 11: { gain: 2 } } }] });
    expect(await gradesOf('rre.json', content)).toEqual({ 'star wars': { 11: 2 } });
    const unnamed = content.replace('$query', '$text');
    expect((await refusal({ 'rre.json': unnamed }, 'rre.json')).message).toContain(
      'add the text to placeholders as "$query"',
    );
  });

  it('64-bit ids in a table cell keep all their digits', async () => {
    const content = 'question,document\nWhy?,"[9007199254740993]"\n';
    expect(await gradesOf('set.csv', content)).toEqual({ 'Why?': { '9007199254740993': 1 } });
  });
});

describe('a Quepid book', () => {
  it('is refused when a text contains its delimiter', async () => {
    const { message } = await refusal({ 'b.csv': 'query,docid,Jim\nstar wars, the movie,11,3\n' }, 'b.csv');
    expect(message).toContain('Line 2 of b.csv has 4 cells, but the header has 3');
  });

  it('reports how many pairs have no rating or no document', async () => {
    const content = 'query,docid,Jim\nstar wars,11,3\nstar wars,12,\nstar wars,,2\n';
    const { summary } = await readFiles({ 'b.csv': content }, 'b.csv');
    expect(summary.skipped.map(({ reason, count }) => [reason, count])).toEqual([
      ['document_empty', 1],
      ['grade_missing', 1],
    ]);
  });
});

describe('an option that the format does not use is refused', () => {
  const book = 'query,docid,Jim\nstar wars,11,3\n';
  it.each<[string, Record<string, string>, string, Options, string]>([
    [
      'ignored columns for a Quepid book',
      { 'b.csv': book },
      'b.csv',
      { columns: { tags: [], ignore: ['Jim'] } },
      '--ignore are for tables',
    ],
    [
      'a relevance threshold for a Quepid book',
      { 'b.csv': book },
      'b.csv',
      { relevanceThreshold: 2 },
      '--relevance-threshold is for',
    ],
    [
      'tag columns for BEIR',
      beir('query-id\tcorpus-id\n1\td1\n'),
      '.',
      { columns: { tags: ['a'], ignore: [] } },
      '--tags is for tables',
    ],
    [
      'a relevance threshold for JSON lines of recalld',
      { 'a.jsonl': '{"text":"a","relevant":["d1"]}' },
      'a.jsonl',
      { relevanceThreshold: 2 },
      'own JSON lines',
    ],
  ])('%s', async (_what, files, name, options, message) => {
    const error = await refusal(files, name, options);
    expect(error.code).toBe('usage');
    expect(error.message).toContain(message);
  });
});

describe('row numbers in judgments without a header are refused', () => {
  it.each([
    ['two rows', '0\t1\td1\t1\n1\t2\td2\t0\n'],
    ['shuffled rows', '2\t1\td1\t1\n0\t2\td2\t0\n1\t3\td2\t0\n'],
    ['rows of one query', '0 1 d1 1\n1 1 d2 0\n2 1 d3 1\n'],
    ['rows without a grade', '0\t1\t700\n1\t2\t701\n2\t3\t702\n'],
  ])('%s', async (_what, qrels) => {
    expect((await refusal(beir(qrels), '.')).message).toContain('write the file with index=False');
  });

  it('ambiguous spaces are not separators if tabs separate the other columns', async () => {
    const { message } = await refusal(beir('1\tQ0 d1\t1\n2\tQ0 d2\t1\n'), '.');
    expect(message).toContain('tabs or as "query 0 document grade" separated by spaces');
  });

  it('one document per query is not mistaken for a row number', async () => {
    expect((await readFiles(beir('1 0 d1 1\n2 0 d2 1\n3 0 d3 1\n'), '.')).queries).toHaveLength(3);
  });

  it('a header with unknown column names is reported as a header', async () => {
    const { message } = await refusal(beir('TOPIC ITERATION DOCUMENT# RELEVANCY\n1 0 d1 1\n'), '.');
    expect(message).toContain('seems to be a header with the unknown columns "TOPIC"');
  });
});

describe('queries next to judgments', () => {
  it('are refused when one has two texts', async () => {
    const files = { ...beir('1 0 d1 1\n'), 'queries.jsonl': '{"_id":"1","query":"A?","text":"B?"}\n' };
    expect((await refusal(files, '.')).message).toContain('has two texts, under "text" and "query"');
  });

  it('are read without the quotes that a CSV writer added', async () => {
    const files = { 'queries.tsv': '1\t"say ""hi"" now"\n2\t"as said"\n', 'qrels.txt': '1 0 d1 1\n2 0 d1 1\n' };
    expect((await readFiles(files, '.')).queries.map(({ text }) => text)).toEqual(['say "hi" now', '"as said"']);
  });
});
