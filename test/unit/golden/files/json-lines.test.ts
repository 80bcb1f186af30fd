import { expect, it } from 'vitest';
import { readFiles } from './golden-files.ts';

const readLines = (...lines: unknown[]) =>
  readFiles({ 'set.jsonl': lines.map((line) => JSON.stringify(line)).join('\n') }, 'set.jsonl');

it.each([
  [
    'a list with grades',
    {
      judgments: [
        { document_id: 'd1', grade: 2 },
        { document_id: 'd2', grade: 0 },
      ],
    },
    [2, 0],
  ],
  ['a list without grades', { judgments: [{ document_id: 'd1' }, { document_id: 'd2' }] }, [1, 1]],
  ['an object', { judgments: { d1: 3, d2: 1 } }, [3, 1]],
  ['a list of relevant documents', { relevant: ['d1', 'd2'] }, [1, 1]],
])('reads judgments written as %s', async (_, judgments, grades) => {
  const { queries } = await readLines({ text: 'Why?', ...judgments });
  expect(queries[0]?.judgments).toEqual([
    { documentId: 'd1', grade: grades[0] },
    { documentId: 'd2', grade: grades[1] },
  ]);
});

it('derives an id from question and tags, the same as CSV does', async () => {
  const { queries } = await readLines({ question: 'Why?', tags: { lang: 'en' }, relevant: ['d1'] });
  const csv = await readFiles({ 'set.csv': 'question,document,lang\nWhy?,d7,en\n' }, 'set.csv');
  expect(queries[0]?.id).toBe(csv.queries[0]?.id);
});

it('takes numbers and truth values as tags', async () => {
  const { queries } = await readLines({
    text: 'Why?',
    tags: { year: 2024, open: false, lang: 'en' },
    relevant: ['d1'],
  });
  expect(queries[0]?.tags).toEqual({ year: '2024', open: 'false', lang: 'en' });
});

it('leaves out a query without judgments, with a warning', async () => {
  const { queries, warnings } = await readLines(
    { text: 'Why?', relevant: [] },
    { text: 'How?', relevant: ['d1'] },
  );
  expect(queries.map(({ text }) => text)).toEqual(['How?']);
  expect(warnings).toHaveLength(1);
});

it('removes white space around questions, ids and tags, with a warning', async () => {
  const { queries, warnings } = await readLines({
    id: ' q1',
    text: 'Why?\n',
    tags: { ' lang': 'en ' },
    relevant: ['d1 '],
  });
  expect(queries).toEqual([
    { id: 'q1', text: 'Why?', tags: { lang: 'en' }, judgments: [{ documentId: 'd1', grade: 1 }] },
  ]);
  expect(warnings).toEqual([
    expect.stringMatching(/^Questions, ids and tags with white space .*: 5 \(first: line 1 of /),
  ]);
});

it('reads a line that is longer than one piece of the file, with characters of three bytes', async () => {
  const text = '€'.repeat(100_000);
  const { queries } = await readLines({ text: 'Why?', relevant: ['d1'] }, { text, relevant: ['d2'] });
  expect(queries[1]).toMatchObject({ text, judgments: [{ documentId: 'd2' }] });
});
