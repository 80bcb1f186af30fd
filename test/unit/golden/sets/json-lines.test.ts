import { describe, expect, it } from 'vitest';
import { readFiles, refusal } from './golden-files.ts';

const half = String.raw`"\ud800"`;

describe('a malformed JSONL file is refused with the line number and a fix', () => {
  it.each([
    ['invalid JSON', '{"text": "Why?"', 'is not JSON; write one complete JSON object on each line.'],
    ['an array over many lines', '[', 'is not JSON; write one complete JSON object on each line.'],
    [
      'a value that is not an object',
      '["Why?"]',
      'must be a JSON object, such as {"text": "...", "relevant": ["..."]}.',
    ],
    [
      'no text',
      '{"relevant": ["d1"]}',
      'must have either "text" or "question", but may omit both if it has "steps", such as',
    ],
    [
      'both text and question',
      '{"text": "a", "question": "b", "relevant": ["d1"]}',
      'must have either "text" or "question", but may omit both if it has "steps", such as',
    ],
    [
      'no judgments',
      '{"text": "a"}',
      'must have at least one of "judgments", "relevant", "forbidden" and "no_answer", such as',
    ],
    [
      'both judgments and relevant',
      '{"text": "a", "judgments": {}, "relevant": []}',
      'must have either "judgments" or "relevant", such as',
    ],
    [
      'an unknown key',
      '{"_id": "q1", "text": "a", "relevant": []}',
      'has the unknown key "_id" in a query; the keys of a query are id, text, steps, tags, judgments (or relevant), forbidden and no_answer.',
    ],
    [
      'an unknown key of a judgment',
      '{"text": "a", "judgments": [{"document_id": "d", "g": 1}]}',
      'has the unknown key "g" in "judgments.0";',
    ],
    [
      'an id that is a number',
      '{"text": "a", "relevant": [12]}',
      '"relevant.0" must be a document id in double quotes.',
    ],
    ['all documents forbidden', '{"text": "a", "forbidden": ["*"]}', 'forbids every document; write an id,'],
    [
      'a relevant document that is forbidden',
      '{"text": "a", "relevant": ["b/1"], "forbidden": ["b/*"]}',
      'Line 3 of set.jsonl forbids the document "b/1", but the same query judges it relevant; keep only one.',
    ],
    [
      'a no-answer query with a relevant document',
      '{"text": "a", "relevant": ["d1"], "no_answer": true}',
      'Line 3 of set.jsonl says that the query has no answer, but line 3 of set.jsonl judges "d1" relevant to it; keep only one.',
    ],
    [
      'an empty list of steps',
      '{"text": "a", "steps": [], "relevant": ["d1"]}',
      'has a bad value: "steps" must not be empty.',
    ],
    ['an empty step', '{"text": "a", "steps": ["b", " "], "relevant": ["d1"]}', 'has an empty step; write its text'],
    ['a fractional grade', '{"text": "a", "judgments": {"d1": 0.5}}', '"judgments.d1" must be a whole number.'],
    [
      'a fractional grade in a list',
      '{"text": "a", "judgments": [{"document_id": "d1", "grade": 0.5}]}',
      '"judgments.0.grade" must be a whole number.',
    ],
    [
      'judgments as a string',
      '{"text": "a", "judgments": "d1"}',
      '"judgments" must be a list of {"document_id": "...", "grade": 1} or',
    ],
    [
      'a nested tag',
      '{"text": "a", "tags": {"b": {}}, "relevant": []}',
      '"tags.b" must be a string, a number, true or false.',
    ],
    [
      'tags as a list',
      '{"text": "a", "tags": ["b"], "relevant": []}',
      '"tags" must be an object such as {"language": "en"}.',
    ],
    [
      'a repeated tag',
      '{"text": "a", "tags": {"b": "1", "b ": "2"}, "relevant": []}',
      'has the tag b twice; keep one.',
    ],
    ['a tag without name', '{"text": "a", "tags": {"": "1"}, "relevant": []}', 'has a tag without a name; name it.'],
    [
      'too many tags',
      JSON.stringify({
        text: 'a',
        relevant: [],
        tags: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`t${i}`, 'v'])),
      }),
      'has 33 tags; use at most 32.',
    ],
    [
      'a key that JavaScript objects lose',
      '{"text": "a", "judgments": {"__proto__": 1}}',
      'has the key "__proto__"; rename it.',
    ],
    [
      'a text of white space only',
      '{"text": " ", "relevant": ["d1"]}',
      'Line 3 of set.jsonl has an empty query; write its text or remove the line.',
    ],
    [
      'too long a text',
      JSON.stringify({ text: 'x'.repeat(100_001), relevant: ['d1'] }),
      'Line 3 of set.jsonl has a query of 100001 characters; use at most 100000.',
    ],
    [
      'NUL in the text',
      String.raw`{"text": "a\u0000", "relevant": ["d1"]}`,
      'Line 3 of set.jsonl has a NUL character in its query; remove it.',
    ],
    [
      'half a surrogate in the text',
      `{"text": ${half}, "relevant": ["d1"]}`,
      'Line 3 of set.jsonl has half of a surrogate pair in its query; remove it.',
    ],
    [
      'half a surrogate in an id',
      `{"text": "a", "relevant": [${half}]}`,
      'has half of a surrogate pair in a document id; remove it.',
    ],
    [
      'a control character in an id',
      String.raw`{"text": "a", "relevant": ["d\u0007"]}`,
      'has a control character or a line break in a document id; remove it.',
    ],
    ['an empty id', '{"id": "", "text": "a", "relevant": ["d1"]}', 'has an empty query id; write the query id.'],
    ['an empty document id', '{"text": "a", "relevant": [""]}', 'has an empty document id; write the document id.'],
    [
      'a repeated id',
      '{"id": "q0", "text": "b", "relevant": ["d1"]}',
      'repeats the query id "q0" of line 1 of set.jsonl; give each query its own id.',
    ],
    [
      'a document with two grades',
      '{"text": "a", "judgments": [{"document_id": "d1"}, {"document_id": "d1", "grade": 2}]}',
      'gives the document "d1" the grade 2 for the query "a"',
    ],
  ])('%s', async (_, line, message) => {
    const first = '{"id": "q0", "text": "b", "relevant": ["d1"]}';
    const error = await refusal({ 'set.jsonl': `${first}\n\n${line}\n` }, 'set.jsonl');
    expect(error).toEqual({ code: 'file_malformed', message: expect.stringContaining(message) });
    expect(error.message).toMatch(/^Line 3 of set\.jsonl .*\.$/);
  });

  it('the same query twice without an id is refused', async () => {
    const line = '{"text": "a", "relevant": ["d1"]}\n';
    expect((await refusal({ 'set.jsonl': line + line }, 'set.jsonl')).message).toBe(
      'Line 2 of set.jsonl repeats the query of line 1 of set.jsonl; put all judgments of this query on one line, or give each query an id.',
    );
  });

  it('a line of more than 16 MiB is refused, without reading the rest', async () => {
    const error = await refusal({ 'set.jsonl': `{"id": "q1"\n${'x'.repeat(17 * 1024 * 1024)}` }, 'set.jsonl');
    expect(error.message).toBe('Line 1 of set.jsonl is not JSON; write one complete JSON object on each line.');
    const long = await refusal({ 'set.jsonl': `\n${'x'.repeat(17 * 1024 * 1024)}` }, 'set.jsonl');
    expect(long.message).toBe('Line 2 of set.jsonl is longer than 16 MiB; split it into lines.');
  });
});

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
])('judgments written as %s are read', async (_, judgments, grades) => {
  const { queries } = await readLines({ text: 'Why?', ...judgments });
  expect(queries[0]?.judgments).toEqual([
    { documentId: 'd1', grade: grades[0] },
    { documentId: 'd2', grade: grades[1] },
  ]);
});

