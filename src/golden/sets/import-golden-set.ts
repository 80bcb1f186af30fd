import { createHash, type Hash } from 'node:crypto';
import { extname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RecalldError } from '../../core/errors.ts';
import type { GoldenQuery } from '../../core/model.ts';
import type { SourceLine } from '../../core/text/source-line.ts';
import { sourceLines, writeTexts } from '../../platform/files/text-file.ts';
import { createEventLoopYield } from '../../platform/threads/event-loop-yield.ts';
import { MAX_QUERIES, parseGoldenLine } from '../golden-set-schema.ts';
import { exportGoldenSet } from '../rules/export-golden-set.ts';
import type { Placed } from '../rules/foreign-judgments.ts';
import type { GoldenFormat, GoldenOrigin, GoldenSetVersion, ReadGoldenSetOptions } from '../rules/golden-set.ts';
import { GoldenSetBuilder } from '../rules/golden-set-builder.ts';
import { parseCorpusId, parseQueryObject, parseQueryRow } from '../rules/judgment-lines.ts';
import { decideTableColumns, type TableRow } from '../rules/table-columns.ts';
import { addTableRow, binaryGrade } from '../rules/table-rows.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';
import { readJudgments } from '../trec/qrels-file.ts';
import { csvRows } from './csv-rows.ts';
import { readForeign } from './foreign-sets.ts';
import { isTableRow, jsonRows, tableOfObjects } from './json-rows.ts';
import { inspectPath, type JudgedQueriesSources, layOutSources } from './source-layout.ts';

/** Role of a file in a golden set. The role is part of the content hash. */
type SourceRole = 'queries' | 'qrels' | 'corpus' | 'table' | 'lines';

/**
 * The files of one golden set. Each file is read only once, so that the hash covers exactly the bytes that are parsed.
 */
export class SourceFiles {
  readonly #read: { readonly role: SourceRole; readonly hash: Hash }[] = [];
  readonly #signal: AbortSignal | undefined;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /**
   * Reads the lines of a file; see `sourceLines`.
   *
   * @throws RecalldError `file_unreadable`, or `file_malformed` for a line that is too long or not UTF-8; the reason of
   *   the signal when it aborts
   */
  lines(path: string, role: SourceRole): AsyncGenerator<SourceLine[]> {
    return sourceLines(path, this.seeing(role));
  }

  /** Returns a function that must receive all bytes of a file in order; the function throws when the signal aborts. */
  seeing(role: SourceRole): (bytes: Uint8Array) => void {
    const hash = createHash('sha256');
    this.#read.push({ role, hash });
    return (bytes) => {
      this.#signal?.throwIfAborted();
      hash.update(bytes);
    };
  }

  /**
   * Returns a SHA-256 hash in hex. The hash covers `meaning` (the options that change how the bytes are interpreted)
   * and all files that were read, each with its role. Must be called once, after every file has been read to its end.
   */
  contentHash(meaning: readonly string[]): string {
    const files = this.#read.map(({ role, hash }) => [role, hash.digest('hex')]);
    return sha256(JSON.stringify([MEANING_VERSION, meaning, files]));
  }
}

/** Calls `use` for each line that is not blank, in order. */
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

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function addTable(table: readonly TableRow[], builder: GoldenSetBuilder, options: ReadGoldenSetOptions): void {
  const [header, ...rows] = table;
  if (header === undefined) return;
  const columns = decideTableColumns(header, rows, options);
  builder.columns = columns.readings;
  if (!columns.places.has('grade') && !columns.places.has('judgments') && !columns.places.has('no_answer')) {
    builder.warnings.note('The file has no grade column. Every row counts as a relevant document, with grade 1.');
  }
  for (const row of rows) addTableRow(builder, columns, row, options);
}

export type GoldenSetFile = Awaited<ReturnType<typeof readGoldenSet>>;

/**
 * Reads a golden set from a BEIR folder, TREC files, a CSV table, JSON lines, a text file of queries without judgments,
 * or an export from Quepid, Ragas, LlamaIndex or OpenSearch.
 *
 * @param path a file, except that BEIR requires a folder and TREC accepts a file or a folder
 * @throws RecalldError `usage` if the path is not suitable for the format, or if the format cannot be detected;
 * `file_unreadable`; `file_malformed`, with the file and the line; `golden_set_empty`
 */
