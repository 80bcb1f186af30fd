import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../../core/errors.ts';

/**
 * Creates a folder and its missing parents. Node's recursive `mkdir` never returns for a path such as /proc/x/y, where
 * a folder cannot be created although its parent exists.
 *
 * @throws the file system's error
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  try {
    await mkdirOnce(path, mode);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    // Tries again even if the parent already exists, because another caller may just have created it.
    if (!(await isFolder(dirname(path)))) await makeFolder(dirname(path), mode);
    await mkdirOnce(path, mode);
  }
}

async function mkdirOnce(path: string, mode?: number): Promise<void> {
  try {
    await mkdir(path, mode);
  } catch (error) {
    if (!(await isFolder(path))) throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found?.isDirectory() === true;
}
