import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { QueryRows } from '../../../../src/golden/trec/document-rows.ts';
import type { JudgmentTable } from '../../../../src/golden/trec/tables.ts';
import { readQrels } from '../../../../src/golden/trec/trec-files.ts';

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

function gradesOf(judgments: JudgmentTable, { ranges }: QueryRows): Record<string, number> {
  const grades: Record<string, number> = {};
  for (let i = 0; i < ranges.length; i += 2) {
    for (let row = ranges[i] ?? 0; row < (ranges[i + 1] ?? 0); row++) {
      grades[judgments.documents.text(row)] = judgments.gradeOf(row);
    }
  }
  expect(judgments.gradesOf({ ranges })).toEqual(Float64Array.from(Object.values(grades)));
  return grades;
}

describe('readQrels', () => {
  it.each([
    ['spaces', 'q1 0 a 1\nq1 0 b 0\nq2 0 a 3\n'],
    ['tabs and runs of blanks', 'q1\t0\ta\t1\n  q1  0 \t b  0 \nq2 0 a 3\n'],
    ['Windows line ends', 'q1 0 a 1\r\nq1 0 b 0\r\nq2 0 a 3\r\n'],
    ['no line feed at the end', 'q1 0 a 1\nq1 0 b 0\nq2 0 a 3'],
    ['a byte order mark', '\ufeffq1 0 a 1\nq1 0 b 0\nq2 0 a 3\n'],
    ['empty lines and comments', '# judged in May\n\nq1 0 a 1\n \t\nq1 0 b 0\n#q9 0 z 1\nq2 0 a 3\n\n'],
    ['queries that are not together', 'q1 0 a 1\nq2 0 a 3\nq1 0 b 0\n'],
    ['the header of BEIR', 'query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t0\nq2\ta\t3\n'],
    ['the header of BEIR and Windows line ends', 'query-id\tcorpus-id\tscore\r\nq1\ta\t1\r\nq1\tb\t0\r\nq2\ta\t3\r\n'],
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
    [
      'too few columns',
      'q 0 a 1\nq 0 b\n',
      'line 2: A judgment needs the 4 columns "query-id iteration document-id grade", but the line has 3.',
    ],
    [
      'too many columns',
      'q 0 a 1 x\n',
      'line 1: A judgment needs the 4 columns "query-id iteration document-id grade", but the line has 5.',
    ],
    ['three columns without the header of BEIR', 'q\ta\t1\n', 'line 1: A judgment needs the 4 columns'],
    [
      'four columns below the header of BEIR',
      'query-id\tcorpus-id\tscore\nq\t0\ta\t1\n',
      'line 2: A judgment needs the 3 columns "query-id corpus-id score", but the line has 4.',
    ],
    [
      'a fraction as grade',
      'q 0 a 1\n\nq 0 b 1.7\n',
      'line 3: The grade "1.7" is not an integer; write a whole number such as 0, 1 or 2.',
    ],
    ['a word as grade', 'q 0 a relevant\n', 'line 1: The grade "relevant" is not an integer'],
    [
      'a document judged twice',
      'q 0 a 1\nr 0 a 1\n\nr 0 b 1\nq 0 a 1\nr 0 b 1\n',
      'line 5: The document "a" is judged twice for the query "q"; keep one judgment.',
    ],
    [
      'line ends of old Macintosh files',
      'q 0 a 1\rq 0 b 1\r',
      'line 1: A judgment needs the 4 columns "query-id iteration document-id grade", but a carriage return stands inside the line; end lines with a line feed.',
    ],
  ])('refuses %s, naming the line', async (_what, content, message) => {
    await expect(qrelsOf(content)).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringContaining(`${join(folder, 'file.txt')}, ${message}`),
    });
  });

  it.each([
    ['an empty file', ''],
    ['a byte order mark alone', '\ufeff'],
    ['comments alone', '# nothing\n\n'],
    ['a BEIR header alone', 'query-id\tcorpus-id\tscore\n'],
  ])('refuses %s', async (_what, content) => {
    await expect(qrelsOf(content)).rejects.toMatchObject({
      code: 'file_malformed',
      message: `${join(folder, 'file.txt')} holds no judgments; it needs lines of "query-id iteration document-id grade".`,
    });
  });
});

describe('a file whose lines are written in several ways', () => {
  /** Of the columns of a line, the first of which is far commoner than each other one. */
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
    .tuple(
      fc.array(
        fc.record({
          query: fc.constantFrom('q1', 'q1', 'q1', 'q10', 'q'),
          number: fc.integer({ min: -3, max: 3 }),
          spell: anySpelling,
        }),
        { minLength: 2, maxLength: 60 },
      ),
      fc.boolean(),
    )
    .map(([rows, hasLast]) => ({ rows: rows.map((row, i) => ({ ...row, id: `d\u00e9${i}` })), hasLast }));
  const text = (lines: readonly string[], hasLast: boolean): string =>
    hasLast ? lines.join('') : lines.join('').trimEnd();
  const lineOf = (lines: readonly string[], place: number): number =>
    lines
      .slice(0, place + 1)
      .join('')
      .split('\n').length - 1;

  it('is read as judgments, and a wrong one is named by its line', async () => {
    await fc.assert(
      fc.asyncProperty(someLines, fc.nat(59), async ({ rows, hasLast }, at) => {
        const lines = rows.map(({ query, id, number, spell }) => spell([query, '0', id, String(number)]));
        const expected = [...groupByQuery(rows)].map(
          ([query, members]) => [query, Object.fromEntries(members.map(({ id, number }) => [id, number]))] as const,
        );
        expect(await qrelsOf(text(lines, hasLast))).toEqual(Object.fromEntries(expected));
        const place = at % rows.length;
        const wrong = lines.with(place, 'q1 0 d 1.5\n');
        await expect(qrelsOf(wrong.join(''))).rejects.toThrow(`line ${lineOf(wrong, place)}: The grade "1.5"`);
        const twice = [...lines, `${rows[place]?.query} 0 ${rows[place]?.id} 1\n`];
        await expect(qrelsOf(twice.join(''))).rejects.toThrow(`line ${lineOf(twice, rows.length)}: The document`);
      }),
    );
  });
});

function groupByQuery<Row extends { readonly query: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(row.query, [...(groups.get(row.query) ?? []), row]);
  return groups;
}