it('an id is derived from the query and its tags in the same way as for CSV', async () => {
  const { queries } = await readLines({ question: 'Why?', tags: { lang: 'en' }, relevant: ['d1'] });
  const csv = await readFiles({ 'set.csv': 'question,document,lang\nWhy?,d7,en\n' }, 'set.csv');
  expect(queries[0]?.id).toBe(csv.queries[0]?.id);
});

it('numbers and booleans are accepted as tags', async () => {
  const { queries } = await readLines({
    text: 'Why?',
    tags: { year: 2024, open: false, lang: 'en' },
    relevant: ['d1'],
  });
  expect(queries[0]?.tags).toEqual({ year: '2024', open: 'false', lang: 'en' });
});

it('a query without judgments is skipped, with a warning', async () => {
  const { queries, warnings } = await readLines({ text: 'Why?', relevant: [] }, { text: 'How?', relevant: ['d1'] });
  expect(queries.map(({ text }) => text)).toEqual(['How?']);
  expect(warnings).toHaveLength(1);
});

it('white space around queries, ids and tags is removed, with a warning', async () => {
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
    expect.stringMatching(/^Queries, ids and tags with surrounding white space, .*: 5 \(first: line 1 of /),
  ]);
});

it('a line of three-byte characters that is longer than one block of the file is read', async () => {
  const text = '€'.repeat(100_000);
  const { queries } = await readLines({ text: 'Why?', relevant: ['d1'] }, { text, relevant: ['d2'] });
  expect(queries[1]).toMatchObject({ text, judgments: [{ documentId: 'd2' }] });
});

describe('steps of a JSONL query', () => {
  it('are read in order and trimmed, with or without a text of the whole query', async () => {
    const { queries } = await readFiles(
      {
        'set.jsonl': [
          '{"id": "q1", "text": "Who?", "steps": [" first hop", "second hop"], "relevant": ["d1"]}',
          '{"id": "q2", "steps": ["first hop", "second hop"], "relevant": ["d1"]}',
        ].join('\n'),
      },
      'set.jsonl',
    );
    expect(queries).toMatchObject([
      { text: 'Who?', steps: ['first hop', 'second hop'] },
      { text: 'first hop / second hop', steps: ['first hop', 'second hop'] },
    ]);
  });

  it('are part of the identity of a query without an id', async () => {
    const line = (steps: string) => `{"text": "Who?", "steps": ${steps}, "relevant": ["d1"]}`;
    const { queries } = await readFiles({ 'set.jsonl': `${line('["a"]')}\n${line('["b"]')}` }, 'set.jsonl');
    expect(new Set(queries.map(({ id }) => id)).size).toBe(2);
  });
});