export async function readGoldenSet(path: string, options: ReadGoldenSetOptions, signal?: AbortSignal) {
  const sources = layOutSources(await inspectPath(path), options);
  const files = new SourceFiles(signal);
  const builder = new GoldenSetBuilder(sha256, options.skipOwnDocument);
  const { rowsAsQueries, columns, relevanceThreshold, documentsSeparator, skipOwnDocument } = options;
  const choices = {
    rowsAsQueries: rowsAsQueries || undefined,
    columns,
    relevanceThreshold,
    documentsSeparator,
    skipOwnDocument,
  };
  const meaning: string[] = [sources.format, JSON.stringify(choices)];
  let origin: GoldenOrigin = 'human';
  switch (sources.format) {
    case 'csv':
      addTable(await collected(csvRows(files.lines(sources.path, 'table'))), builder, options);
      break;
    case 'jsonl':
      await readJsonObjects(files, sources.path, builder, options);
      break;
    case 'questions':
      await eachLine(files.lines(sources.path, 'lines'), (line) => {
        builder.addQuery({ id: null, text: line.text, tags: {} }, line, 'join');
      });
      break;
    case 'quepid':
    case 'ragas':
    case 'ubi':
    case 'llamaindex':
      origin = await readForeign(sources.format, files.lines(sources.path, 'table'), sources.path, builder, options);
      break;
    case 'beir':
    case 'trec':
      if (sources.note !== null) builder.warnings.note(sources.note);
      await readJudgedQueries(files, sources, builder, options);
      break;
  }
  return {
    format: sources.format,
    ...builder.finish(path, sources.format === 'questions'),
    /**
     * SHA-256 in hex. Two imports have the same hash if and only if they read the same bytes for the same roles with
     * the same options.
     */
    contentHash: files.contentHash(meaning),
    origin,
  };
}

async function collected<Item>(batches: AsyncIterable<readonly Item[]>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const batch of batches) for (const item of batch) items.push(item);
  return items;
}

/**
 * Adds a query per JSON object. Objects from other tools are read as rows of a table whose columns are the keys of the
 * objects.
 */
async function readJsonObjects(
  files: SourceFiles,
  path: string,
  builder: GoldenSetBuilder,
  options: ReadGoldenSetOptions,
): Promise<void> {
  const table: Placed[] = [];
  let isTable: boolean | null = null;
  for await (const row of jsonRows(files.lines(path, 'lines'), path)) {
    isTable ??= options.columns !== undefined || isTableRow(row.value);
    if (isTable) {
      table.push(row);
      continue;
    }
    if (options.relevanceThreshold !== undefined || options.documentsSeparator !== undefined) {
      throw new RecalldError(
        'usage',
        `--relevance-threshold and --documents-separator apply only to tables, but ${path} is in recalld's own JSON lines format. Remove the options.`,
      );
    }
    builder.addLine(parseGoldenLine(row.value, row.place), row.place);
  }
  if (table.length > 0) addTable(tableOfObjects(table), builder, options);
}

/**
 * Reads queries and judgments from BEIR or TREC files. Reads only the ids from a corpus, to count the judged documents
 * that are missing from it.
 */
async function readJudgedQueries(
  files: SourceFiles,
  sources: JudgedQueriesSources,
  builder: GoldenSetBuilder,
  { columns, relevanceThreshold }: ReadGoldenSetOptions,
): Promise<void> {
  const isJson = ['.json', '.jsonl', '.ndjson'].includes(extname(sources.queries).toLowerCase());
  await eachLine(files.lines(sources.queries, 'queries'), (line) => {
    const draft = isJson
      ? parseQueryObject(line, () => builder.warnings.count('metadata_skipped', line))
      : parseQueryRow(line);
    if (draft !== null) builder.addQuery(draft, line, 'reject');
  });
  const { judgments, form } = await readJudgments(
    sources.qrels,
    columns,
    relevanceThreshold !== undefined,
    files.seeing('qrels'),
  );
  builder.columns = form?.columns ?? [];
  if (form?.grade === null) {
    builder.warnings.note(
      'The judgments have no grade column. Every judged document counts as relevant, with grade 1.',
    );
  }
  for (const { row, queryId } of judgments.rows()) {
    const place = { file: sources.qrels, line: judgments.lineOf(row) };
    const grade = judgments.gradeOf(row);
    const binary = relevanceThreshold === undefined ? grade : binaryGrade(grade, relevanceThreshold);
    builder.addJudgment(queryId, judgments.text(row), binary, place);
  }
  if (sources.corpus === null) return;
  const absent = builder.judgedDocuments();
  await eachLine(files.lines(sources.corpus, 'corpus'), (line) => absent.delete(parseCorpusId(line)));
  const [first = ''] = absent;
  builder.warnings.set('document_absent', absent.size, first);
}

export type ImportReport = Awaited<ReturnType<typeof importGoldenSet>>;

/** Stores the content of files as a version of a set. Nothing is stored if the signal aborts first. */
export async function importGoldenSet(sets: GoldenSets, file: GoldenSetFile, name: string, signal: AbortSignal) {
  const { contentHash, format, queries, warnings, origin, summary } = file;
  const added = await sets.add({ name, contentHash, format, queries, origin }, new Date(), signal);
  return { ...added, warnings: [...warnings, ...(await cutOffTexts(sets, added))], summary };
}

