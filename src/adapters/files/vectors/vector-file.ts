import { open } from 'node:fs/promises';
import { RecalldError } from '../../../core/errors.ts';
import type { Matrix } from '../../../core/vector/matrix.ts';
import { unreadable } from '../system-failure.ts';
import { readVectorLines } from './json-lines.ts';
import { readNpy } from './npy.ts';
import { NPY_MAGIC } from './npy-header.ts';

/**
 * The vectors of a file, one per row: NumPy's .npy (2-d, float32 or float64, C order), told by its first bytes, else
 * JSONL with one array of numbers on each line. Rows are float32; each has a direction.
 *
 * @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and the row or line
 */
export async function readVectors(path: string): Promise<Matrix> {
  const fromNpy = await readIfNpy(path);
  return fromNpy ?? (await readVectorLines(path));
}

/** Null when the file is none. A pipe is not touched: it could not be read a second time. */
async function readIfNpy(path: string): Promise<Matrix | null> {
  try {
    const file = await open(path);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) return null;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(NPY_MAGIC.length), 0, NPY_MAGIC.length, 0);
      if (buffer.subarray(0, bytesRead).equals(NPY_MAGIC)) return await readNpy(file, path);
      if (!path.endsWith('.npy')) return null;
      throw new RecalldError(
        'file_malformed',
        `${path} does not begin as a .npy file does; save it with numpy.save, or name a JSONL file otherwise.`,
      );
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (cause instanceof RecalldError || !isSystemError(cause)) throw cause;
    throw unreadable(path, cause);
  }
}

function isSystemError(cause: unknown): boolean {
  return cause instanceof Error && 'syscall' in cause;
}
