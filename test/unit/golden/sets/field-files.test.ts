/** Tests files in the formats that other programs and people write, as seen in public bug reports. */
import { describe, expect, it } from 'vitest';
import { contentId } from '../../../../src/core/text/content-id.ts';
import type { ReadGoldenSetOptions } from '../../../../src/golden/rules/golden-set.ts';
import { readQrels } from '../../../../src/golden/trec/qrels-file.ts';
import { fixture, read, readFiles, refusal } from './golden-files.ts';

type Options = Partial<ReadGoldenSetOptions>;

/** Returns the grades, keyed by query text and document, as `golden import` reads them. */
async function gradesOf(path: string, options: Options = {}): Promise<Record<string, Record<string, number>>> {
  const { queries } = await read(fixture(`field/${path}`), options);
  return Object.fromEntries(
    queries.map(({ text, judgments }) => [
      text,
      Object.fromEntries(judgments.map(({ documentId, grade }) => [documentId, grade])),
    ]),
  );
}

const choose = (columns: Partial<NonNullable<ReadGoldenSetOptions['columns']>>): Options => ({
  columns: { tags: [], ignore: [], ...columns },
});

describe('a file from another tool is imported', () => {
  it.each<[string, Record<string, Record<string, number>>, Options?]>([
    ['beir-pandas-index/b', { 'zero?': { d8: 1 }, 'one?': { d9: 1 }, 'two?': { d7: 1 } }],
    ['beir-quoted-tsv/b', { 'one?': { 'Leave, paid.pdf': 1 } }],
    ['beir-header-hf/b', { 'one?': { d1: 1 } }],
    ['beir-bigint-id/b', { a: { d1: 1 } }],
    ['beir-num-ids/b', { a: { d1: 1 }, b: { d2: 1 } }],
    ['arguana-self/b', { claim: { a1: 1, b1: 1 } }],
    ['arguana-self/b', { claim: { b1: 1 } }, { skipOwnDocument: true }],
    ['csv-qrels-label/qrels.csv', { 'contratación pública vial': { b1: 1, b2: 0, b3: 0 } }],
    ['csv-relevance-score-col/a.csv', { 'What?': { d1: 3, d2: 0 } }],
    ['csv-relevant-col/a.csv', { 'What?': { d1: 1, d2: 0 } }],
    ['csv-unknown-grade-col/a.csv', { 'What?': { d1: 1, d2: 0 } }],
    ['csv-list-docs/a.csv', { 'What?': { d1: 1, d2: 1 } }],
    ['csv-document-commas/g.csv', { 'What?': { 'd1,d2': 1 } }],
    ['csv-document-commas/g.csv', { 'What?': { d1: 1, d2: 1 } }, { documentsSeparator: ',' }],
    [
      'csv-gold-doc-ids/g.csv',
      { 'What?': { d1: 1, d2: 1 } },
      { ...choose({ document: 'gold_doc_ids' }), documentsSeparator: ',' },
    ],
    ['csv-page-tag/a.csv', { 'How long is leave?': { d1: 1, d2: 1 } }, choose({ ignore: ['page'] })],
    ['csv-answer-col/a.csv', { 'What?': { d1: 1 } }, choose({ ignore: ['answer'] })],
    ['csv-apostrophe/a.csv', { "'-v' flag does what?": { "'-1'": 1 } }],
    ['csv-excel-sep/a.csv', { 'What?': { d1: 1 } }],
    ['gold-jsonl-relevance/g.jsonl', { x: { d1: 1 } }],
    ['golden-json-sources/g.json', { 'What?': { 'a.cpp': 1 } }, choose({ document: 'ground_truth_sources' })],
    ['irds-jsonl-qrels/t', { 'one?': { d1: 1 } }],
    ['llamaindex-json/pg_eval_dataset.json', { 'How is hit rate computed?': { n1: 1 }, 'What is MRR?': { n2: 1 } }],
    ['miracl/m', { 'Je, nani?': { '462#4': 1, '462#5': 0 } }],
    ['msmarco-layout/m', { 'how many years': { '7067032': 1 } }],
    ['opensearch-llm/j.json', { phone: { A: 1, B: 1, C: 0 } }, { relevanceThreshold: 0.5 }],
    ['qrels-comment/t', { 'one?': { d1: 1 } }],
    ['quepid-book-semicolon/book.csv', { 'star wars': { '11': 3, '12': 0 } }],
    ['quepid-case-ratings-json/ratings.json', { 'star wars': { '11': 3, '12': 0 } }],
    ['quepid-detailed/q.csv', { 'star wars': { '11': 3 } }],
    ['quepid-rre/ratings.json', { 'star wars': { '11': 3, '12': 1 } }],
    ['quepid-rre-real/r.json', { 'star wars': { '11': 3 } }],
    ['rag25-topics/r', { 'I am looking into inflation': { d1: 3 } }],
    ['ragas-ids-csv/q.csv', { 'What?': { d1: 1, d2: 1 }, 'Who?': { '7': 1 }, 'Where?': { [contentId('A') ?? '']: 1 } }],
    ['ragas-v01-csv/testset.csv', { 'What?': { [contentId('Alpha text') ?? '']: 1 } }],
    ['trec-nbsp-id/t', { 'one?': { 'doc\u00a01': 1 } }],
    [
      'zoomcamp-filename-csv/ground-truth.csv',
      { 'What is RAG, and why?': { '01-agentic-rag/lessons/01-intro.md': 1 } },
      choose({ document: 'filename' }),
    ],
    [
      'zoomcamp-id-csv/ground-truth-retrieval.csv',
      { 'Is it good?': { '1': 1 }, 'How much is it?': { '1': 1 }, 'What for?': { '2': 1 } },
      choose({ document: 'id' }),
    ],
  ])('%s', async (path, expected, options) => {
    expect(await gradesOf(path, options)).toEqual(expected);
  });
});

