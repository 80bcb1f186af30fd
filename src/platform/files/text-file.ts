/**
 * Reads and writes text files. Small files are processed as a whole; large files are processed line by line in bounded
 * memory. A state file records the steps of work that can be interrupted, one JSON line per step.
 */

import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import {
  appendFile,
  constants,
  copyFile,
  link,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, RecalldError } from '../../core/errors.ts';
import { signatureProblem } from '../../core/text/file-signature.ts';
import { malformed, type SourceLine } from '../../core/text/source-line.ts';
import { makeFolder } from './folder.ts';

const readReasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist; check the path',
  EISDIR: 'is a folder; specify a file',
  EACCES: 'is not readable; check its permissions',
};

const writeReasons: Readonly<Record<string, string>> = {
  EEXIST: 'already exists; use another path or add --force',
  EISDIR: 'is a folder; specify a file',
  ENOTDIR: 'is inside a file instead of a folder; use another path',
  EACCES: 'is not writable; check its permissions',
  ENOSPC: 'could not be written because the disk is full; free some space',
};

export function unreadable(path: string, cause: unknown): RecalldError {
  const reason = reasonOf(cause, readReasons, (code) => `could not be read (${code}); check the path`);
  return new RecalldError('file_unreadable', `${path} ${reason}.`, { cause });
}

export function unwritable(path: string, cause: unknown): RecalldError {
  const reason = reasonOf(cause, writeReasons, (code) => `could not be written (${code}); use another path`);
  return new RecalldError('file_unwritable', `${path} ${reason}.`, { cause });
}

function reasonOf(
  cause: unknown,
  reasons: Readonly<Record<string, string>>,
  otherwise: (code: string) => string,
): string {
  const code = codeOf(cause) || String(cause);
  return reasons[code] ?? otherwise(code);
}

/** @throws RecalldError `file_unreadable` */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** @throws RecalldError `file_unwritable` */
export async function writeText(path: string, text: string, replace: boolean): Promise<void> {
  try {
    await makeFolder(dirname(path));
    await writeFile(path, text, { flag: replace ? 'w' : 'wx' });
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

/**
 * Writes either all of the files or none: each file has a temporary name until all are complete.
 *
 * @throws RecalldError `file_unwritable`, and the abort reason of the signal
 */
export async function writeTexts(
  files: readonly { readonly path: string; readonly text: string }[],
  replace: boolean,
  signal: AbortSignal,
): Promise<void> {
  const parts: { readonly path: string; readonly target: string; readonly part: string }[] = [];
  const placed: string[] = [];
  try {
    for (const { path, text } of files) {
      const found = await stat(path).catch(() => null);
      if (found !== null && (!replace || !found.isFile())) {
        // Writes to pipes and terminals directly, without a temporary file. `writeText` rejects a folder and, unless
        // `replace` is set, an existing file.
        await writeText(path, text, replace);
        continue;
      }
      const target = await realpath(path).catch(() => path);
      const part = `${target}.${process.pid}.part`;
      parts.push({ path, target, part });
      await writeText(part, text, true).catch((error: unknown) => {
        throw unwritable(path, error instanceof RecalldError ? error.cause : error);
      });
      signal.throwIfAborted();
    }
    for (const { path, target, part } of parts) {
      await (replace ? rename(part, target) : place(part, target)).catch((cause: unknown) => {
        throw unwritable(path, cause);
      });
      if (!replace) placed.push(target);
    }
  } catch (error) {
    await Promise.all(placed.map((path) => rm(path, { force: true })));
    throw error;
  } finally {
    await Promise.all(parts.map(({ part }) => rm(part, { force: true })));
  }
}

/**
 * Gives a file its final name, unless a file with that name exists. Uses a hard link, or a copy if hard links are not
 * supported.
 */
async function place(part: string, target: string): Promise<void> {
  await link(part, target).catch((error: unknown) => {
    if (['EEXIST', 'ENOENT'].includes(codeOf(error))) throw error;
    return copyFile(part, target, constants.COPYFILE_EXCL);
  });
}

const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = '\uFEFF';
const CHUNK_BYTES = 256 * 1024;
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Yields the lines of a UTF-8 file, without line endings (LF or CRLF) and without a byte order mark at the start of a
 * line. Yields batches, because awaiting each of a million lines would be slow. Memory is bounded by the longest line,
 * at most 16 MiB.
 *
 * @param see receives every byte of the file, in order
 * @throws RecalldError `file_unreadable`, or `file_malformed` if a line is too long or not UTF-8.
 */
export async function* sourceLines(
  path: string,
  see: (chunk: Buffer) => void = () => undefined,
): AsyncGenerator<SourceLine[]> {
  yield* linesOf(chunks(path), path, see);
}

/** Like sourceLines, but for a source other than a file; `name` replaces the path. */
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
      throw malformed({ file: name, line }, 'is longer than 16 MiB; split it into lines');
    }
  }
  if (length > 0) yield decodeLines(Buffer.concat(pieces), name, line);
}

function decodeLines(block: Buffer, file: string, first: number): SourceLine[] {
  const signature = first === 1 ? signatureProblem(block) : null;
  if (signature !== null) throw malformed({ file, line: first }, signature);
  if (!isUtf8(block)) {
    throw malformed({ file, line: first + firstBadLine(block) }, 'is not UTF-8; save the file as UTF-8');
  }
  const text = block.toString('utf8');
  const texts = text.split('\n');
  if (texts.at(-1) === '') texts.pop();
  return texts.map((line, index) => ({
    file,
    line: first + index,
    // Concatenated files have a byte order mark where each file starts.
    text: line.slice(line.startsWith(BYTE_ORDER_MARK) ? 1 : 0, line.endsWith('\r') ? -1 : undefined),
  }));
}

/**
 * Returns the index of the first line that is not UTF-8. A line feed is never part of a multi-byte character, so each
 * line can be checked separately.
 */
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

/**
 * Returns functions that read and write a state file. Does not read the file yet. The functions throw RecalldError
 * `file_unreadable` and `file_unwritable`.
 */
export function createStateFile(path: string) {
  return {
    path,
    /** Returns the stored values; null if there is no file. Ignores an incomplete last line. */
    async read(): Promise<unknown[] | null> {
      const text = await readFile(path, 'utf8').catch((cause: unknown) => {
        if (codeOf(cause) === 'ENOENT') return null;
        throw unreadable(path, cause);
      });
      return text === null ? null : text.split('\n').flatMap(parsed);
    },
    /** Replaces the file's content with these values. */
    async start(values: readonly unknown[]): Promise<void> {
      await writeText(path, values.map((value) => `${JSON.stringify(value)}\n`).join(''), true);
    },
    /** Appends a value. The value has been written when the promise resolves. */
    async add(value: unknown): Promise<void> {
      await appendFile(path, `${JSON.stringify(value)}\n`).catch((cause: unknown) => {
        throw unwritable(path, cause);
      });
    },
    remove: (): Promise<void> => rm(path, { force: true }),
  };
}

function parsed(line: string): unknown[] {
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}
