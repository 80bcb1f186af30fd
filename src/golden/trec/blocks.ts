import { isAscii, isUtf8 } from 'node:buffer';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { RecalldError } from '../../core/errors.ts';
import { signatureProblem } from '../../core/text/file-signature.ts';
import { unreadable } from '../../platform/files/text-file.ts';

/** Size of a block, in bytes. No line may be longer, because a longer line cannot be a judgment or a result. */
const BLOCK_BYTES = 512 * 1024;
const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

const NOTHING = Buffer.alloc(0);

export class Block {
  readonly bytes: Buffer;
  private readonly isAscii: boolean;
  /** Decoded text of an ASCII block. Slicing this text is faster than decoding each slice. */
  private text: string | null = null;

  /** @throws RecalldError `file_malformed` with the line that is not UTF-8 text */
  constructor(bytes: Buffer, path: string, firstLine: number) {
    this.bytes = bytes;
    this.isAscii = isAscii(bytes);
    // Text files contain no NUL characters. The check for NUL characters also detects UTF-16.
    if ((!this.isAscii && !isUtf8(bytes)) || bytes.includes(0)) refuseBytes(bytes, path, firstLine);
  }

  /** Wraps bytes. Slices that are requested from this block must be valid UTF-8. */
  static ofParts(bytes: Buffer): Block {
    const block = new Block(NOTHING, '', 1);
    return Object.assign(block, { bytes, isAscii: false });
  }

  slice(start: number, end: number): string {
    if (!this.isAscii) return this.bytes.toString('utf8', start, end);
    this.text ??= this.bytes.toString('latin1');
    return this.text.slice(start, end);
  }
}

/**
 * Reads the lines of a block; `line` is the number of the first line, from 1. Returns the number of the line that
 * follows the block.
 */
export type BlockHandler = (block: Block, line: number) => number;

/** Reuses the memory of blocks, because the first use of new memory costs more than reading the file. */
export class BlockBuffers {
  private readonly free: Buffer[] = [];

  take(): Buffer {
    return this.free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  /** Makes the memory of blocks available for reuse. The blocks must no longer be in use. */
  giveBack(blocks: readonly Block[]): void {
    for (const { bytes } of blocks) this.free.push(Buffer.from(bytes.buffer));
  }
}

/**
 * Passes every line of a UTF-8 text file to the handler, in order. Apart from the blocks that the handler keeps, only
 * the current block and the next one are in memory. A byte order mark is skipped. The last line may lack a line feed.
 *
 * @throws RecalldError `file_unreadable` if the file cannot be opened or read; `file_malformed` if the file is not
 *   UTF-8 text or has a line longer than 512 KiB; the errors of the handler
 */
export async function forEachBlock(path: string, handle: BlockHandler, buffers = new BlockBuffers()): Promise<void> {
  const file = await readable(path, open(path));
  try {
    let buffer = buffers.take();
    let kept = 0;
    let line = 1;
    let reading = readInto(file, path, buffer, kept);
    for (;;) {
      const bytesRead = await reading;
      const filled = kept + bytesRead;
      const isLast = bytesRead === 0;
      const end = isLast ? filled : buffer.lastIndexOf(LINE_FEED, filled - 1) + 1;
      if (end === 0 && filled === buffer.length) {
        throw malformed(path, line, 'The line is longer than 512 KiB. Use a text file with one entry per line.');
      }
      const start = line === 1 && buffer.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0;
      const bytes = buffer.subarray(start, end);
      if (!isLast) {
        // Reads the next block while the current one is scanned.
        // The next block gets a separate buffer, because the handler may keep the current one.
        const following = buffers.take();
        kept = buffer.copy(following, 0, end, filled);
        buffer = following;
        reading = readInto(file, path, buffer, kept);
        // Prevents an unhandled rejection. The error of the read operation is thrown when `reading` is awaited, unless
        // the handler throws first.
        reading.catch(() => undefined);
      }
      line = handle(new Block(bytes, path, line), line);
      if (isLast) return;
    }
  } finally {
    await file.close();
  }
}

export function malformed(path: string, line: number, what: string): RecalldError {
  return new RecalldError('file_malformed', `${path}, line ${line}: ${what}`);
}

/** Returns the size of a file in bytes. @throws RecalldError `file_unreadable` */
export async function sizeOf(path: string): Promise<number> {
  return (await readable(path, stat(path))).size;
}

/**
 * Reads the next bytes of the file into the buffer, starting at the offset `from`. Returns the number of bytes, which
 * is 0 at the end of the file.
 */
async function readInto(file: FileHandle, path: string, buffer: Buffer, from: number): Promise<number> {
  return (await readable(path, file.read(buffer, from, buffer.length - from, null))).bytesRead;
}

function readable<Result>(path: string, result: Promise<Result>): Promise<Result> {
  return result.catch((error: unknown) => {
    throw unreadable(path, error);
  });
}

/** Throws for the first line that is not UTF-8 text. `bytes` contains only whole lines, so no character is split. */
function refuseBytes(bytes: Buffer, path: string, firstLine: number): never {
  const signature = firstLine === 1 ? signatureProblem(bytes) : null;
  if (signature !== null) throw malformed(path, firstLine, `The file ${signature}.`);
  let line = firstLine;
  let start = 0;
  for (;;) {
    const feed = bytes.indexOf(LINE_FEED, start);
    const part = bytes.subarray(start, feed === -1 ? bytes.length : feed);
    if (feed === -1 || !isUtf8(part) || part.includes(0)) {
      throw malformed(path, line, 'The line is not UTF-8 text. Unpack the file or convert it to UTF-8.');
    }
    start = feed + 1;
    line++;
  }
}