describe('an ambiguous file from another tool is refused with a fix', () => {
  it.each<[string, RegExp, Options?]>([
    ['csv-page-tag/a.csv', /has no grade column, but "page" .*--grade page .*--tags page .*--ignore page/],
    ['csv-answer-col/a.csv', /column "answer".*300 characters.*--ignore answer/],
    ['csv-gold-doc-ids/g.csv', /no column "document"; its other columns are "gold_doc_ids".*--document gold_doc_ids/],
    ['golden-json-sources/g.json', /no column "document"; its other columns are "ground_truth_sources"/],
    ['deepeval-goldens/g.json', /no column "query"; its other columns are "input", .*--query COLUMN/],
    ['langsmith-csv/ls.csv', /no column "query"; its other columns are "id", "input_question"/],
    ['zoomcamp-filename-csv/ground-truth.csv', /--document filename/],
    ['zoomcamp-id-csv/ground-truth-retrieval.csv', /--document id/],
    ['opensearch-llm/j.json', /has the rating 0.7, a fraction.*--relevance-threshold/],
    ['promptfoo-yaml/t.yaml', /CSV with the columns query,document,grade/],
    ['qrels-3col-space-id/t', /^Line 2 of .*has 4 columns, but line 1 has 3/],
    ['quepid-ltr/r.txt', /is a learning-to-rank file/],
    ['ragas-ids-unreadable/t.csv', /^Line 2 of .*reference_context_ids that are not a list of ids/],
  ])('%s', async (path, message, options = {}) => {
    await expect(read(fixture(`field/${path}`), options)).rejects.toThrow(message);
  });

  it('a file of plain queries is refused, and the error names the format that reads such a file', async () => {
    await expect(read(fixture('questions.txt'))).rejects.toThrow(/--format questions reads one query per line/);
    expect((await read(fixture('questions.txt'), { format: 'questions' })).queries).toHaveLength(2);
  });

  it('a table without documents is refused, and the error names the format that reads such a table', async () => {
    const { message } = await refusal({ 'q.csv': 'question\nWhy?\n' }, 'q.csv');
    expect(message).toContain('has no column "document"');
    expect(message).toContain('--format questions');
  });
});

it('a Ragas file with both document ids and document texts is imported with a warning', async () => {
  const { warnings } = await read(fixture('field/ragas-ids-mixed/t.jsonl'));
  expect(warnings).toEqual([
    expect.stringContaining(
      'Documents are identified by reference_context_ids in 1 row and by their texts in 1 row, but a retriever returns either ids or texts.',
    ),
  ]);
});

