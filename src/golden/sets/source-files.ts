/** The files of a golden set as they are read and hashed. */
import { createHash, type Hash } from 'node:crypto';
import { sourceLines } from '../../files/source-lines.ts';
import type { SourceLine } from '../../text/source-line.ts';

export type SourceRole = 'queries' | 'qrels' | 'corpus' | 'table' | 'lines';

/** Goes into every content hash; raise it when the same bytes come to mean another golden set. */
const MEANING_VERSION = 1;

/** The files of one golden set. Each is read once, so that what is hashed is what was parsed. */
export class SourceFiles {
  readonly #read: { readonly role: SourceRole; readonly hash: Hash }[] = [];

  /**
   * The lines of a file, see `sourceLines`.
   * @throws RecalldError `file_unreadable`, or `file_malformed` for a line that is too long or not UTF-8.
   */
  lines(path: string, role: SourceRole): AsyncGenerator<SourceLine[]> {
    const hash = createHash('sha256');
    this.#read.push({ role, hash });
    return sourceLines(path, (chunk) => hash.update(chunk));
  }

  /**
   * SHA-256, hex, over the bytes of every file read, each with its role, and over `meaning`, the choices that change
   * what the bytes say. To be called once, when every file has been read to its end.
   */
  contentHash(meaning: readonly string[]): string {
    const files = this.#read.map(({ role, hash }) => [role, hash.digest('hex')]);
    return sha256(JSON.stringify([MEANING_VERSION, meaning, files]));
  }
}

/** Calls `use` for each line that holds more than white space, in order. */
export async function eachLine(
  batches: AsyncIterable<readonly SourceLine[]>,
  use: (line: SourceLine) => void,
): Promise<void> {
  for await (const lines of batches) {
    for (const line of lines) {
      if (line.text.trim() !== '') use(line);
    }
  }
}

/** SHA-256 of the text, hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