/**
 * Version number that is part of every content hash. Increase this number if a change to the code makes the same files
 * produce a different golden set.
 */
const MEANING_VERSION = 2;

/**
 * Imports batches of values that have the form of JSONL lines. Regularly yields to the event loop. The same queries in
 * the same order have the same content hash, regardless of how their JSON was formatted.
 *
 * @throws RecalldError file_malformed with the index of the query, golden_set_empty; nothing is stored in these cases
 */
export async function importGoldenQueries(
  sets: GoldenSets,
  name: string,
  batches: Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>,
  now: Date,
): Promise<ImportReport> {
  const builder = new GoldenSetBuilder(sha256);
  const turn = createEventLoopYield(TURN);
  let count = 0;
  for await (const values of batches) {
    for (const value of values) {
      count += 1;
      if (count > MAX_QUERIES) {
        throw new RecalldError(
          'body_unreadable',
          `The body has more than ${MAX_QUERIES} queries. Send at most ${MAX_QUERIES}.`,
        );
      }
      const place = { file: 'queries', line: count };
      const line = parseGoldenLine(value, place);
      builder.addLine(line, place);
      await turn(1 + line.judgments.length);
    }
  }
  const steps = builder.finishInSteps('The list of queries');
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) await nextTurn();
  const { queries, warnings, summary } = step.value;
  const hash = createHash('sha256').update(JSON.stringify([MEANING_VERSION, 'json']));
  for (const query of queries) {
    hash.update(contentOf(query));
    await turn(1 + query.judgments.length);
  }
  const added = await sets.add({ name, contentHash: hash.digest('hex'), format: 'json', queries }, now);
  return { ...added, warnings: [...warnings, ...(await cutOffTexts(sets, added))], summary };
}

/** Warns of queries whose texts were cut off in a new version. */
async function cutOffTexts(
  sets: GoldenSets,
  { set: { name, version }, created }: Awaited<ReturnType<GoldenSets['add']>>,
): Promise<string[]> {
  if (!created || version === 1) return [];
  const cutOff = (await sets.editedTexts(name, version - 1, version)).filter(({ isCutOff }) => isCutOff);
  const [first] = cutOff;
  if (first === undefined) return [];
  return [
    `Queries whose texts are only the beginnings of their texts in version ${version - 1}: ${cutOff.length} (first: ${first.id}). Check whether a length limit cut the texts off.`,
  ];
}

/**
 * Number of queries and judgments that are processed per turn of the event loop; the processing takes a few
 * milliseconds.
 */
const TURN = 500;

function contentOf({ id, text, steps, tags, judgments, forbidden, noAnswer }: GoldenQuery): string {
  return JSON.stringify([
    id,
    text,
    Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    judgments.map(({ documentId, grade }) => [documentId, grade]),
    ...(steps === undefined ? [] : ['steps', steps]),
    ...(forbidden === undefined ? [] : [forbidden]),
    ...(noAnswer === undefined ? [] : ['no answer']),
  ]);
}

export interface ExportRequest {
  readonly set: string;
  readonly version?: number;
  readonly format: GoldenFormat;
  readonly out: string;
  readonly dropTags: boolean;
  readonly force: boolean;
}

/**
 * Writes a set to a file, or to several files in a folder. Creates the folder if it does not exist.
 *
 * @throws RecalldError golden_set_unknown, export_impossible, file_unwritable; the reason of the signal when it aborts.
 *   No new file remains after an error.
 */
export async function exportGoldenSetTo(
  sets: GoldenSets,
  { set, version, format, out, dropTags, force }: ExportRequest,
  signal: AbortSignal,
): Promise<{ readonly set: GoldenSetVersion; readonly files: readonly string[] }> {
  const found = await findVersion(sets, set, version);
  const stored = await sets.queries(found.name, found.version);
  signal.throwIfAborted();
  const queries = dropTags ? stored.map((query) => ({ ...query, tags: {} })) : stored;
  const targets = exportGoldenSet(queries, format).map(({ path, text }) => ({
    path: path === null ? out : join(out, path),
    text,
  }));
  await writeTexts(targets, force, signal);
  return { set: found, files: targets.map(({ path }) => path) };
}

/**
 * Returns the given version of a set, or the latest version if none is given. @throws RecalldError golden_set_unknown
 */
export async function findVersion(sets: GoldenSets, name: string, version?: number): Promise<GoldenSetVersion> {
  const latest = await sets.latest(name);
  if (latest === null) {
    throw new RecalldError(
      'golden_set_unknown',
      `There is no golden set "${name}". \`recalld golden list\` shows the existing sets.`,
    );
  }
  if (version === undefined || version === latest.version) return latest;
  const found = (await sets.list()).find((set) => set.name === name && set.version === version);
  if (found !== undefined) return found;
  throw new RecalldError(
    'golden_set_unknown',
    `The golden set "${name}" has no version ${version}; the latest version is ${latest.version}.`,
  );
}
