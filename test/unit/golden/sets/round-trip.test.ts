import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GoldenQuery } from '../../../../src/core/model.ts';
import { guardCell } from '../../../../src/golden/rules/spreadsheet-cell.ts';
import { type Files, readFiles } from './golden-files.ts';

/** Text that a reader leaves unchanged: trimmed, storable, not empty. */
const printable = (maxLength: number, forbidden: RegExp) =>
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength })
    .map((text) => text.replaceAll(forbidden, '').trim())
    .filter((text) => text !== '' && !/[\p{Cc}\p{Cs}]/u.test(text));

const id = printable(12, /\s/gu);
const text = fc
  .array(fc.oneof(printable(12, /[\r\t\n]/g), fc.constantFrom('"', '""', ',', ';', "'", '\\', '#')), {
    minLength: 1,
    maxLength: 5,
  })
  .map((words) => words.join(' '));
const textWithLines = fc.array(text, { minLength: 1, maxLength: 3 }).map((lines) => lines.join('\n'));

const goldenSet = (question: fc.Arbitrary<string>): fc.Arbitrary<GoldenQuery[]> =>
  fc.uniqueArray(
    fc.record({
      id,
      text: question,
      tags: fc.dictionary(fc.constantFrom('lang', 'course', 'Tenant 7'), printable(12, /[\r\t\n]/g), {
        noNullPrototype: true,
      }),
      judgments: fc.uniqueArray(fc.record({ documentId: id, grade: fc.nat(4) }), {
        minLength: 1,
        maxLength: 5,
        selector: ({ documentId }) => documentId,
      }),
    }),
    { minLength: 1, maxLength: 8, selector: (query) => query.id },
  );

/** A cell as `golden export` writes it: quoted, and never a formula for a spreadsheet. */
const cell = (value: string | number): string => `"${guardCell(String(value)).replaceAll('"', '""')}"`;
const rows = (
  queries: readonly GoldenQuery[],
  write: (query: GoldenQuery, document: string, grade: number) => string,
) => queries.flatMap((query) => query.judgments.map(({ documentId, grade }) => write(query, documentId, grade)));

const tagNames = ['lang', 'course', 'Tenant 7'];
const csv = (queries: readonly GoldenQuery[], delimiter: string): string =>
  [
    ['query_id', 'question', 'document', 'grade', ...tagNames].map(cell).join(delimiter),
    ...rows(queries, (query, document, grade) =>
      [query.id, query.text, document, grade, ...tagNames.map((name) => query.tags[name] ?? '')]
        .map(cell)
        .join(delimiter),
    ),
  ].join('\n');

const jsonLines = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join('\n');
const goldenLine = ({ judgments, ...query }: GoldenQuery) => ({
  ...query,
  judgments: judgments.map(({ documentId, grade }) => ({ document_id: documentId, grade })),
});
/** Formats a cell as Python's csv module does. */
const tabCell = (value: string | number): string =>
  String(value).includes('"') ? `"${String(value).replaceAll('"', '""')}"` : String(value);
const beirQrels = (queries: readonly GoldenQuery[]): string =>
  [
    'query-id\tcorpus-id\tscore',
    ...rows(queries, (query, document, grade) => [query.id, document, grade].map(tabCell).join('\t')),
  ].join('\n');

type Write = (queries: readonly GoldenQuery[]) => Files;

describe('a written golden set is read back, in the same order', () => {
  it.each<[string, string, fc.Arbitrary<string>, boolean, Write]>([
    ['CSV with commas', 'set.csv', textWithLines, true, (queries) => ({ 'set.csv': csv(queries, ',') })],
    ['CSV with semicolons', 'set.csv', textWithLines, true, (queries) => ({ 'set.csv': csv(queries, ';') })],
    ['CSV with tabs', 'set.tsv', textWithLines, true, (queries) => ({ 'set.tsv': csv(queries, '\t') })],
    ['JSONL', 'set.jsonl', textWithLines, true, (queries) => ({ 'set.jsonl': jsonLines(queries.map(goldenLine)) })],
    [
      'BEIR',
      '.',
      textWithLines,
      true,
      (queries) => ({
        'queries.jsonl': jsonLines(queries.map((query) => ({ _id: query.id, text: query.text, metadata: query.tags }))),
        'qrels/test.tsv': beirQrels(queries),
      }),
    ],
    [
      'TREC',
      '.',
      text,
      false,
      (queries) => ({
        'queries.tsv': queries.map((query) => `${query.id}\t${query.text}`).join('\r\n'),
        'qrels.txt': rows(queries, (query, document, grade) => `${query.id} 0 ${document} ${grade}`).join('\r\n'),
      }),
    ],
  ])('%s', async (_, name, question, hasTags, write) => {
    await fc.assert(
      fc.asyncProperty(goldenSet(question), async (queries) => {
        const expected = hasTags ? queries : queries.map((query) => ({ ...query, tags: {} }));
        expect((await readFiles(write(queries), name)).queries).toEqual(expected);
      }),
      { numRuns: 30 },
    );
  });
});
