/** The repository's files as text, for rules about their content. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

export interface SourceFile {
  /** Path from the repository root, with slashes: `src/core/model.ts`. */
  readonly path: string;
  readonly text: string;
}

/** Every TypeScript file in a folder such as `src/core`, in path order. */
export function sourceFiles(folder: string): SourceFile[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((name) => ({
      path: `${folder}/${name.replaceAll(path.sep, '/')}`,
      text: readFileSync(path.join(root, folder, name), 'utf8'),
    }));
}
