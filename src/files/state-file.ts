/** The state of work that may be interrupted: a line of JSON for each step, added as soon as the step is done. */
import { appendFile, readFile, rm } from 'node:fs/promises';
import { unreadable, unwritable, writeText } from './text-file.ts';

export interface StateFile {
  readonly path: string;
  /** The values of earlier work, without a last line that was cut off; null when there is no file. */
  read(): Promise<unknown[] | null>;
  /** Starts anew with these values. */
  start(values: readonly unknown[]): Promise<void>;
  /** Adds a value; it is in the file when this resolves. */
  add(value: unknown): Promise<void>;
  remove(): Promise<void>;
}

/** Nothing is read or written before the first call. Methods throw RecalldError `file_unreadable`, `file_unwritable`. */
export function createStateFile(path: string): StateFile {
  return {
    path,
    async read() {
      const text = await readFile(path, 'utf8').catch((cause: unknown) => {
        if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null;
        throw unreadable(path, cause);
      });
      return text === null ? null : text.split('\n').flatMap(parsed);
    },
    async start(values) {
      await writeText(path, values.map((value) => `${JSON.stringify(value)}\n`).join(''), true);
    },
    async add(value) {
      await appendFile(path, `${JSON.stringify(value)}\n`).catch((cause: unknown) => {
        throw unwritable(path, cause);
      });
    },
    remove: () => rm(path, { force: true }),
  };
}

function parsed(line: string): unknown[] {
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}
