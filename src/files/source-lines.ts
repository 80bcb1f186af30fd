/** The lines of a text file, each with its place, in bounded memory. */
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { malformed, type SourceLine } from '../text/source-line.ts';
import { unreadable } from './text-file.ts';

const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = '\uFEFF';
const CHUNK_BYTES = 256 * 1024;
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * The lines of a UTF-8 file without their ends (LF or CRLF) and without a byte order mark. They come in batches, so
 * that a file of a million lines is not waited for a million times. Memory is bounded by the longest line, which has
 * at most 16 MiB.
 *
 * @param see is shown every byte of the file, in order
 * @throws RecalldError `file_unreadable`, or `file_malformed` for a line that is too long or not UTF-8.
 */
export async function* sourceLines(
  path: string,
  see: (chunk: Buffer) => void = () => undefined,
): AsyncGenerator<SourceLine[]> {
  yield* linesOf(chunks(path), path, see);
}

/** As sourceLines, of what comes from elsewhere; `name` stands for its path. */
export async function* linesOf(
  source: AsyncIterable<Buffer>,
  name: string,
  see: (chunk: Buffer) => void = () => undefined,
): AsyncGenerator<SourceLine[]> {
  let pieces: Buffer[] = [];
  let length = 0;
  let line = 1;
  for await (const chunk of source) {
    see(chunk);
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    if (end > 0) {
      const lines = decodeLines(Buffer.concat([...pieces, chunk.subarray(0, end)]), name, line);
      line += lines.length;
      pieces = [];
      length = 0;
      yield lines;
    }
    pieces.push(chunk.subarray(end));
    length += chunk.length - end;
    if (length > MAX_LINE_BYTES) {
      throw malformed({ file: name, line }, 'is longer than 16 MiB; break it into lines');
    }
  }
  if (length > 0) yield decodeLines(Buffer.concat(pieces), name, line);
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
