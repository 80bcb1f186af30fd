/** A golden set in the form of a file format, such that importing it gives the same set. */
import { RecalldError } from '../../../errors.ts';
import type { GoldenQuery } from '../../../model.ts';
import { quoted } from '../../../text/source-line.ts';
import type { GoldenFormat } from '../golden-set-file.ts';
import { exportBeir } from './beir.ts';
import { exportCsv } from './csv.ts';
import type { ExportFile } from './export-file.ts';
import { exportJsonLines } from './json-lines.ts';
import { exportTrec } from './trec.ts';

const writers: Readonly<Record<GoldenFormat, (queries: readonly GoldenQuery[]) => ExportFile[]>> = {
  beir: exportBeir,
  trec: exportTrec,
  csv: exportCsv,
  jsonl: exportJsonLines,
};

/**
 * Importing what is returned gives equal ids, texts, tags and grades in the same order; what a format cannot hold is
 * refused, never changed.
 *
 * @throws RecalldError export_impossible, and golden_set_empty for a set without queries
 */
export function exportGoldenSet(queries: readonly GoldenQuery[], format: GoldenFormat): ExportFile[] {
  if (queries.length === 0) {
    throw new RecalldError(
      'golden_set_empty',
      'The golden set holds no queries, so there is nothing to export.',
    );
  }
  const unjudged = queries.find(({ judgments }) => judgments.length === 0);
  if (unjudged !== undefined) {
    throw new RecalldError(
      'export_impossible',
      `The query ${quoted(unjudged.id)} has no judgment, and no format brings such a query back; judge or remove it.`,
    );
  }
  return writers[format](queries);
}
