import { isAscii, isUtf8 } from 'node:buffer';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { RecalldError } from '../../errors.ts';
import { unreadable } from '../../files/text-file.ts';
import { ColumnScanner } from '../../ir/trec-line.ts';

/** Also the longest line: a text file with a longer one is no list of judgments or results. */
const BLOCK_BYTES = 512 * 1024;
const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** A stretch of whole lines of a file. */
export class Block {
  readonly bytes: Buffer;
  private readonly isAscii: boolean;
  /** When each byte is a character and many stretches are asked for: to cut it is faster than to decode each. */
  private text: string | null = null;

  /** @throws RecalldError `file_malformed` at its line, if it is not UTF-8 text */
  constructor(bytes: Buffer, path: string, firstLine: number) {
    this.bytes = bytes;
    this.isAscii = isAscii(bytes);
    // Text holds no NUL, which also unmasks UTF-16.
    if ((!this.isAscii && !isUtf8(bytes)) || bytes.includes(0)) refuseBytes(bytes, path, firstLine);
  }

  /** The text of `bytes[start, end)`. */
  slice(start: number, end: number): string {
    if (!this.isAscii) return this.bytes.toString('utf8', start, end);
    this.text ??= this.bytes.toString('latin1');
    return this.text.slice(start, end);
  }
}

/** Some of the bytes of a file, from a line start to a line start or its end. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** Receives a line that the scanner has just scanned in the block; lines count from 1. */
export type LineHandler = (block: Block, line: number) => void;

/** Memory of blocks, to be used again: what is touched for the first time costs more than the reading. */
export class BlockBuffers {
  private readonly free: Buffer[] = [];

  take(): Buffer {
    return this.free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  /** Takes back what nobody reads any more. */
  giveBack(blocks: readonly Block[]): void {
    for (const { bytes } of blocks) this.free.push(Buffer.from(bytes.buffer));
  }
}

/**
 * Scans every line of a UTF-8 text file in order and hands it over. Beside the blocks that the handler keeps, one block
 * of the file is in memory at a time. A byte order mark is skipped, and the last line needs no line feed.
 *
 * @param range of the lines, counted from its start; left out: all of the file, which may be a pipe
 * @param buffers that the blocks stand in
 * @throws RecalldError `file_unreadable` if the file cannot be opened or read; `file_malformed` if it is not UTF-8
 * text or has a line longer than 512 KiB. What the handler throws passes through.
 */
export async function forEachLine(
  path: string,
  scanner: ColumnScanner,
  handle: LineHandler,
  range?: ByteRange,
  buffers = new BlockBuffers(),
): Promise<void> {
  const file = await openFile(path);
  let position = range?.from ?? 0;
  const read = async (buffer: Buffer, from: number): Promise<number> => {
    const length = Math.min(buffer.length - from, (range?.to ?? Number.POSITIVE_INFINITY) - position);
    const bytes = await readInto(file, path, { buffer, from, length, position: range === undefined ? null : position });
    position += bytes;
    return bytes;
  };
  try {
    let buffer = buffers.take();
    let kept = 0;
    let line = 1;
    let reading = read(buffer, kept);
    for (;;) {
      const bytesRead = await reading;
      const filled = kept + bytesRead;
      const isLast = bytesRead === 0;
      const end = isLast ? filled : buffer.lastIndexOf(LINE_FEED, filled - 1) + 1;
      if (end === 0 && filled === buffer.length) {
        throw malformed(path, line, 'The line is longer than 512 KiB; give a text file with one entry per line.');
      }
      const isFirst = line === 1 && (range?.from ?? 0) === 0;
      const start = isFirst && buffer.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0;
      const bytes = buffer.subarray(start, end);
      if (!isLast) {
        // Whoever keeps the block keeps its bytes. The next one is read while this one is scanned.
        const following = buffers.take();
        kept = buffer.copy(following, 0, end, filled);
        buffer = following;
        reading = read(buffer, kept);
        // It throws where it is awaited, if the handler does not throw before.
        reading.catch(() => undefined);
      }
      const block = new Block(bytes, path, line);
      for (let next = 0; next < bytes.length; line++) {
        next = scanner.scan(bytes, next);
        handle(block, line);
      }
      if (isLast) return;
    }
  } finally {
    await file.close();
  }
}

/** `file_malformed` at a line of a file; `what` says what is wrong and the way out. */
export function malformed(path: string, line: number, what: string): RecalldError {
  return new RecalldError('file_malformed', `${path}, line ${line}: ${what}`);
}

/** How much of a file is read to find where one query ends and the next begins. */
const CUT_BYTES = 64 * 1024;

/** Where a line starts, near the middle of a file, whose first column is not that of the line before; null: nowhere near. */
export async function middleOf(path: string, size: number): Promise<number | null> {
  const file = await openFile(path);
  try {
    const position = Math.floor(size / 2);
    const buffer = Buffer.allocUnsafe(CUT_BYTES);
    const filled = await readInto(file, path, { buffer, from: 0, length: buffer.length, position });
    const bytes = buffer.subarray(0, buffer.lastIndexOf(LINE_FEED, filled - 1) + 1);
    const scanner = new ColumnScanner(1, 'blanks');
    let before: Buffer | null = null;
    // The first line began before the middle.
    for (let start = bytes.indexOf(LINE_FEED) + 1; start > 0 && start < bytes.length; ) {
      const next = scanner.scan(bytes, start);
      const first = bytes.subarray(scanner.starts[0], scanner.ends[0]);
      if (scanner.count > 0) {
        if (before !== null && !first.equals(before)) return position + start;
        before = first;
      }
      start = next;
    }
    return null;
  } finally {
    await file.close();
  }
}

/** In bytes. @throws RecalldError `file_unreadable` */
export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path);
  } catch (error) {
    throw unreadable(path, error);
  }
}

interface Reading {
  readonly buffer: Buffer;
  /** Where in the buffer. */
  readonly from: number;
  readonly length: number;
  /** Where in the file; null: behind what was read last. */
  readonly position: number | null;
}

async function readInto(file: FileHandle, path: string, to: Reading): Promise<number> {
  const { buffer, from, length, position } = to;
  try {
    return (await file.read(buffer, from, length, position)).bytesRead;
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** `bytes` are whole lines, so no character is cut in two. */
function refuseBytes(bytes: Buffer, path: string, firstLine: number): never {
  let line = firstLine;
  let start = 0;
  for (;;) {
    const feed = bytes.indexOf(LINE_FEED, start);
    const part = bytes.subarray(start, feed === -1 ? bytes.length : feed);
    if (feed === -1 || !isUtf8(part) || part.includes(0)) {
      throw malformed(path, line, 'This is not UTF-8 text; unpack the file or convert it to UTF-8.');
    }
    start = feed + 1;
    line++;
  }
}
