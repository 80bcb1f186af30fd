/** The kinds of faults, one file each in the folder `kinds`. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { FaultKind } from './fault.ts';

const folder = path.join(import.meta.dirname, 'kinds');

/**
 * Returns the kinds of faults, keyed by name.
 *
 * @throws Error for a file that does not export a kind with the file's name
 */
export async function readKinds(): Promise<ReadonlyMap<string, FaultKind>> {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .toSorted();
  const kinds = await Promise.all(
    files.map(async (file) => {
      const { kind } = (await import(path.join(folder, file))) as { kind?: FaultKind };
      if (kind?.name !== path.basename(file, '.ts')) throw new Error(`kinds/${file} exports no \`kind\` of its name.`);
      return [kind.name, kind] as const;
    }),
  );
  return new Map(kinds);
}
