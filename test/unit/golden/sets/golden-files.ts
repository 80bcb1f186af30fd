import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RecalldError } from '../../../../src/core/errors.ts';
import type { ReadGoldenSetOptions } from '../../../../src/golden/rules/golden-set.ts';
import { type GoldenSetFile, readGoldenSet } from '../../../../src/golden/sets/import-golden-set.ts';

export type Files = Readonly<Record<string, string | Uint8Array>>;

/** Returns the path of a file or folder in test/fixtures/golden. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`../../../fixtures/golden/${name}`, import.meta.url));
}

/** Writes the files into a temporary folder, and removes the folder after use. */
export async function withFiles<T>(files: Files, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'recalld-golden-'));
  try {
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), content);
    }
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reads the path as `golden import` does. */
export function read(path: string, options: Partial<ReadGoldenSetOptions> = {}): Promise<GoldenSetFile> {
  return readGoldenSet(path, { format: 'auto', rowsAsQueries: false, ...options });
}

/** Writes the files into a temporary folder, and reads the file `name` (`.`: the whole folder). */
export function readFiles(
  files: Files,
  name: string,
  options: Partial<ReadGoldenSetOptions> = {},
): Promise<GoldenSetFile> {
  return withFiles(files, (folder) => read(join(folder, name), options));
}

/** Returns the error with which the files are refused; paths in the message are relative to the files' folder. */
export function refusal(
  files: Files,
  name: string,
  options: Partial<ReadGoldenSetOptions> = {},
): Promise<{ readonly code: string; readonly message: string }> {
  return withFiles(files, async (folder) => {
    try {
      await read(join(folder, name), options);
    } catch (error) {
      if (!(error instanceof RecalldError)) throw error;
      return {
        code: error.code,
        message: error.message.replaceAll(`${folder}/`, '').replaceAll(folder, 'FOLDER'),
      };
    }
    throw new Error('The files were read.');
  });
}
