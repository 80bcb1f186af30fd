import { describe, expect, it } from 'vitest';
import { fixture, read, readFiles, refusal } from './golden-files.ts';

const latin1 = Buffer.from('question,document\nWhy?,d1\nZürich?,d1\n', 'latin1');
const utf16 = Buffer.from('\uFEFFquestion,document\n', 'utf16le');

describe('a malformed CSV file is refused with the line number and a fix', () => {
  const head = 'question,document,grade,lang\n';
  it.each<[string, string | Uint8Array, string]>([
    ['a missing query column', 'document\nd1\n', 'Line 1 of set.csv has no column "query"; add it.'],
    [
      'a missing document column',
      '\nquestion\nWhy?\n',
      'Line 2 of set.csv has no column "document"; add it, or import one query per line with --format questions.',
    ],
    [
      'a column named id',
      'id,question,document\n1,Why?,d1\n',
      'Line 1 of set.csv has a column "id", which is ambiguous; rename it to query_id or document_id, or use --ignore id.',
    ],
    [
      'two query columns',
      'question,text,document\n',
      'Line 1 of set.csv has columns with the same meaning: "question" and "text"; rename or remove one, or use --ignore question or --ignore text.',
    ],
    ['two tag columns with the same name', 'question,document,a,a\nWhy?,d1,p,q\n', 'has two columns "a"; rename one.'],
    ['a tag name with =', 'question,document,a=b\nWhy?,d1,x\n', 'has "=" in the tag name "a=b"; rename the tag.'],
    [
      'too many tags',
      `question,document,${Array.from({ length: 33 }, (_, i) => `t${i}`).join(',')}\nWhy?,d1,${'x,'.repeat(32)}x\n`,
      'has 33 columns for tags; use at most 32, and --ignore the others.',
    ],
    [
      'a long tag name',
      `question,document,${'t'.repeat(65)}\nWhy?,d1,x\n`,
      'has a tag name of 65 characters; use at most 64.',
    ],
    ['an empty query', `${head},d1,1,en\n`, 'Line 2 of set.csv has an empty query; write its text or remove the line.'],
    [
      'a forbidden document with a grade',
      'question,document,grade,forbidden\nWhy?,d1,1,true\n',
      'Line 2 of set.csv both forbids and grades a document; leave one of the two cells empty.',
    ],
    [
      'a forbidden value that is neither true nor false',
      'question,document,forbidden\nWhy?,d1,maybe\n',
      'has "maybe" under forbidden; write true, or leave the cell empty.',
    ],
    [
      'a forbidden document without an id',
      'question,document,forbidden\nWhy?,,true\n',
      'Line 2 of set.csv forbids a document but names none; put the document id in the column document.',
    ],
    [
      'a no-answer query that names a document',
      'question,document,no_answer\nWhy?,d1,yes\n',
      'Line 2 of set.csv has no_answer with a document or a grade; leave these cells empty.',
    ],
    [
      'a grade in words',
      `${head}Why?,d1,high,en\n`,
      'has the grade "high", which is not a whole number; use 0, 1, 2, ...',
    ],
    ['a fractional grade', `${head}Why?,d1,0.5,en\n`, 'has the grade "0.5", which is not a whole number'],
    ['a huge grade', `${head}Why?,d1,1001,en\n`, 'has the grade 1001; use at most 1000.'],
    [
      'too few cells',
      `${head}Why?,d1\n`,
      'Line 2 of set.csv has 2 cells, but the header has 4; put double quotes around',
    ],
    [
      'too many cells',
      `${head}Why, oh why?,d1,1,en\n`,
      'Line 2 of set.csv has 5 cells, but the header has 4; put double quotes around',
    ],
    [
      'a value without a column name',
      'question,document,\nWhy?,d1,x\n',
      'has a value in column 3, which has no name; name the column or remove it.',
    ],
    [
      'two grades for one document',
      `${head}Why?,d1,1,en\nHow?,d1,1,en\nWhy?,d1,2,en\n`,
      'Line 4 of set.csv gives the document "d1" the grade 2 for the query',
    ],
    [
      'one query id for two queries',
      'qid,question,document\nq1,Why?,d1\nq1,How?,d1\n',
      'Line 3 of set.csv reuses the query id "q1" of line 2 of set.csv with different text, steps or tags; use two ids.',
    ],
    [
      'a long tag value',
      `${head}Why?,d1,1,${'x'.repeat(257)}\n`,
      'Line 1 of set.csv has the column "lang", which has a value of 257 characters in the tag lang (line 2 of set.csv); use --ignore lang.',
    ],
    [
      'a long document id',
      `${head}Why?,${'x'.repeat(1025)},1,en\n`,
      'has a document id of 1025 characters; use at most 1024.',
    ],
    [
      'a line break in an id',
      `${head}Why?,"d\n1",1,en\n`,
      'has a control character or a line break in a document id; remove it.',
    ],
    [
      'a line break in a tag',
      `${head}Why?,d1,1,"e\nn"\n`,
      'has a control character or a line break in the value of the tag lang; remove it.',
    ],
    [
      'a quote that is never closed',
      `${head}How?,d1,1,en\n"Why?,d1,1,en\n,d2,1,en\n`,
      'Line 3 of set.csv starts a row with a double quote that is never closed; close it.',
    ],
    [
      'a quote inside a cell',
      `${head}How?,d1,1,en\nWhy "so"?,d1,1,en\n`,
      'Line 3 of set.csv has a double quote inside a cell; put the whole cell in double quotes',
    ],
    [
      'text after a closing quote',
      `${head}"a\nb",d1,1,en\n"Why" so?,d1,1,en\n`,
      'Line 4 of set.csv has text after a closing double quote;',
    ],
    [
      'a row of more than 1 MiB',
      `${head}"${'x\n'.repeat(600_000)}`,
      'Line 2 of set.csv starts a row of more than 1 MiB; check that each double quote is closed.',
    ],
    [
      'line endings of old Macs',
      'question,document\rWhy?,d1\r',
      'Line 1 of set.csv ends with CR alone; save the file with LF or CRLF.',
    ],
    ['Latin-1', latin1, 'Line 3 of set.csv is not UTF-8; save the file as UTF-8.'],
    ['UTF-16', utf16, 'Line 1 of set.csv is UTF-16; save the file as UTF-8.'],
  ])('%s', async (_, content, message) => {
    const error = await refusal({ 'set.csv': content }, 'set.csv');
    expect(error).toEqual({ code: 'file_malformed', message: expect.stringContaining(message) });
    expect(error.message).toMatch(/^Line \d+ of set\.csv .*\.$/);
  });

  it('the line number of a bad row is correct after many rows with line breaks', async () => {
    const rows = Array.from({ length: 500 }, (_, i) => `"Why\r\n${i}?",d1`);
    const content = ['question,document', ...rows, 'How?,d1,d2', ...rows].join('\r\n');
    expect((await refusal({ 'set.csv': content }, 'set.csv')).message).toContain('Line 1002 of set.csv has 3 cells');
    const quote = ['question,document', ...rows, 'a "b" c,d1', ...rows].join('\r\n');
    expect((await refusal({ 'set.csv': quote }, 'set.csv')).message).toContain(
      'Line 1002 of set.csv has a double quote',
    );
  });

  it('a generated id that the file already contains is refused', async () => {
    const content = 'qid,question,document\nq1#2,How?,d1\nq1,Why?,d1\nq1,Why?,d1\n';
    const error = await refusal({ 'set.csv': content }, 'set.csv', { rowsAsQueries: true });
    expect(error.message).toBe(
      'Line 4 of set.csv needs the query id "q1#2", which line 2 of set.csv uses; rename that id.',
    );
  });
});

