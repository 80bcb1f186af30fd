import { malformed, parseJson } from '../../text/source-line.ts';
import type { ParseGoldenLine } from '../rules/golden-set.ts';
import type { GoldenSetBuilder } from '../rules/golden-set-builder.ts';
import { eachLine, type SourceFiles } from './source-files.ts';

/**
 * Adds one query with its judgments for each line that is not empty.
 * @throws RecalldError `file_unreadable`, `file_malformed`.
 */
export async function readJsonLines(
  files: SourceFiles,
  path: string,
  builder: GoldenSetBuilder,
  parseGoldenLine: ParseGoldenLine,
): Promise<void> {
  await eachLine(files.lines(path, 'lines'), (line) => {
    const result = parseGoldenLine(parseJson(line));
    if (!result.ok) throw malformed(line, result.problem);
    const id = builder.addQuery(result.line, line, 'reject');
    for (const { documentId, grade } of result.line.judgments)
      builder.addJudgment(id, documentId, grade, line);
  });
}
