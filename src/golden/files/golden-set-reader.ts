import type { GoldenSetFile, ParseGoldenLine, ReadGoldenSetOptions } from '../rules/golden-set.ts';
import { GoldenSetBuilder } from '../rules/golden-set-builder.ts';
import { readCsv } from './csv.ts';
import { inspectPath } from './golden-path.ts';
import { readJsonLines } from './json-lines.ts';
import { readJudgedQueries } from './judged-queries.ts';
import { SourceFiles, sha256 } from './source-files.ts';
import { layOutSources } from './source-layout.ts';

/**
 * Reads a golden set from a BEIR folder, TREC files, a CSV table or JSON lines.
 *
 * @param path the file, or for BEIR and TREC the folder
 * @param parseGoldenLine reads a value of the JSONL form; the schema is `contracts/golden-files.ts`
 * @throws RecalldError `usage` when format and path do not fit or the format cannot be told, `file_unreadable`,
 * `file_malformed` with file and line, `golden_set_empty`.
 */
export async function readGoldenSet(
  path: string,
  options: ReadGoldenSetOptions,
  parseGoldenLine: ParseGoldenLine,
): Promise<GoldenSetFile> {
  const sources = layOutSources(await inspectPath(path), options);
  const files = new SourceFiles();
  const builder = new GoldenSetBuilder(sha256);
  const meaning: string[] = [sources.format];
  switch (sources.format) {
    case 'csv':
      await readCsv(files, sources.path, builder, options.rowsAsQueries);
      if (options.rowsAsQueries) meaning.push('rows as queries');
      break;
    case 'jsonl':
      await readJsonLines(files, sources.path, builder, parseGoldenLine);
      break;
    case 'beir':
    case 'trec':
      if (sources.note !== null) builder.warnings.note(sources.note);
      await readJudgedQueries(files, sources, builder);
      break;
  }
  return { format: sources.format, ...builder.finish(path), contentHash: files.contentHash(meaning) };
}
