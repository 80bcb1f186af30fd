import { open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { RecalldError } from '../../core/errors.ts';
import { signatureProblem } from '../../core/text/file-signature.ts';
import { malformed } from '../../core/text/source-line.ts';
import { readGrade } from '../../math/ir/trec-line.ts';
import { unreadable } from '../../platform/files/text-file.ts';
import { roleOfColumn } from '../rules/column-roles.ts';
import { foreignFormatOf } from '../rules/foreign-judgments.ts';
import type { ForeignFormat, GoldenFormat, ReadGoldenSetOptions } from '../rules/golden-set.ts';
import { qrelsCells, trimBlanks } from '../rules/qrels-form.ts';
import { headerNames } from './csv-rows.ts';

const choices = 'choose with --format beir, trec, csv, jsonl, questions, quepid, ragas, ubi or llamaindex';

/**
 * Detects the format from the names in a folder, or from the extension and the beginning of a file.
 *
 * @throws RecalldError `usage` if the path matches no format, or more than one
 */
function detectFormat(at: GoldenPath, options: ReadGoldenSetOptions): GoldenFormat | ForeignFormat {
  if (at.isFolder) return folderFormat(at, options);
  const isOwn = options.queriesPath !== undefined || options.rowsAsQueries;
  return (
    (isOwn ? null : foreignFormatOf(extname(at.path).toLowerCase(), at.head, headerNames(at.head))) ??
    fileFormat(at, options)
  );
}

/**
 * True for the file names of TREC judgments. The name qrels.tsv is not included, because it belongs to BEIR if the
 * folder also has queries.jsonl.
 */
function isTrecQrels(name: string): boolean {
  return /^qrels$|^qrels([._-].*)?\.(txt|trec|jsonl|ndjson)$|^qrels[._-].*\.(tsv|csv)$|\.qrels?$/i.test(name);
}

function folderFormat({ path, names, splits }: GoldenPath, options: ReadGoldenSetOptions): GoldenFormat {
  const hasQueries = names.includes('queries.jsonl') || options.queriesPath !== undefined;
  const hasQrels = names.includes('qrels.tsv') || splits.length > 0 || options.qrelsPath !== undefined;
  const trecQrels = names.find(isTrecQrels);
  if (hasQueries && hasQrels) {
    if (trecQrels === undefined) return 'beir';
    throw new RecalldError(
      'usage',
      `${path} can be read either as BEIR (queries.jsonl) or as TREC (${trecQrels}); ${choices}.`,
    );
  }
  if (trecQrels !== undefined || names.includes('qrels.tsv') || options.qrelsPath !== undefined) return 'trec';
  throw new RecalldError(
    'usage',
    `${path} contains neither BEIR files (queries.jsonl, and qrels.tsv or qrels/*.tsv) nor TREC judgments (qrels.txt or *.qrels); ` +
      `name a CSV or JSONL file, or ${choices}.`,
  );
}

function fileFormat({ path, head }: GoldenPath, options: ReadGoldenSetOptions): GoldenFormat {
  if (options.queriesPath !== undefined) return 'trec';
  const name = basename(path).toLowerCase();
  const extension = extname(name);
  const isQrels = name.startsWith('qrels') || ['.qrels', '.qrel'].includes(extension);
  if (extension === '.csv') return 'csv';
  if (isQrels) return 'trec';
  if (extension === '.jsonl' || extension === '.ndjson') return 'jsonl';
  if (extension === '.tsv' || extension === '.tab') return 'csv';
  if (extension === '.json') return jsonFormat(path, head);
  if (/^\S+\s+qid:\S+/.test(head.trimStart())) {
    throw usage(`${path} is a learning-to-rank file (grade qid:1 ...); export the ratings as CSV or as TREC judgments`);
  }
  if (extension === '.txt' || extension === '') {
    if (isJudgmentLike(head)) return 'trec';
    throw usage(
      `${path} has lines of text but no judgments; --format questions reads one query per line, and a CSV file with the columns query,document,grade can contain judgments too`,
    );
  }
  throw usage(
    `The format of ${path} cannot be detected from its name; ${choices}, or write the queries as CSV with the columns query,document,grade`,
  );
}

/** Detects the JSON format: a list of objects, or one object per line as in Hugging Face datasets. */
function jsonFormat(path: string, head: string): 'jsonl' {
  const text = head.replace(/^\uFEFF/, '').trimStart();
  if (text.startsWith('[') || isJsonLines(text)) return 'jsonl';
  throw usage(
    `${path} is neither a list of JSON objects nor in another known format; write a JSON list, or one JSON object per line, with query, document and grade (in pandas: to_json(orient="records"))`,
  );
}

/** True if the text has several lines and the first line is a JSON object. */
function isJsonLines(text: string): boolean {
  const [first = '', ...others] = text.split('\n', 3);
  if (!first.startsWith('{') || others.every((line) => line.trim() === '')) return false;
  try {
    JSON.parse(first);
    return true;
  } catch {
    return false;
  }
}

/** True if the first line may be a judgment, or if the judgment reader has a helpful error message for it. */
function isJudgmentLike(head: string): boolean {
  const lines = head.replaceAll('\uFEFF', '').split('\n').map(trimBlanks);
  const first = lines.find((line) => line !== '' && !line.startsWith('#')) ?? '';
  if (first === '' || /^[{[]/.test(first)) return true;
  return (['tabs', 'blanks', ',', ';'] as const).some((separator) => {
    const cells = qrelsCells(first, separator);
    const known = cells.filter((cell) => roleOfColumn(cell) !== null).length;
    return known > 1 || (cells.length > 2 && cells.length < 5 && readGrade(cells.at(-1) ?? '') !== null);
  });
}

/** Number of bytes that are read to detect the format: enough for a header, or for the keys of the first object. */
const HEAD_BYTES = 64 * 1024;

async function headOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, null);
    const problem = signatureProblem(buffer.subarray(0, bytesRead));
    if (problem !== null) throw malformed({ file: path, line: 1 }, problem);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

type GoldenPath = Awaited<ReturnType<typeof inspectPath>>;

/** Reads the head of a file, or the names in a folder. @throws RecalldError `file_unreadable` */
export async function inspectPath(path: string) {
  try {
    const isFolder = (await stat(path)).isDirectory();
    const folder = isFolder ? path : dirname(path);
    const qrels = join(path, 'qrels');
    const hasSplits = (await stat(qrels).catch(() => null))?.isDirectory() === true;
    return {
      path,
      isFolder,
      /** Path of the folder; for a file, the path of its folder. */
      folder,
      /**
       * Sorted names of the files in the folder, without subfolders. A file may be readable even if its folder cannot be
       * listed, and most formats need only the file.
       */
      names: isFolder ? await fileNames(path) : await fileNames(folder).catch((): string[] => []),
      /** Sorted tables in the subfolder `qrels`, in which BEIR stores one table per split. */
      splits: hasSplits ? (await fileNames(qrels)).filter((name) => name.endsWith('.tsv')) : [],
      head: isFolder ? '' : await headOf(path),
    };
  } catch (cause) {
    throw cause instanceof RecalldError ? cause : unreadable(path, cause);
  }
}

async function fileNames(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => entry.name)
    .toSorted();
}

/** A golden set that consists of two files, one with queries and one with judgments. */
export interface JudgedQueriesSources {
  readonly format: 'beir' | 'trec';
  readonly queries: string;
  readonly qrels: string;
  readonly corpus: string | null;
  /** Explains in one sentence which of several possible files is read; null if there is only one such file. */
  readonly note: string | null;
}

const trecQueries = /^(queries|topics)([._-].*)?\.(tsv|txt|jsonl|ndjson)$/i;
const testSplit = join('qrels', 'test.tsv');

/**
 * Returns the files that make up the golden set.
 *
 * @throws RecalldError `usage` if the path or the options are not suitable for the format, or if they are ambiguous;
 * `file_unreadable` if a file of the format is missing
 */
export function layOutSources(at: GoldenPath, options: ReadGoldenSetOptions) {
  const format = options.format === 'auto' ? detectFormat(at, options) : options.format;
  const { path } = at;
  if (options.rowsAsQueries && format !== 'csv') {
    throw usage(`--rows-as-queries is for CSV only, but ${path} is read as ${format}; remove the option`);
  }
  refuseOtherOptions(path, format, options);
  if (format === 'beir') return beirSources(at, options);
  if (format === 'trec') return trecSources(at, options);
  if (at.isFolder) throw usage(`The format ${format} reads a single file, but ${path} is a folder; name the file`);
  if (options.queriesPath !== undefined || options.qrelsPath !== undefined) {
    throw usage(`--queries and --qrels are for BEIR and TREC, but ${path} is read as ${format}; remove these options`);
  }
  return { format, path };
}

/** Rejects options that the format would silently ignore. */
function refuseOtherOptions(path: string, format: string, options: ReadGoldenSetOptions): void {
  const { columns, documentsSeparator, relevanceThreshold } = options;
  const isTable = format === 'csv' || format === 'jsonl';
  const isQrels = format === 'beir' || format === 'trec';
  const refuse = (what: string, where: string): never => {
    throw usage(
      `${what} for ${where}, but ${path} is read as ${format}; remove the option, or choose another --format`,
    );
  };
  if (columns !== undefined && !isTable && !isQrels)
    refuse('--query, --document, --grade, --tags and --ignore are', 'tables and qrels');
  if (columns !== undefined && columns.tags.length > 0 && !isTable) refuse('--tags is', 'tables');
  if (documentsSeparator !== undefined && !isTable) refuse('--documents-separator is', 'tables');
  if (relevanceThreshold !== undefined && !isTable && !isQrels && format !== 'ubi') {
    refuse('--relevance-threshold is', 'tables, qrels and judgments of OpenSearch');
  }
}

function beirSources(at: GoldenPath, { queriesPath, qrelsPath }: ReadGoldenSetOptions): JudgedQueriesSources {
  const { path, names } = at;
  if (!at.isFolder) {
    throw usage(`A BEIR data set is a folder with queries.jsonl and qrels, but ${path} is a file; specify the folder`);
  }
  if (queriesPath === undefined && !names.includes('queries.jsonl')) {
    throw missing(`${path} has no queries.jsonl, which BEIR requires; add the file or name it with --queries`);
  }
  return {
    format: 'beir',
    queries: queriesPath ?? join(path, 'queries.jsonl'),
    corpus: names.includes('corpus.jsonl') ? join(path, 'corpus.jsonl') : null,
    ...(qrelsPath === undefined ? beirQrels(at) : { qrels: qrelsPath, note: null }),
  };
}

/**
 * Returns the first file that exists: qrels.tsv, then qrels/test.tsv, then any other table in the folder qrels. The
 * note names the files that are not used.
 */
function beirQrels({ path, names, splits }: GoldenPath) {
  const inSplits = splits.map((name) => join('qrels', name));
  const found = [
    ...(names.includes('qrels.tsv') ? ['qrels.tsv'] : []),
    ...inSplits.filter((name) => name === testSplit),
    ...inSplits.filter((name) => name !== testSplit),
  ];
  const [taken, ...others] = found;
  if (taken === undefined) {
    throw missing(
      `${path} has neither qrels.tsv nor qrels/*.tsv, and BEIR requires one; add the file or name it with --qrels`,
    );
  }
  const note = `Judgments are read from ${taken}, not from ${others.join(', ')}. Use --qrels to choose another file.`;
  return { qrels: join(path, taken), note: others.length === 0 ? null : note };
}

function trecSources(at: GoldenPath, { queriesPath, qrelsPath }: ReadGoldenSetOptions): JudgedQueriesSources {
  if (!at.isFolder && qrelsPath !== undefined) {
    throw usage(
      `${at.path} and --qrels both specify judgments; remove --qrels, or pass a folder instead of ${at.path}`,
    );
  }
  const qrels = at.isFolder
    ? (qrelsPath ?? theOne(at, (name) => isTrecQrels(name) || name === 'qrels.tsv', '--qrels', 'qrels.txt or *.qrels'))
    : at.path;
  const topics = 'queries.tsv or topics.tsv (query id, tab, text) or queries.jsonl';
  const queries = queriesPath ?? theOne(at, (name) => trecQueries.test(name), '--queries', topics);
  return { format: 'trec', queries, qrels, corpus: null, note: null };
}

function theOne(at: GoldenPath, isIt: (name: string) => boolean, option: string, expected: string): string {
  const { folder } = at;
  const found = at.names.filter(isIt);
  const [name] = found;
  if (name === undefined) throw missing(`${folder} has no ${expected}; add the file or name it with ${option}`);
  if (found.length > 1) throw usage(`${folder} has ${found.join(' and ')}; use ${option} to choose the file to read`);
  return join(folder, name);
}

function usage(sentence: string): RecalldError {
  return new RecalldError('usage', `${sentence}.`);
}

function missing(sentence: string): RecalldError {
  return new RecalldError('file_unreadable', `${sentence}.`);
}
