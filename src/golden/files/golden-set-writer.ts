import { join } from 'node:path';
import { writeText } from '../../files/text-file.ts';
import type { ExportFile } from '../rules/export-golden-set.ts';

/**
 * Writes the files of an export to a file, or into a folder, which is made when it is missing.
 *
 * @param replace whether files that are there may be replaced
 * @returns the paths that were written
 * @throws RecalldError `file_unwritable`
 */
export async function writeExport(
  files: readonly ExportFile[],
  out: string,
  replace: boolean,
): Promise<string[]> {
  const written: string[] = [];
  for (const { path, text } of files) {
    const target = path === null ? out : join(out, path);
    await writeText(target, text, replace);
    written.push(target);
  }
  return written;
}
