import type { GoldenQuery } from '../../../model.ts';
import { type ExportFile, joinLines } from './export-file.ts';
import { jsonLine } from './json-lines.ts';

/** BEIR: queries.jsonl with the tags as metadata, and qrels/test.tsv. The corpus is not ours to export. */
export function exportBeir(queries: readonly GoldenQuery[]): ExportFile[] {
  const lines = queries.map((query) =>
    jsonLine('BEIR', query, {
      _id: query.id,
      text: query.text,
      ...(Object.keys(query.tags).length === 0 ? {} : { metadata: query.tags }),
    }),
  );
  const judgments = queries.flatMap(({ id, judgments: judged }) =>
    judged.map(({ documentId, grade }) => `${id}\t${documentId}\t${grade}`),
  );
  return [
    { path: 'queries.jsonl', text: joinLines(lines) },
    { path: 'qrels/test.tsv', text: joinLines(['query-id\tcorpus-id\tscore', ...judgments]) },
  ];
}
