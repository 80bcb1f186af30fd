/** Files, or queries that came over HTTP -> a new version of a golden set. */
import { readGoldenSet } from '../../golden/files/golden-set-reader.ts';
import { sha256 } from '../../golden/files/source-files.ts';
import type { GoldenSetVersion, ReadGoldenSetOptions } from '../../golden/rules/golden-set.ts';
import { GoldenSetBuilder } from '../../golden/rules/golden-set-builder.ts';
import { parseGoldenLine } from '../../golden/schema/golden-files.ts';
import type { GoldenSets } from '../../golden/sql/golden-sets.ts';
import { malformed } from '../../text/source-line.ts';

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
  const file = await readGoldenSet(path, options, parseGoldenLine);
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
    const id = builder.addQuery(result.line, place, 'reject');
    for (const { documentId, grade } of result.line.judgments)
      builder.addJudgment(id, documentId, grade, place);
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