const readCsv = (content: string | Uint8Array, options = {}) => readFiles({ 'set.csv': content }, 'set.csv', options);

describe('the columns of a CSV file', () => {
  it.each([
    ['question,document', 'Why?,d1'],
    ['query,doc', 'Why?,d1'],
    ['Text,Document ID', 'Why?,d1'],
    ['doc-id,QUESTION', 'd1,Why?'],
    ['corpus-id,query', 'd1,Why?'],
  ])('are recognized in the header %s', async (header, row) => {
    const { queries } = await readCsv(`${header}\n${row}\n`);
    expect(queries).toMatchObject([{ text: 'Why?', tags: {}, judgments: [{ documentId: 'd1', grade: 1 }] }]);
  });

  it.each(['grade', 'relevance', 'Score'])(
    'include the grade as %s, and a document without a grade is skipped as unjudged',
    async (name) => {
      const { queries, summary } = await readCsv(
        `question,document,${name}\nWhy?,d1,3\nWhy?,d2,\nWhy?,d3,0\nWhy?,d4,2.0\n`,
      );
      expect(queries[0]?.judgments.map(({ grade }) => grade)).toEqual([3, 0, 2]);
      expect(summary.skipped).toMatchObject([{ reason: 'grade_missing', count: 1 }]);
    },
  );

  it('become tags if they have no other meaning, and an empty cell adds no tag', async () => {
    const { queries } = await readCsv('question,document,Language,course\nWhy?,d1,en,\nHow?,d2,,intro\n');
    expect(queries.map(({ tags }) => tags)).toEqual([{ Language: 'en' }, { course: 'intro' }]);
  });

  it('may have the name of a JavaScript builtin', async () => {
    const { queries } = await readCsv('question,document,__proto__,constructor\nWhy?,d1,a,b\n');
    expect(Object.entries(queries[0]?.tags ?? {})).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
  });
});

