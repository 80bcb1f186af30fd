/** Golden sets from files and into files, and those that came over HTTP. */

import { createHash, type Hash } from 'node:crypto';
import { extname, join } from 'node:path';
import { RecalldError } from '../../errors.ts';
import { sourceLines, writeText } from '../../files/text-file.ts';
import { malformed, parseJson, type SourceLine } from '../../text/source-line.ts';
import { parseGoldenLine } from '../golden-set-schema.ts';
import { addCsvRow, type CsvColumns, parseCsvHeader } from '../rules/csv-table.ts';
import { type ExportFile, exportGoldenSet } from '../rules/export-golden-set.ts';
import type {
  GoldenFormat,
  GoldenOrigin,
  GoldenSetFile,
  GoldenSetVersion,
  ReadGoldenSetOptions,
} from '../rules/golden-set.ts';
import { GoldenSetBuilder } from '../rules/golden-set-builder.ts';
import { parseCorpusId, parseQrelsLine, parseQueryObject, parseQueryRow } from '../rules/judgment-lines.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';
import { readForeign } from './foreign-sets.ts';
import { csvRows, inspectPath, type JudgedQueriesSources, layOutSources } from './source-layout.ts';

/** The files of a golden set as they are read and hashed. */
type SourceRole = 'queries' | 'qrels' | 'corpus' | 'table' | 'lines';

/** The files of one golden set. Each is read once, so that what is hashed is what was parsed. */
export class SourceFiles {
  readonly #read: { readonly role: SourceRole; readonly hash: Hash }[] = [];

  /**
   * The lines of a file, see `sourceLines`.
   * @throws RecalldError `file_unreadable`, or `file_malformed` for a line that is too long or not UTF-8.
   */
  lines(path: string, role: SourceRole): AsyncGenerator<SourceLine[]> {
    const hash = createHash('sha256');
    this.#read.push({ role, hash });
    return sourceLines(path, (chunk) => hash.update(chunk));
  }

  /**
   * SHA-256, hex, over the bytes of every file read, each with its role, and over `meaning`, the choices that change
   * what the bytes say. To be called once, when every file has been read to its end.
   */
  contentHash(meaning: readonly string[]): string {
    const files = this.#read.map(({ role, hash }) => [role, hash.digest('hex')]);
    return sha256(JSON.stringify([MEANING_VERSION, meaning, files]));
  }
}

/** Calls `use` for each line that holds more than white space, in order. */
export async function eachLine(
  batches: AsyncIterable<readonly SourceLine[]>,
  use: (line: SourceLine) => void,
): Promise<void> {
  for await (const lines of batches) {
    for (const line of lines) {
      if (line.text.trim() !== '') use(line);
    }
  }
}

/** SHA-256 of the text, hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/**
 * Adds the rows of a CSV table whose first row names the columns.
 * @throws RecalldError `file_unreadable`, `file_malformed`.
 */
async function readCsv(
  files: SourceFiles,
  path: string,
  builder: GoldenSetBuilder,
  rowsAsQueries: boolean,
): Promise<void> {
  let columns: CsvColumns | null = null;
  for await (const rows of csvRows(files.lines(path, 'table'))) {
    for (const { cells, ...place } of rows) {
      if (columns === null) columns = parseCsvHeader(cells, place);
      else addCsvRow(builder, columns, cells, place, rowsAsQueries);
    }
  }
}

/**
 * Reads a golden set from a BEIR folder, TREC files, a CSV table, JSON lines, a file of questions without judgments, or what
 * Quepid, Ragas or OpenSearch wrote.
 *
 * @param path the file, or for BEIR and TREC the folder
 * @throws RecalldError `usage` when format and path do not fit or the format cannot be told, `file_unreadable`,
 * `file_malformed` with file and line, `golden_set_empty`.
 */
export async function readGoldenSet(path: string, options: ReadGoldenSetOptions): Promise<GoldenSetFile> {
  const sources = layOutSources(await inspectPath(path), options);
  const files = new SourceFiles();
  const builder = new GoldenSetBuilder(sha256);
  const meaning: string[] = [sources.format];
  let origin: GoldenOrigin = 'human';
  switch (sources.format) {
    case 'csv':
      await readCsv(files, sources.path, builder, options.rowsAsQueries);
      if (options.rowsAsQueries) meaning.push('rows as queries');
      break;
    case 'jsonl':
      await readJsonLines(files, sources.path, builder);
      break;
    case 'questions':
      await eachLine(files.lines(sources.path, 'lines'), (line) => {
        builder.addQuery({ id: null, text: line.text, tags: {} }, line, 'join');
      });
      break;
    case 'quepid':
    case 'ragas':
    case 'ubi':
      origin = await readForeign(sources.format, files.lines(sources.path, 'table'), sources.path, builder);
      break;
    case 'beir':
    case 'trec':
      if (sources.note !== null) builder.warnings.note(sources.note);
      await readJudgedQueries(files, sources, builder);
      break;
  }
  return {
    format: sources.format,
    ...builder.finish(path, sources.format === 'questions'),
    contentHash: files.contentHash(meaning),
    origin,
  };
}

/**
 * Adds one query with its judgments for each line that is not empty.
 * @throws RecalldError `file_unreadable`, `file_malformed`.
 */
async function readJsonLines(files: SourceFiles, path: string, builder: GoldenSetBuilder): Promise<void> {
  await eachLine(files.lines(path, 'lines'), (line) => {
    const result = parseGoldenLine(parseJson(line));
    if (!result.ok) throw malformed(line, result.problem);
    builder.addLine(result.line, line);
  });
}

