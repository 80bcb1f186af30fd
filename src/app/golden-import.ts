/** Files -> a new version of a golden set. */
import { readGoldenSet } from '../adapters/files/golden/golden-set-reader.ts';
import { parseGoldenLine } from '../contracts/golden-files.ts';
import type { ReadGoldenSetOptions } from '../core/golden/golden-set-file.ts';
import type { GoldenSets, GoldenSetVersion } from '../ports/golden-sets.ts';

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
