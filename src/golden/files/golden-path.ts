import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { unreadable } from '../../files/text-file.ts';

/** What lies at a path that a user named, and around it; the formats are told apart by it. */
export interface GoldenPath {
  readonly path: string;
  readonly isFolder: boolean;
  /** The path itself, or the folder that its file lies in. */
  readonly folder: string;
  /** The files in the folder, without folders, sorted. */
  readonly names: readonly string[];
  /** The tables in its folder `qrels`, where BEIR keeps one for each split, sorted. */
  readonly splits: readonly string[];
}

/**
 * Looks at the path and lists its folder.
 * @throws RecalldError `file_unreadable` when the path does not exist or its folder cannot be listed.
 */
export async function inspectPath(path: string): Promise<GoldenPath> {
  try {
    const isFolder = (await stat(path)).isDirectory();
    // A file can be readable in a folder that cannot be listed, and most formats need no more than the file.
    if (!isFolder) {
      const folder = dirname(path);
      return { path, isFolder, folder, names: await fileNames(folder).catch(() => []), splits: [] };
    }
    const qrels = join(path, 'qrels');
    const hasSplits = await stat(qrels).then(
      (found) => found.isDirectory(),
      () => false,
    );
    const splits = hasSplits ? (await fileNames(qrels)).filter((name) => name.endsWith('.tsv')) : [];
    return { path, isFolder, folder: path, names: await fileNames(path), splits };
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

async function fileNames(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => entry.name)
    .toSorted();
}
