import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Copies a folder, and preserves the owners of its files, who may be other users. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await execute('cp', ['-a', from, to]);
}
