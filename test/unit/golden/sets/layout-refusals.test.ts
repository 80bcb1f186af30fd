import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Files, read, refusal, withFiles } from './golden-files.ts';

const beirQueries = '{"_id": "q1", "text": "Why?"}\n';

describe('a missing file is named', () => {
  it.each<[string, Files, string, object, string]>([
    ['a path', {}, 'nothing.csv', {}, 'nothing.csv does not exist; check the path.'],
    [
      'BEIR queries',
      { 'qrels.tsv': '' },
      '.',
      { format: 'beir' },
      'FOLDER has no queries.jsonl, which BEIR requires; add the file or name it with --queries.',
    ],
    [
      'BEIR judgments',
      { 'queries.jsonl': '' },
      '.',
      { format: 'beir' },
      'FOLDER has neither qrels.tsv nor qrels/*.tsv, and BEIR requires one; add the file or name it with --qrels.',
    ],
    [
      'TREC queries',
      { 'qrels.txt': '' },
      'qrels.txt',
      {},
      'FOLDER has no queries.tsv or topics.tsv (query id, tab, text) or queries.jsonl; add the file or name it with --queries.',
    ],
    [
      'TREC judgments',
      { 'queries.tsv': '' },
      '.',
      { format: 'trec' },
      'FOLDER has no qrels.txt or *.qrels; add the file or name it with --qrels.',
    ],
    [
      'the named queries',
      { 'qrels.txt': '' },
      'qrels.txt',
      { queriesPath: '/nowhere/queries.tsv' },
      '/nowhere/queries.tsv does not exist; check the path.',
    ],
  ])('%s', async (_, files, name, options, message) => {
    expect(await refusal(files, name, options)).toEqual({ code: 'file_unreadable', message });
  });

  it('a folder instead of a file is named', async () => {
    await withFiles({ 'qrels.txt': 'q1 0 d1 1\n' }, async (folder) => {
      await mkdir(join(folder, 'topics'));
      await expect(read(folder, { queriesPath: join(folder, 'topics') })).rejects.toMatchObject({
        code: 'file_unreadable',
        message: `${join(folder, 'topics')} is a folder; specify a file.`,
      });
    });
  });
});

describe('an unknown or wrong format is refused with a fix', () => {
  const both = { 'queries.jsonl': beirQueries, 'qrels.tsv': 'q1\td1\t1\n', 'qrels.txt': 'q1 0 d1 1\n' };
  it.each<[string, Files, string, object, string]>([
    [
      'a folder that is both BEIR and TREC',
      both,
      '.',
      {},
      'FOLDER can be read either as BEIR (queries.jsonl) or as TREC (qrels.txt); choose with --format beir, trec, csv, jsonl, questions, quepid, ragas, ubi or llamaindex.',
    ],
    [
      'a folder that is neither BEIR nor TREC',
      { 'set.csv': '' },
      '.',
      {},
      'name a CSV or JSONL file, or choose with --format beir, trec, csv, jsonl, questions, quepid, ragas, ubi or llamaindex.',
    ],
    [
      'an unknown extension',
      { 'set.xlsx': '' },
      'set.xlsx',
      {},
      'The format of set.xlsx cannot be detected from its name; choose with --format beir, trec, csv, jsonl, questions, quepid, ragas, ubi or llamaindex, or write the queries as CSV with the columns query,document,grade.',
    ],
    [
      'CSV for a folder',
      both,
      '.',
      { format: 'csv' },
      'The format csv reads a single file, but FOLDER is a folder; name the file.',
    ],
    [
      'BEIR for a file',
      both,
      'qrels.tsv',
      { format: 'beir' },
      'A BEIR data set is a folder with queries.jsonl and qrels, but qrels.tsv is a file; specify the folder.',
    ],
    [
      'two TREC judgments',
      { 'qrels.txt': '', 'b.qrels': '' },
      '.',
      {},
      'FOLDER has b.qrels and qrels.txt; use --qrels to choose the file to read.',
    ],
    [
      'two TREC queries',
      { 'qrels.txt': '', 'queries.tsv': '', 'topics.tsv': '' },
      '.',
      {},
      'FOLDER has queries.tsv and topics.tsv; use --queries to choose the file to read.',
    ],
    [
      'judgments specified twice',
      both,
      'qrels.txt',
      { format: 'trec', qrelsPath: 'x' },
      'qrels.txt and --qrels both specify judgments; remove --qrels, or pass a folder instead of qrels.txt.',
    ],
    [
      'rows as queries for a format without rows',
      both,
      '.',
      { format: 'beir', rowsAsQueries: true },
      '--rows-as-queries is for CSV only, but FOLDER is read as beir; remove the option.',
    ],
    [
      'a qrels file in addition to a CSV file',
      { 'set.csv': '' },
      'set.csv',
      { qrelsPath: 'x' },
      '--queries and --qrels are for BEIR and TREC, but set.csv is read as csv; remove these options.',
    ],
  ])('%s', async (_, files, name, options, message) => {
    expect(await refusal(files, name, options)).toEqual({
      code: 'usage',
      message: expect.stringContaining(message),
    });
  });

  it('a specified format is used, whatever the file names suggest', async () => {
    await withFiles(both, async (folder) => {
      expect((await read(folder, { format: 'beir' })).format).toBe('beir');
      const qrelsPath = join(folder, 'qrels.txt');
      expect((await read(folder, { format: 'trec', qrelsPath })).format).toBe('trec');
    });
  });
});
