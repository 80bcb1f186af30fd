/** Golden sets from files and into files, and those that came over HTTP. */

import { join } from 'node:path';
import { RecalldError } from '../../errors.ts';
import { writeText } from '../../files/text-file.ts';
import { malformed } from '../../text/source-line.ts';
import { parseGoldenLine } from '../golden-set-schema.ts';
import { type ExportFile, exportGoldenSet } from '../rules/export-golden-set.ts';
import type { GoldenFormat, GoldenSetVersion, ReadGoldenSetOptions } from '../rules/golden-set.ts';
import { GoldenSetBuilder } from '../rules/golden-set-builder.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';
import { readGoldenSet } from './golden-set-reader.ts';
import { sha256 } from './source-files.ts';

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
  const { contentHash, format, queries, warnings } = file;
  return { ...(await sets.add({ name, contentHash, format, queries }, new Date())), warnings };
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
  const content = queries.map(({ id, text, tags, judgments }) => [
    id,
    text,
    Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    judgments.map(({ documentId, grade }) => [documentId, grade]),
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
export async function findVersion(
  sets: GoldenSets,
  name: string,
  version?: number,
): Promise<GoldenSetVersion> {
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
