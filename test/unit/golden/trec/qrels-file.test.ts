import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { QueryRows } from '../../../../src/golden/trec/document-rows.ts';
import { readQrels } from '../../../../src/golden/trec/qrels-file.ts';
import type { JudgmentTable } from '../../../../src/golden/trec/tables.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recalld-trec-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function fileOf(content: string | Buffer, name = 'file.txt'): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

async function qrelsOf(content: string | Buffer): Promise<Record<string, Record<string, number>>> {
  const judgments = await readQrels(await fileOf(content));
  return Object.fromEntries([...judgments.queries].map(([id, query]) => [id, gradesOf(judgments, query)]));
}

function gradesOf(judgments: JudgmentTable, ranges: QueryRows): Record<string, number> {
  const grades: Record<string, number> = {};
  for (let i = 0; i < ranges.length; i += 2) {
    for (let row = ranges[i] ?? 0; row < (ranges[i + 1] ?? 0); row++) {
      grades[judgments.text(row)] = judgments.gradeOf(row);
    }
  }
  expect(judgments.gradesOf(ranges)).toEqual(Float64Array.from(Object.values(grades)));
  return grades;
}

describe('readQrels', () => {
  it.each([
    ['spaces', 'q1 0 a 1\nq1 0 b 0\nq2 0 a 3\n'],
    ['tabs and runs of blanks', 'q1\t0\ta\t1\n  q1  0 \t b  0 \nq2 0 a 3\n'],
    ['Windows line endings', 'q1 0 a 1\r\nq1 0 b 0\r\nq2 0 a 3\r\n'],
    ['no line feed at the end', 'q1 0 a 1\nq1 0 b 0\nq2 0 a 3'],
    ['a byte order mark', '\ufeffq1 0 a 1\nq1 0 b 0\nq2 0 a 3\n'],
    ['empty lines and comments', '# judged in May\n\nq1 0 a 1\n \t\nq1 0 b 0\n#q9 0 z 1\nq2 0 a 3\n\n'],
    ['the judgments of a query in several places', 'q1 0 a 1\nq2 0 a 3\nq1 0 b 0\n'],
    ['the header of BEIR', 'query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t0\nq2\ta\t3\n'],
    ['BEIR header and Windows line endings', 'query-id\tcorpus-id\tscore\r\nq1\ta\t1\r\nq1\tb\t0\r\nq2\ta\t3\r\n'],
  ])('reads a file with %s', async (_what, content) => {
    expect(await qrelsOf(content)).toEqual({ q1: { a: 1, b: 0 }, q2: { a: 3 } });
  });

  it('keeps negative grades, which mean not judged', async () => {
    expect(await qrelsOf('q 0 a -1\nq 0 b -2\n')).toEqual({ q: { a: -1, b: -2 } });
  });

  it('keeps spaces within the ids of a BEIR file, and an id that starts with #', async () => {
    expect(await qrelsOf('query-id\tcorpus-id\tscore\n#1\tdoc one\t1\n')).toEqual({ '#1': { 'doc one': 1 } });
  });

  it.each([
    ['3.0 and truth values as grades', 'q1 0 a 1.0\nq1 0 b false\nq2 0 a 3.0\n'],
    ['three columns separated by tabs and no header', 'q1\ta\t1\nq1\tb\t0\nq2\ta\t3\n'],
    ['other column names in its header', 'Query ID\tdoc_id\trelevance_score\nq1\ta\t1\nq1\tb\t0\nq2\ta\t3\n'],
    ['the row numbers of pandas', '\tquery-id\tcorpus-id\tscore\n7\tq1\ta\t1\n9\tq1\tb\t0\n12\tq2\ta\t3\n'],
    ['commas and a header', 'query_id,doc_id,label\nq1,"a",1\nq1,b,0\nq2,a,3\n'],
    ['semicolons and no header', 'q1;a;1\nq1;b;0\nq2;a;3\n'],
    [
      'one JSON object per line',
      '{"query_id": "q1", "doc_id": "a", "relevance": 1, "iteration": "0"}\n{"query_id": "q1", "doc_id": "b", "relevance": 0}\n{"doc_id": "a", "query_id": "q2", "relevance": "3"}\n',
    ],
    ['a byte order mark where two files were joined', 'q1 0 a 1\nq1 0 b 0\n\ufeffq2 0 a 3\n'],
    ['a byte order mark where two files with tabs were joined', 'q1\t0\ta\t1\nq1\t0\tb\t0\n\ufeffq2\t0\ta\t3\n'],
  ])('reads a file with %s', async (_what, content) => {
    expect(await qrelsOf(content)).toEqual({ q1: { a: 1, b: 0 }, q2: { a: 3 } });
  });

  it('keeps spaces within ids that tabs separate, and non-breaking spaces everywhere', async () => {
    expect(await qrelsOf('q 1\t0\tdoc one\t1\nq 1\t0\tdoc 1\t0\n')).toEqual({ 'q 1': { 'doc one': 1, 'doc 1': 0 } });
    expect(await qrelsOf('q1 0 doc\u00a01\u00a0 1\n')).toEqual({ q1: { 'doc\u00a01\u00a0': 1 } });
  });

  it("removes the quotes of Python's csv below a header, and keeps quotes in TREC", async () => {
    const beir = 'query-id\tcorpus-id\tscore\nq\t"Leave, paid.pdf"\t1\nq\t"a ""b"""\t0\nq\t5" disk\t0\n';
    expect(await qrelsOf(beir)).toEqual({ q: { 'Leave, paid.pdf': 1, 'a "b"': 0, '5" disk': 0 } });
    expect(await qrelsOf('q\t0\t"a"\t1\n')).toEqual({ q: { '"a"': 1 } });
  });

  it('treats every document as relevant if the header has no grade column', async () => {
    expect(await qrelsOf('query-id\tcorpus-id\nq\ta\nq\tb\n')).toEqual({ q: { a: 1, b: 1 } });
  });

  it.each([
    ['too few columns', 'q 0 a 1\nq 0 b\n', 2, 'has 3 columns, but line 1 has 4'],
    ['more columns', 'q 0 a 1\nq 0 b c 1\n', 2, 'separate columns with tabs if ids contain spaces'],
    ['five columns', 'q 0 a 1 x\n', 1, 'has 5 columns; write "query 0 document grade" (TREC) or'],
    ['two columns without a header', 'q\ta\nr\tb\n', 1, 'has 2 columns and no grade'],
    [
      'a space in an id of a three-column file',
      'q1 Handbook.pdf 1\nq2 Leave policy.pdf 1\n',
      2,
      'has 4 columns, but line 1 has 3',
    ],
    ['spaces in every id of a three-column file', 'q1 Staff handbook.pdf 1\n', 1, 'has "Staff" where TREC has 0'],
    ['TREC without grades', 'q1 0 17\nq2 0 18\n', 1, 'as TREC judgments without a grade'],
    ['row numbers without a header', '0 2 d7 1\n1 0 d8 1\n2 1 d9 1\n', 1, 'or pandas row numbers'],
    [
      'spaces and commas that both split a line into three columns',
      'a b, c, 1\n',
      1,
      'separated by either spaces or commas',
    ],
    ['more columns than names', 'query-id\tcorpus-id\tscore\nq\t0\ta\t1\n', 2, 'has 4 columns, but line 1 has 3'],
    [
      'an unknown column name',
      'query-id\tcorpus-id\tscore\tsplit\nq\ta\t1\tdev\n',
      1,
      'has the unknown column "split"',
    ],
    ['no document in its header', 'qid\tpassage\tlabel\nq\ta\t1\n', 1, 'has the unknown column "passage"'],
    ['an empty id', 'query-id\tcorpus-id\tscore\nq\t\t1\n', 2, 'has an empty document id'],
    ['a fractional grade', 'q 0 a 1\n\nq 0 b 1.7\n', 3, 'has the grade "1.7", which is not a whole number'],
    ['a word as grade', 'q 0 a relevant\n', 1, 'has the grade "relevant", which is not a whole number'],
    ['a JSON list', '[{"qid": 1}]\n', 1, 'is JSON;'],
    ['features for learning to rank', '3   qid:1  # 11   star wars\n', 1, 'is a line of a learning-to-rank file'],
    [
      'a document judged twice',
      'q 0 a 1\nr 0 a 1\n\nr 0 b 1\nq 0 a 1\nr 0 b 1\n',
      5,
      'judges the document "a" twice for the query "q"; keep one judgment.',
    ],
    ['line endings of old Mac files', 'q 0 a 1\rq 0 b 1\r', 1, 'has a carriage return; end lines with a line feed'],
  ])('refuses %s, with the line number', async (_what, content, line, message) => {
    await expect(qrelsOf(content)).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringContaining(message),
    });
    await expect(qrelsOf(content)).rejects.toThrow(`Line ${line} of ${join(folder, 'file.txt')} `);
  });

  it.each([
    ['an empty file', ''],
    ['a file with only a byte order mark', '\ufeff'],
    ['a file with only comments', '# nothing\n\n'],
    ['a file with only a BEIR header', 'query-id\tcorpus-id\tscore\n'],
  ])('refuses %s', async (_what, content) => {
    await expect(qrelsOf(content)).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringContaining(`${join(folder, 'file.txt')} has no judgments`),
    });
  });
});