/**
 * Reads queries and judgments that lie in two files, BEIR's or TREC's. Of a corpus only the ids are read, to tell
 * how many judged documents it lacks.
 * @throws RecalldError `file_unreadable`, `file_malformed`.
 */
async function readJudgedQueries(
  files: SourceFiles,
  sources: JudgedQueriesSources,
  builder: GoldenSetBuilder,
): Promise<void> {
  const isJson = ['.json', '.jsonl', '.ndjson'].includes(extname(sources.queries).toLowerCase());
  await eachLine(files.lines(sources.queries, 'queries'), (line) => {
    const draft = isJson
      ? parseQueryObject(line, () => builder.warnings.count('metadata_skipped', line))
      : parseQueryRow(line);
    if (draft !== null) builder.addQuery(draft, line, 'reject');
  });
  await eachLine(files.lines(sources.qrels, 'qrels'), (line) => {
    const judgment = parseQrelsLine(line);
    if (judgment !== null) builder.addJudgment(judgment.queryId, judgment.documentId, judgment.grade, line);
  });
  if (sources.corpus === null) return;
  const absent = builder.judgedDocuments();
  await eachLine(files.lines(sources.corpus, 'corpus'), (line) => absent.delete(parseCorpusId(line)));
  const [first = ''] = absent;
  builder.warnings.set('document_absent', absent.size, first);
}

export interface ImportReport {
  readonly set: GoldenSetVersion;
  /** False when the latest version already has this content. */
  readonly created: boolean;
  readonly warnings: readonly string[];
}

/** @throws RecalldError for files that cannot be read, see readGoldenSet; nothing is stored then */
export async function importGoldenSet(
  sets: GoldenSets,
  path: string,
  name: string,
  options: ReadGoldenSetOptions,
): Promise<ImportReport> {
  const file = await readGoldenSet(path, options);
  const { contentHash, format, queries, warnings, origin } = file;
  return { ...(await sets.add({ name, contentHash, format, queries, origin }, new Date())), warnings };
}

/** Goes into every content hash; raise it when the same values come to mean another golden set. */
const MEANING_VERSION = 1;

/**
 * Takes values as in the lines of a JSONL file. The same queries in the same order are the same content, however their
 * JSON was written.
 *
 * @throws RecalldError file_malformed with the place of the query in the list, golden_set_empty; nothing is stored then
 */
export async function importGoldenQueries(
  sets: GoldenSets,
  name: string,
  values: readonly unknown[],
  now: Date,
): Promise<ImportReport> {
  const builder = new GoldenSetBuilder(sha256);
  for (const [index, value] of values.entries()) {
    const place = { file: 'queries', line: index + 1 };
    const result = parseGoldenLine(value);
    if (!result.ok) throw malformed(place, result.problem);
    builder.addLine(result.line, place);
  }
  const { queries, warnings } = builder.finish('The list of queries');
  const content = queries.map(({ id, text, tags, judgments, forbidden, noAnswer }) => [
    id,
    text,
    Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    judgments.map(({ documentId, grade }) => [documentId, grade]),
    ...(forbidden === undefined ? [] : [forbidden]),
    ...(noAnswer === undefined ? [] : ['no answer']),
  ]);
  const contentHash = sha256(JSON.stringify([MEANING_VERSION, 'json', content]));
  return { ...(await sets.add({ name, contentHash, format: 'json', queries }, now)), warnings };
}

/** A golden set -> files. */
export interface ExportRequest {
  readonly set: string;
  readonly version?: number;
  readonly format: GoldenFormat;
  readonly out: string;
  readonly dropTags: boolean;
  /** Replaces files that are there. */
  readonly force: boolean;
}

/** @throws RecalldError golden_set_unknown, export_impossible, file_unwritable; nothing is written then */
export async function exportGoldenSetTo(
  sets: GoldenSets,
  { set, version, format, out, dropTags, force }: ExportRequest,
): Promise<{ readonly set: GoldenSetVersion; readonly files: readonly string[] }> {
  const found = await findVersion(sets, set, version);
  const stored = await sets.queries(found.name, found.version);
  const queries = dropTags ? stored.map((query) => ({ ...query, tags: {} })) : stored;
  return { set: found, files: await writeExport(exportGoldenSet(queries, format), out, force) };
}

/**
 * Writes the files of an export to a file, or into a folder, which is made when it is missing.
 *
 * @param replace whether files that are there may be replaced
 * @returns the paths that were written
 * @throws RecalldError `file_unwritable`
 */
async function writeExport(files: readonly ExportFile[], out: string, replace: boolean): Promise<string[]> {
  const written: string[] = [];
  for (const { path, text } of files) {
    const target = path === null ? out : join(out, path);
    await writeText(target, text, replace);
    written.push(target);
  }
  return written;
}

/**
 * The latest version, or the one that is asked for.
 *
 * @throws RecalldError golden_set_unknown
 */
export async function findVersion(sets: GoldenSets, name: string, version?: number): Promise<GoldenSetVersion> {
  const latest = await sets.latest(name);
  if (latest === null) {
    throw new RecalldError(
      'golden_set_unknown',
      `There is no golden set "${name}"; \`recalld golden list\` shows those that exist.`,
    );
  }
  if (version === undefined || version === latest.version) return latest;
  const found = (await sets.list()).find((set) => set.name === name && set.version === version);
  if (found !== undefined) return found;
  throw new RecalldError(
    'golden_set_unknown',
    `The golden set "${name}" has no version ${version}; its latest is ${latest.version}.`,
  );
}
