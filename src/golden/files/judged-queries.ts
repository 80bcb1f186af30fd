import { extname } from 'node:path';
import type { GoldenSetBuilder } from '../rules/golden-set-builder.ts';
import { parseCorpusId, parseQrelsLine, parseQueryObject, parseQueryRow } from '../rules/judgment-lines.ts';
import { eachLine, type SourceFiles } from './source-files.ts';
import type { JudgedQueriesSources } from './source-layout.ts';

/**
 * Reads queries and judgments that lie in two files, BEIR's or TREC's. Of a corpus only the ids are read, to tell
 * how many judged documents it lacks.
 * @throws RecalldError `file_unreadable`, `file_malformed`.
 */
export async function readJudgedQueries(
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
