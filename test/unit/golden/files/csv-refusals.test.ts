import { describe, expect, it } from 'vitest';
import { refusal } from './golden-files.ts';

const latin1 = Buffer.from('question,document\nWhy?,d1\nZürich?,d1\n', 'latin1');
const utf16 = Buffer.from('\uFEFFquestion,document\n', 'utf16le');

describe('a bad CSV file is refused with its line and the way out', () => {
  const head = 'question,document,grade,lang\n';
  it.each<[string, string | Uint8Array, string]>([
    ['no question', 'document\nd1\n', 'Line 1 of set.csv has no column "question"; the first line must name'],
    [
      'no document',
      '\nquestion\nWhy?\n',
      'Line 2 of set.csv has no column "document"; the first line must name',
    ],
    [
      'a column id',
      'id,question,document\n1,Why?,d1\n',
      'has a column "id", which may mean either; call it query_id or document_id.',
    ],
    [
      'two question columns',
      'question,text,document\n',
      'has two columns for the same thing, "question" and "text"; rename or remove one.',
    ],
    ['two tags of one name', 'question,document,a,a\n', 'has two columns "a"; rename one.'],
    ['a tag with =', 'question,document,a=b\n', 'has "=" in the tag name "a=b"; rename the tag.'],
    [
      'too many tags',
      `question,document,${Array.from({ length: 33 }, (_, i) => `t${i}`).join(',')}\n`,
      'has 33 columns for tags; use at most 32.',
    ],
    [
      'a long tag name',
      `question,document,${'t'.repeat(65)}\n`,
      'has a tag name of 65 characters; use at most 64.',
    ],
    [
      'an empty question',
      `${head},d1,1,en\n`,
      'Line 2 of set.csv has an empty question; write the question or remove the line.',
    ],
    [
      'a grade in words',
      `${head}Why?,d1,high,en\n`,
      'has the grade "high", which is not a whole number; use 0, 1, 2, ...',
    ],
    ['half a grade', `${head}Why?,d1,0.5,en\n`, 'has the grade "0.5", which is not a whole number'],
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
      'one query id for two questions',
      'qid,question,document\nq1,Why?,d1\nq1,How?,d1\n',
      'gives the query id "q1" another question or other tags than line 2 of set.csv; use two ids.',
    ],
    [
      'a long tag',
      `${head}Why?,d1,1,${'x'.repeat(257)}\n`,
      'has a value of 257 characters in the tag lang; use at most 256 or remove the tag.',
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
      'a quote that stays open',
      `${head}How?,d1,1,en\n"Why?,d1,1,en\n,d2,1,en\n`,
      'Line 3 of set.csv starts a row with a double quote that is never closed; close it.',
    ],
    [
      'a quote inside a cell',
      `${head}How?,d1,1,en\nWhy "so"?,d1,1,en\n`,
      'Line 3 of set.csv has a double quote inside a cell; put the whole cell in double quotes',
    ],
    [
      'text after a quote',
      `${head}"a\nb",d1,1,en\n"Why" so?,d1,1,en\n`,
      'Line 4 of set.csv has text after a closing double quote;',
    ],
    [
      'a row without end',
      `${head}"${'x\n'.repeat(600_000)}`,
      'Line 2 of set.csv starts a row of more than 1 MiB; check that each double quote is closed.',
    ],
    [
      'line ends of old Macs',
      'question,document\rWhy?,d1\r',
      'Line 1 of set.csv ends with CR alone; save the file with LF or CRLF.',
    ],
    ['Latin-1', latin1, 'Line 3 of set.csv is not UTF-8; save the file as UTF-8.'],
    ['UTF-16', utf16, 'Line 1 of set.csv is not UTF-8; save the file as UTF-8.'],
  ])('%s', async (_, content, message) => {
    const error = await refusal({ 'set.csv': content }, 'set.csv');
    expect(error).toEqual({ code: 'file_malformed', message: expect.stringContaining(message) });
    expect(error.message).toMatch(/^Line \d+ of set\.csv .*\.$/);
  });

  it('names the line of a bad row also after many rows with line breaks', async () => {
    const rows = Array.from({ length: 500 }, (_, i) => `"Why\r\n${i}?",d1`);
    const content = ['question,document', ...rows, 'How?,d1,d2', ...rows].join('\r\n');
    expect((await refusal({ 'set.csv': content }, 'set.csv')).message).toContain(
      'Line 1002 of set.csv has 3 cells',
    );
    const quote = ['question,document', ...rows, 'a "b" c,d1', ...rows].join('\r\n');
    expect((await refusal({ 'set.csv': quote }, 'set.csv')).message).toContain(
      'Line 1002 of set.csv has a double quote',
    );
  });

  it('a numbered id that the file has already', async () => {
    const content = 'qid,question,document\nq1#2,How?,d1\nq1,Why?,d1\nq1,Why?,d1\n';
    const error = await refusal({ 'set.csv': content }, 'set.csv', { rowsAsQueries: true });
    expect(error.message).toBe(
      'Line 4 of set.csv needs the query id "q1#2", which line 2 of set.csv has; rename that one.',
    );
  });
});
