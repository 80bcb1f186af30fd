/** A golden set -> files. */
import { writeExport } from '../../golden/files/golden-set-writer.ts';
import { exportGoldenSet } from '../../golden/rules/export-golden-set.ts';
import type { GoldenFormat, GoldenSetVersion } from '../../golden/rules/golden-set.ts';
import type { GoldenSets } from '../../golden/sql/golden-sets.ts';
import { findVersion } from './golden-sets.ts';

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
