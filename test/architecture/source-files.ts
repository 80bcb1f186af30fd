/** The files of the repository as text, for rules about what stands in them. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

export interface SourceFile {
  /** From the root of the repository, with slashes: `src/core/model.ts`. */
  readonly path: string;
  readonly text: string;
}

/** Every TypeScript file of a folder such as `src/core`, in the order of their paths. */
export function sourceFiles(folder: string): SourceFile[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((name) => ({
      path: `${folder}/${name.replaceAll(path.sep, '/')}`,
      text: readFileSync(path.join(root, folder, name), 'utf8'),
    }));
}
