import { isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { RecalldError } from '../../../core/errors.ts';
import { malformed, type SourceLine } from '../../../core/golden/source-line.ts';

export type SourceRole = 'queries' | 'qrels' | 'corpus' | 'table' | 'lines';

const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = '\uFEFF';
const CHUNK_BYTES = 256 * 1024;
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Goes into every content hash; raise it when the same bytes come to mean another golden set. */
const MEANING_VERSION = 1;

/** The files of one golden set. Each is read once, so that what is hashed is what was parsed. */
export class SourceFiles {
  readonly #read: { readonly role: SourceRole; readonly hash: Hash }[] = [];

  /**
   * The lines of a UTF-8 file without their ends (LF or CRLF) and without a byte order mark, in batches, for a file
   * of a million lines would otherwise wait a million times. Memory is bounded by a line, which is at most 16 MiB.
   * @throws RecalldError `file_unreadable`, or `file_malformed` for a line that is too long or not UTF-8.
   */
  async *lines(path: string, role: SourceRole): AsyncGenerator<SourceLine[]> {
    const hash = createHash('sha256');
    this.#read.push({ role, hash });
    let pieces: Buffer[] = [];
    let length = 0;
    let line = 1;
    for await (const chunk of chunks(path)) {
      hash.update(chunk);
      const end = chunk.lastIndexOf(LINE_FEED) + 1;
      if (end > 0) {
        const lines = decodeLines(Buffer.concat([...pieces, chunk.subarray(0, end)]), path, line);
        line += lines.length;
        pieces = [];
        length = 0;
        yield lines;
      }
      pieces.push(chunk.subarray(end));
      length += chunk.length - end;
      if (length > MAX_LINE_BYTES) {
        throw malformed({ file: path, line }, 'is longer than 16 MiB; break it into lines');
      }
    }
    if (length > 0) yield decodeLines(Buffer.concat(pieces), path, line);
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

/** The error for a file that the operating system does not give. */
export function unreadable(path: string, cause: unknown): RecalldError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const reasons: Record<string, string> = {
    ENOENT: 'does not exist; check the path',
    EISDIR: 'is a folder; name a file',
    EACCES: 'may not be read; check its permissions',
  };
  const reason = reasons[String(code)] ?? `cannot be read (${String(code ?? cause)}); check the path`;
  return new RecalldError('file_unreadable', `${path} ${reason}.`, { cause });
}

function decodeLines(block: Buffer, file: string, first: number): SourceLine[] {
  if (!isUtf8(block)) {
    throw malformed({ file, line: first + firstBadLine(block) }, 'is not UTF-8; save the file as UTF-8');
  }
  const text = block.toString('utf8');
  const texts = text.slice(first === 1 && text.startsWith(BYTE_ORDER_MARK) ? 1 : 0).split('\n');
  if (texts.at(-1) === '') texts.pop();
  return texts.map((line, index) => ({
    file,
    line: first + index,
    text: line.endsWith('\r') ? line.slice(0, -1) : line,
  }));
}

/** Index of the first line that is not UTF-8. A line feed is never a part of a longer character, so lines can be tried alone. */
function firstBadLine(block: Buffer): number {
  let index = 0;
  let start = 0;
  for (let end = block.indexOf(LINE_FEED); end !== -1; end = block.indexOf(LINE_FEED, start)) {
    if (!isUtf8(block.subarray(start, end))) break;
    index += 1;
    start = end + 1;
  }
  return index;
}

async function* chunks(path: string): AsyncGenerator<Buffer> {
  try {
    const stream: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: CHUNK_BYTES });
    for await (const chunk of stream) yield chunk;
  } catch (cause) {
    throw unreadable(path, cause);
  }
}
