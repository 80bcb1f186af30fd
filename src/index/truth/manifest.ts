import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import process from 'node:process';
import { Client } from 'pg';
import { RecalldError } from '../../core/errors.ts';
import type { SourceLine } from '../../core/text/source-line.ts';
import type { HttpServiceConfig } from '../../platform/config/connection.ts';
import { linesOf, sourceLines, unreadable } from '../../platform/files/text-file.ts';
import { at, createJsonApi, textOf } from '../../platform/outbound/json-api.ts';
import type { ManifestConfig } from './config.ts';

/**
 * Creates a manifest source. The manifest itself is opened only at the first read.
 *
 * @param configField config field of the manifest: `pipelines[0].index.manifest`
 * @throws RecalldError config_invalid for an unusable address or TLS file
 */
export function createManifestSource(config: ManifestConfig, configField: string): ManifestSource {
  switch (config.kind) {
    case 'file':
      return (from) => readFile(config.path, from);
    case 'command':
      return (_, signal) => readCommand(config, configField, signal);
    case 'http': {
      // Reports an invalid address at startup instead of in the first round.
      createJsonApi(config, manifestAt(configField)).close();
      return (from, signal) => readPages(config, configField, from, signal);
    }
    case 'sql':
      if (!/^postgres(ql)?:\/\//.test(config.url)) {
        throw new RecalldError('config_invalid', `${configField}.url: must be a postgres:// URL.`);
      }
      return (_, signal) => readQuery(config, configField, signal);
  }
}

export interface ManifestPart {
  readonly lines: readonly SourceLine[];
  /** Position after these lines, from which reading can continue; null if reading can only start over. */
  readonly next: string | null;
}

/**
 * Reads the manifest in bounded memory: requests the next part only after the previous part is stored.
 *
 * @param from position to continue from; if the position is unknown or expired, reading starts over
 * @throws RecalldError manifest_unreadable, file_unreadable, file_malformed; and the reason of `signal`
 */
export type ManifestSource = (from: string | null, signal: AbortSignal) => AsyncIterable<ManifestPart>;

/** Continues after the lines that were already read, if the file is unchanged. */
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

type CommandConfig = Extract<ManifestConfig, { readonly kind: 'command' }>;

/**
 * Reads the output of a program. While recalld stores lines, it reads no further output, so the program waits once the
 * pipe is full. Ignores the program's standard error.
 */
export async function* readCommand(
  { command: [program = '', ...args], directory, environment, timeout_ms: timeoutMs }: CommandConfig,
  configField: string,
  signal: AbortSignal,
): AsyncGenerator<ManifestPart> {
  signal.throwIfAborted();
  const child = spawn(program, args, {
    ...(directory === undefined ? {} : { cwd: directory }),
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
    // Runs the program in a separate process group, so that recalld can end its child processes too.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  let isTimedOut = false;
  const end = (): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  };
  const timer = setTimeout(() => {
    isTimedOut = true;
    end();
  }, timeoutMs);
  signal.addEventListener('abort', end, { once: true });
  const failed = (reason: string): RecalldError =>
    new RecalldError(
      'manifest_unreadable',
      `The command of ${configField} ${reason}. Run the command manually to see its output.`,
    );
  const ended = once(child, 'close');
  // If the program fails, the error is thrown below.
  ended.catch(() => undefined);
  try {
    for await (const lines of linesOf(child.stdout, `the manifest that ${configField} prints`)) {
      yield { lines, next: null };
    }
    const [code] = (await ended.catch((error: NodeJS.ErrnoException) => {
      throw failed(`could not be started (${error.code ?? 'unknown'})`);
    })) as [number | null];
    signal.throwIfAborted();
    if (isTimedOut) throw failed(`did not finish within ${timeoutMs} ms`);
    // Rejects the output of a failed program, because documents that the program did not print would look deleted.
    if (code !== 0) throw failed(code === null ? 'was terminated by a signal' : `exited with code ${code}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    end();
  }
}

function numbered(configField: string, first: number, texts: readonly string[]): SourceLine[] {
  return texts.map((text, place) => ({ file: `the manifest of ${configField}`, line: first + place, text }));
}

const manifestAt = (configField: string) => ({ service: 'The manifest', configField });

/** Follows `next_cursor`, which is sent as the parameter `cursor`, until it is null or absent. */
export async function* readPages(
  config: HttpServiceConfig,
  configField: string,
  from: string | null,
  signal: AbortSignal,
): AsyncGenerator<ManifestPart> {
  const api = createJsonApi(config, manifestAt(configField));
  try {
    for (let cursor = from, line = 1; ; ) {
      const query: Record<string, string> = cursor === null ? {} : { cursor };
      const answer = await api.call({ method: 'GET', path: '', query, purpose: 'page' }, signal);
      if (answer.kind === 'failed') throw new RecalldError('manifest_unreadable', answer.message);
      const items = at(answer.json, 'items');
      if (!Array.isArray(items)) {
        const fix = `${configField}.url must return {"items": [...], "next_cursor": ...}`;
        throw new RecalldError('manifest_unreadable', `The manifest page has no "items" array; ${fix}.`);
      }
      const lines = numbered(
        configField,
        line,
        items.map((item) => JSON.stringify(item)),
      );
      line += lines.length;
      const next = textOf(at(answer.json, 'next_cursor'));
      if (next !== null && next === cursor) {
        throw new RecalldError('manifest_unreadable', `The manifest returned the same next_cursor twice.`);
      }
      cursor = next;
      yield { lines, next };
      if (next === null || next === '') return;
    }
  } finally {
    api.close();
  }
}

type SqlConfig = Extract<ManifestConfig, { readonly kind: 'sql' }>;

const ROWS = 5000;

/**
 * Reads the rows of a query through a cursor in a read-only transaction. Errors omit the message of the database,
 * because it may contain row data.
 */
export async function* readQuery(
  { url, query, timeout_ms: timeoutMs }: SqlConfig,
  configField: string,
  signal: AbortSignal,
): AsyncGenerator<ManifestPart> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    statement_timeout: timeoutMs,
    application_name: 'recalld manifest',
  });
  // The listener ignores the event, because a broken connection also makes the statement fail. Without a listener, the
  // `error` event would end the process.
  client.on('error', () => undefined);
  const stop = (): void => void client.end().catch(() => undefined);
  signal.addEventListener('abort', stop, { once: true });
  const run = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      signal.throwIfAborted();
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      throw new RecalldError(
        'manifest_unreadable',
        `The query of ${configField} failed${code}. Run the query manually to see the error.`,
      );
    }
  };
  try {
    await run(client.connect());
    await run(client.query('begin read only'));
    const text = query.trim().replace(/;$/, '');
    await run(
      client.query(`declare manifest no scroll cursor for select to_jsonb(d)::text as line from (${text}) as d`),
    );
    for (let line = 1; ; ) {
      const { rows } = await run(client.query<{ line: string }>(`fetch ${ROWS} from manifest`));
      if (rows.length === 0) return;
      const texts = rows.map((row) => row.line);
      yield { lines: numbered(configField, line, texts), next: null };
      line += rows.length;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    await client.end().catch(() => undefined);
  }
}
