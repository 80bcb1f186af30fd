/** A manifest in a file of JSON lines. */
import { stat } from 'node:fs/promises';
import { sourceLines } from '../../files/source-lines.ts';
import { unreadable } from '../../files/text-file.ts';
import type { ManifestPart } from './source.ts';

/** Goes on behind the lines that were read, as long as it is the same file. */
export async function* readFile(path: string, from: string | null): AsyncGenerator<ManifestPart> {
  const { size, mtimeMs } = await stat(path).catch((cause: unknown) => {
    throw unreadable(path, cause);
  });
  const file = `${size} ${mtimeMs}`;
  const [, known, read] = /^(.*) (\d+)$/.exec(from ?? '') ?? [];
  const skipped = known === file ? Number(read) : 0;
  for await (const lines of sourceLines(path)) {
    const last = lines.at(-1)?.line ?? 0;
    if (last > skipped) yield { lines: lines.filter(({ line }) => line > skipped), next: `${file} ${last}` };
  }
}