describe('the judgments of a file', () => {
  it.each([
    ['float-grade/qrels.txt', { q1: { d1: 1, d2: 0 } }],
    ['quepid-trec-eval/qrels.txt', { '12': { '11': 3, '99': 0 } }],
    ['qrels-3col-tabs/qrels.tsv', { q1: { d1: 1, d2: 0 } }],
    ['qrels-header-other/qrels.tsv', { q1: { d1: 1, d2: 0 } }],
  ])('have the same meaning in an evaluation and in an import: %s', async (path, expected) => {
    const judgments = await readQrels(fixture(`field/${path}`));
    const grades: Record<string, Record<string, number>> = {};
    for (const { row, queryId } of judgments.rows()) {
      (grades[queryId] ??= {})[judgments.text(row)] = judgments.gradeOf(row);
    }
    expect(grades).toEqual(expected);
    const queries = Object.keys(expected).map((id) => `${id}\ttext of ${id}\n`);
    const { readFile } = await import('node:fs/promises');
    const set = await readFiles(
      { 'queries.tsv': queries.join(''), 'qrels.txt': await readFile(fixture(`field/${path}`)) },
      '.',
    );
    const read = set.queries.map(({ id, judgments: list }) => [
      id,
      Object.fromEntries(list.map(({ documentId, grade }) => [documentId, grade])),
    ]);
    expect(Object.fromEntries(read)).toEqual(expected);
  });

  it('require a grade if there are only two columns', async () => {
    const path = fixture('field/qrels-2col-msmarco/qrels.txt');
    await expect(readQrels(path)).rejects.toThrow('has 2 columns and no grade');
  });
});

describe('an import', () => {
  it('summarizes how each column was read, what was judged and what was skipped', async () => {
    const content =
      ',Question,doc-id,Label,course,empty\n7,Why?,d1,2,a,\n8,Why?,d2,0,a,\n9,How?,,1,b,\n10,What?,d1,,b,\n12,Who?,d1,yes,b,\n';
    const { summary, counts } = await readFiles({ 'set.csv': content }, 'set.csv');
    expect(counts).toEqual({ queries: 2, judgments: 3 });
    expect(summary.columns.map(({ column, readAs, reason }) => [column, readAs, reason])).toEqual([
      ['1', 'ignored', 'row numbers'],
      ['Question', 'query', null],
      ['doc-id', 'document', null],
      ['Label', 'grade', null],
      ['course', 'tag', null],
      ['empty', 'ignored', 'empty'],
    ]);
    expect(summary).toMatchObject({ judgmentsByGrade: { 0: 1, 1: 1, 2: 1 }, documents: 2, tags: { course: 2 } });
    expect(summary.skipped.map(({ reason, count }) => [reason, count])).toEqual([
      ['document_empty', 1],
      ['grade_missing', 1],
      ['query_unjudged', 2],
    ]);
  });

  it.each([
    ['a column that splits a query', 'question,document,grade,lang\nWhy?,d1,1,en\nWhy?,d2,1,de\n', '--tags lang'],
    ['shares that may be grades', 'question,document,overlap\nWhy?,d1,0.5\nHow?,d2,1.0\n', '--grade overlap'],
    ['truth values that may be grades', 'question,document,ok\nWhy?,d1,TRUE\nHow?,d2,FALSE\n', '--grade ok'],
    ['a fraction as grade', 'question,document,score\nWhy?,d1,0.5\n', '--relevance-threshold'],
    [
      'a list that cannot be read',
      'question,document\nWhy?,"array([1, 2])"\nHow?,[d1 d2]\n',
      'in neither JSON nor Python notation',
    ],
    [
      'a header with both commas and semicolons as separators',
      'question,document,z;query;doc\na,b,c;d;e\n',
      'separated by',
    ],
  ])('does not guess the meaning of %s', async (_what, content, message) => {
    expect((await refusal({ 'set.csv': content }, 'set.csv')).message).toContain(message);
  });

  it('refuses an option that names a missing column, and lists the columns of the file', async () => {
    const options = choose({ grade: 'labels' });
    const error = await refusal({ 'set.csv': 'question,document,label\nWhy?,d1,1\n' }, 'set.csv', options);
    expect(error.code).toBe('usage');
    expect(error.message).toContain('its columns are "question", "document", "label"');
  });
});
