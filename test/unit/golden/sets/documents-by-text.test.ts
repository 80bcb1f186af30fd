import { expect, it } from 'vitest';
import { contentId } from '../../../../src/core/text/content-id.ts';
import { readFiles, refusal } from './golden-files.ts';

const id = contentId('Open the settings.');

it('a judged document may be identified by its text in JSONL', async () => {
  const line = { text: 'Why?', judgments: [{ document_text: 'Open\n the settings.', grade: 2 }, { document_id: 'b' }] };
  const { queries } = await readFiles({ 'set.jsonl': JSON.stringify(line) }, 'set.jsonl');
  expect(queries[0]?.judgments).toEqual([
    { documentId: id, grade: 2 },
    { documentId: 'b', grade: 1 },
  ]);
});

it('a judged document may be identified by its text in a column of CSV', async () => {
  const table = 'question,document_text,document,rating\nWhy?,Open  the settings.,,2\nWhy?,,b,1\n';
  const { queries } = await readFiles({ 'set.csv': table }, 'set.csv');
  expect(queries.map(({ judgments }) => judgments)).toEqual([
    [
      { documentId: id, grade: 2 },
      { documentId: 'b', grade: 1 },
    ],
  ]);
});

it.each([
  ['set.csv', 'question,document_text,document\nWhy?,a text,d1\n', 'has both the id and the text of a document'],
  ['set.jsonl', '{"text": "a", "judgments": [{"grade": 1}]}', 'must have either "document_id" or "document_text"'],
  ['set.jsonl', '{"text": "a", "judgments": [{"document_text": " "}]}', 'must not have an empty "document_text"'],
])('%s is refused unless each document is identified by either an id or a text', async (name, content, problem) => {
  expect((await refusal({ [name]: content }, name)).message).toContain(problem);
});