describe('a CSV file', () => {
  const expected = [{ text: 'Why, oh why?', judgments: [{ documentId: 'd1', grade: 2 }] }];

  it.each([
    ['commas', 'question,document,grade\n"Why, oh why?",d1,2\n'],
    ['semicolons', 'question;document;grade\nWhy, oh why?;d1;2\n'],
    ['tabs', 'question\tdocument\tgrade\nWhy, oh why?\td1\t2\n'],
    ['CRLF', 'question,document,grade\r\n"Why, oh why?",d1,2\r\n'],
    ['a byte order mark', '\uFEFFquestion,document,grade\n"Why, oh why?",d1,2\n'],
    ['a byte order mark before a quote', '\uFEFF"question","document","grade"\n"Why, oh why?","d1","2"\n'],
    ['no line break at the end', 'question,document,grade\n"Why, oh why?",d1,2'],
    ['empty lines', '\n\nquestion,document,grade\n\n"Why, oh why?",d1,2\n\n\n'],
    ['rows of empty cells', 'question,document,grade\n,,\n"Why, oh why?",d1,2\n , ,\n'],
    [
      'quoted column names that contain other delimiters',
      '"question",document,grade,"a;b;c;d;e"\n"Why, oh why?",d1,2,\n',
    ],
    ['an empty column without a name', 'question,document,grade,\n"Why, oh why?",d1,2,\n'],
  ])('may have %s', async (_, content) => {
    expect((await readCsv(content)).queries).toMatchObject(expected);
  });

  it('may contain quoted line breaks and double quotes, and is read the same with LF and CRLF', async () => {
    const lines = ['question,document', '"Why', '', 'say ""so""?",d1', 'How?,d2', ''];
    const withLf = await readCsv(lines.join('\n'));
    const withCrLf = await readCsv(lines.join('\r\n'));
    expect(withLf.queries.map(({ text }) => text)).toEqual(['Why\n\nsay "so"?', 'How?']);
    expect(withCrLf.queries).toEqual(withLf.queries);
    expect(withCrLf.contentHash).not.toBe(withLf.contentHash);
  });
});

describe('the rows of a CSV file', () => {
  const table = 'question,document,lang\nWhy?,d1,en\nWhy?,d2,en\nWhy?,d3,de\nHow?,d1,en\n';

  it('with the same query and the same tags are one query with several relevant documents', async () => {
    const { queries, counts } = await readCsv(table, { columns: { tags: ['lang'], ignore: [] } });
    expect(counts).toEqual({ queries: 3, judgments: 4 });
    expect(queries.map(({ judgments }) => judgments.map(({ documentId }) => documentId))).toEqual([
      ['d1', 'd2'],
      ['d3'],
      ['d1'],
    ]);
  });

  it('are separate queries with different ids with --rows-as-queries', async () => {
    const joined = await readCsv(table, { columns: { tags: ['lang'], ignore: [] } });
    const { queries, counts, warnings, contentHash } = await readCsv(table, { rowsAsQueries: true });
    expect(counts).toEqual({ queries: 4, judgments: 4 });
    const [first, second, third] = queries.map(({ id }) => id);
    expect(second).toBe(`${first}#2`);
    expect(first).toBe(joined.queries[0]?.id);
    expect(third).toBe(joined.queries[1]?.id);
    expect(warnings).toEqual([expect.stringContaining('no grade column')]);
    expect(contentHash).not.toBe(joined.contentHash);
  });

  it('keep the ids of their queries when other rows are added, removed or reordered', async () => {
    const before = await readCsv('question,document,lang,course\nWhy?,d1,en,a\nHow?,d2,en,b\n');
    const after = await readCsv('course,lang,document,question\nc,en,d9,What?\na,en,d4,Why?\n');
    expect(after.queries[1]?.id).toBe(before.queries[0]?.id);
    expect(before.queries[0]?.id).toMatch(/^q-[0-9a-f]{16}$/);
  });

  it('with the same id in the query_id column are one query', async () => {
    const { queries } = await readCsv('qid,question,document\nb,Why?,d1\na,Why?,d2\nb,Why?,d3\n,How?,d1\n');
    expect(queries.map(({ id, judgments }) => [id.slice(0, 2), judgments.length])).toEqual([
      ['b', 2],
      ['a', 1],
      ['q-', 1],
    ]);
  });

  it('without a document are skipped with a warning', async () => {
    const { queries, warnings } = await readCsv('question,document\nWhy?,\nHow?,d1\n');
    expect(queries.map(({ text }) => text)).toEqual(['How?']);
    expect(warnings).toEqual([
      expect.stringContaining('no grade column'),
      expect.stringMatching(/^Skipped rows without a document: 1 \(first: line 2 /),
      expect.stringMatching(/^Skipped queries without a judgment: 1 \(first: line 2 /),
    ]);
  });

  it('are read in order, even if there are many', async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => `"Question ${i}, with ""quotes""",d${i},${i % 4}`);
    const { queries } = await readCsv(['question,document,grade', ...rows].join('\n'));
    expect(queries).toHaveLength(20_000);
    expect(queries[19_999]).toMatchObject({
      text: 'Question 19999, with "quotes"',
      judgments: [{ documentId: 'd19999', grade: 3 }],
    });
  });
});

it('a CSV file with semicolons, a byte order mark and CRLF, as Excel writes it, is read like a plain CSV file', async () => {
  const plain = await read(fixture('support.csv'));
  const excel = await read(fixture('support-excel.csv'));
  expect(excel.queries).toEqual(plain.queries);
});
