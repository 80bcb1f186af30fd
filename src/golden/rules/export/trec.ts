import type { GoldenQuery } from '../../../model.ts';
import { cannotHold, type ExportFile, joinLines } from './export-file.ts';

const otherFormat = 'use --format jsonl, beir or csv';

/**
 * TREC: queries.tsv (id, tab, text) and qrels.txt (query, 0, document, grade).
 *
 * @throws RecalldError export_impossible for tags, for a text with a tab or a line break, and for an id with a space
 */
export function exportTrec(queries: readonly GoldenQuery[]): ExportFile[] {
  for (const query of queries) refuse(query);
  const rows = queries.map(({ id, text }) => `${id}\t${text}`);
  // Without a header of its own, a first query that reads like one would be taken for it.
  const header = isHeader(queries[0]) ? ['query_id\ttext'] : [];
  const judgments = queries.flatMap(({ id, judgments: judged }) =>
    judged.map(({ documentId, grade }) => `${id}\t0\t${documentId}\t${grade}`),
  );
  return [
    { path: 'queries.tsv', text: joinLines([...header, ...rows]) },
    { path: 'qrels.txt', text: joinLines(judgments) },
  ];
}

function refuse({ id, text, tags, judgments }: GoldenQuery): void {
  const [tag] = Object.keys(tags);
  if (tag !== undefined) {
    throw cannotHold(
      'TREC',
      id,
      `it has the tag ${JSON.stringify(tag)}`,
      `${otherFormat}, or add --drop-tags`,
    );
  }
  if (/[\t\n]/.test(text)) {
    throw cannotHold('TREC', id, 'its text has a tab or a line break', otherFormat);
  }
  const spaced = [id, ...judgments.map(({ documentId }) => documentId)].find((name) => name.includes(' '));
  if (spaced !== undefined) {
    const problem = `the id ${JSON.stringify(spaced)} has a space, which ends a column`;
    throw cannotHold('TREC', id, problem, otherFormat);
  }
}

function isHeader(query: GoldenQuery | undefined): boolean {
  return query !== undefined && /^_?q(uery)?[-_ ]?id$|^_?id$/i.test(query.id);
}