describe('a judgments file with lines in several forms', () => {
  /** Forms of a line; the first is far more frequent than each of the others. */
  const anySpelling = fc.oneof(
    { weight: 10, arbitrary: fc.constant((columns: readonly string[]) => `${columns.join(' ')}\n`) },
    fc.constantFrom(
      (columns: readonly string[]) => `${columns.join('\t')}\n`,
      (columns: readonly string[]) => `  ${columns.join(' \t ')} \n`,
      (columns: readonly string[]) => `${columns.join(' ')}\r\n`,
      (columns: readonly string[]) => `${columns.join(' ')} \n`,
      (columns: readonly string[]) => `# ${columns.join(' ')}\n${columns.join(' ')}\n`,
      (columns: readonly string[]) => `\n${columns.join('\v')}\n`,
    ),
  );
  const someLines = fc
    .array(
      fc.record({
        query: fc.constantFrom('q1', 'q1', 'q1', 'q10', 'q'),
        number: fc.integer({ min: -3, max: 3 }),
        spell: anySpelling,
      }),
      { minLength: 2, maxLength: 60 },
    )
    .map((rows) => rows.map((row, i) => ({ ...row, id: `d\u00e9${i}` })));
  const lineOf = (lines: readonly string[], place: number): number =>
    lines
      .slice(0, place + 1)
      .join('')
      .split('\n').length - 1;

  it('is read, and a malformed line is reported by its number', async () => {
    await fc.assert(
      fc.asyncProperty(someLines, fc.nat(59), async (rows, at) => {
        const lines = rows.map(({ query, id, number, spell }) => spell([query, '0', id, String(number)]));
        const expected = [...groupByQuery(rows)].map(
          ([query, members]) => [query, Object.fromEntries(members.map(({ id, number }) => [id, number]))] as const,
        );
        expect(await qrelsOf(lines.join(''))).toEqual(Object.fromEntries(expected));
        const place = at % rows.length;
        const wrong = lines.with(place, 'q1 0 d 1.5\n');
        await expect(qrelsOf(wrong.join(''))).rejects.toThrow(
          new RegExp(`^Line ${lineOf(wrong, place)} of .* the grade "1.5"`),
        );
        const twice = [...lines, `${rows[place]?.query} 0 ${rows[place]?.id} 1\n`];
        await expect(qrelsOf(twice.join(''))).rejects.toThrow(
          new RegExp(`^Line ${lineOf(twice, rows.length)} of .* judges the document`),
        );
      }),
    );
  });
});

function groupByQuery<Row extends { readonly query: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(row.query, [...(groups.get(row.query) ?? []), row]);
  return groups;
}
