import { basename, extname } from 'node:path';
import { RecalldError } from '../../errors.ts';
import type { GoldenFormat, ReadGoldenSetOptions } from '../rules/golden-set.ts';
import type { GoldenPath } from './golden-path.ts';

const choices = 'choose with --format beir, trec, csv or jsonl';

/**
 * The format by the names in a folder or the extension of a file; no content is looked at.
 * @throws RecalldError `usage` when none or more than one format fits.
 */
export function detectFormat(at: GoldenPath, options: ReadGoldenSetOptions): GoldenFormat {
  return at.isFolder ? folderFormat(at, options) : fileFormat(at.path, options);
}

/** Whether a file is called as TREC judgments are. qrels.tsv is BEIR's name, unless BEIR's queries are missing. */
export function isTrecQrels(name: string): boolean {
  return /^qrels$|^qrels([._-].*)?\.(txt|trec)$|\.qrels?$/i.test(name);
}

function folderFormat({ path, names, splits }: GoldenPath, options: ReadGoldenSetOptions): GoldenFormat {
  const hasQueries = names.includes('queries.jsonl') || options.queriesPath !== undefined;
  const hasQrels = names.includes('qrels.tsv') || splits.length > 0 || options.qrelsPath !== undefined;
  const trecQrels = names.find(isTrecQrels);
  if (hasQueries && hasQrels) {
    if (trecQrels === undefined) return 'beir';
    throw new RecalldError(
      'usage',
      `${path} can be read as BEIR (queries.jsonl) and as TREC (${trecQrels}); ${choices}.`,
    );
  }
  if (trecQrels !== undefined || names.includes('qrels.tsv') || options.qrelsPath !== undefined)
    return 'trec';
  throw new RecalldError(
    'usage',
    `${path} has neither queries.jsonl with qrels.tsv or qrels/*.tsv (BEIR) nor qrels.txt or *.qrels (TREC); ` +
      `name a CSV or JSONL file, or ${choices}.`,
  );
}

function fileFormat(path: string, options: ReadGoldenSetOptions): GoldenFormat {
  if (options.queriesPath !== undefined) return 'trec';
  const name = basename(path).toLowerCase();
  const extension = extname(name);
  if (extension === '.jsonl' || extension === '.ndjson') return 'jsonl';
  if (extension === '.csv') return 'csv';
  if (name.startsWith('qrels') || ['.qrels', '.qrel', '.txt'].includes(extension)) return 'trec';
  if (extension === '.tsv' || extension === '.tab') return 'csv';
  throw new RecalldError('usage', `The name of ${path} does not tell its format; ${choices}.`);
}
