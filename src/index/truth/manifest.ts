/**
 * Where the manifest of an index comes from: a file of JSON lines, a program that prints it, an endpoint that gives it
 * page by page, or a query to PostgreSQL.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import process from 'node:process';
import { Client } from 'pg';
import { RecalldError } from '../../core/errors.ts';
import type { SourceLine } from '../../core/text/source-line.ts';
import { linesOf, sourceLines, unreadable } from '../../platform/files/text-file.ts';
import { at, createJsonApi, type HttpServiceConfig, textOf } from '../../platform/outbound/json-api.ts';
import type { ManifestConfig } from './config.ts';

/**
 * Nothing is opened before it is read.
 *
 * @param configField where the config describes it: `pipelines[0].index.manifest`
 * @throws RecalldError config_invalid for an address or a TLS file that cannot be used
 */
export function createManifestSource(config: ManifestConfig, configField: string): ManifestSource {
  switch (config.kind) {
    case 'file':
      return (from) => readFile(config.path, from);
    case 'command':
      return (_, signal) => readCommand(config, configField, signal);
    case 'http': {
      // A wrong address is said at the start, not at the first round.
      createJsonApi(config, manifestAt(configField)).close();
      return (from, signal) => readPages(config, configField, from, signal);
    }
    case 'sql':
      if (!/^postgres(ql)?:\/\//.test(config.url)) {
        throw new RecalldError('config_invalid', `${configField}.url: this is not a postgres:// URL.`);
      }
      return (_, signal) => readQuery(config, configField, signal);
  }
}

/** Some lines of a manifest. */
export interface ManifestPart {
  readonly lines: readonly SourceLine[];
  /** Where reading goes on behind them; null where it can only begin anew. */
  readonly next: string | null;
}

/**
 * Reads all of it, in bounded memory: nothing is asked for before what came is stored.
 *
 * @param from where to go on; what is no such place, or no longer one, begins anew
 * @throws RecalldError manifest_unreadable, file_unreadable, file_malformed; and the reason of `signal`
 */
export type ManifestSource = (from: string | null, signal: AbortSignal) => AsyncIterable<ManifestPart>;

/** Goes on behind the lines that were read, as long as it is the same file. */
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

/** The program waits while what it printed is stored. What it says on its standard error is not read. */
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
    // Its own group, so that what it starts itself ends with it.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  let isOver = false;
  const end = (): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  };
  const timer = setTimeout(() => {
    isOver = true;
    end();
  }, timeoutMs);
  signal.addEventListener('abort', end, { once: true });
  const failed = (reason: string): RecalldError =>
    new RecalldError('manifest_unreadable', `The command of ${configField} ${reason}; run it by hand.`);
  const ended = once(child, 'close');
  // What it fails of is thrown below.
  ended.catch(() => undefined);
  try {
    for await (const lines of linesOf(child.stdout, `the manifest that ${configField} prints`)) {
      yield { lines, next: null };
    }
    const [code] = (await ended.catch((error: NodeJS.ErrnoException) => {
      throw failed(`cannot be started (${error.code ?? 'unknown'})`);
    })) as [number | null];
    signal.throwIfAborted();
    if (isOver) throw failed(`was not done within ${timeoutMs} ms`);
    // A manifest that was cut off would make all that is not in it look deleted.
    if (code !== 0) throw failed(`ended with ${code === null ? 'a signal' : `code ${code}`}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    end();
  }
}

const manifestAt = (configField: string) => ({ service: 'The manifest', configField });

/** Follows `next_cursor`, which goes back as the parameter `cursor`, until it is null or left out. */
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
        const wayOut = `make ${configField}.url answer {"items": [...], "next_cursor": ...}`;
        throw new RecalldError('manifest_unreadable', `The manifest page has no list "items"; ${wayOut}.`);
      }
      const first = line;
      const lines = items.map((item, place) => ({
        file: `the manifest of ${configField}`,
        line: first + place,
        text: JSON.stringify(item),
      }));
      line += lines.length;
      const next = textOf(at(answer.json, 'next_cursor'));
      if (next !== null && next === cursor) {
        throw new RecalldError('manifest_unreadable', `The manifest gives the cursor of the same page again.`);
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

/** Through a cursor of a transaction that cannot write. The text of an error is not shown: it may hold what is in a row. */
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
  // A connection that breaks fails the statement; an error that nobody hears would end the process.
  client.on('error', () => undefined);
  const stop = (): void => void client.end().catch(() => undefined);
  signal.addEventListener('abort', stop, { once: true });
  const asked = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      signal.throwIfAborted();
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      throw new RecalldError('manifest_unreadable', `The query of ${configField} failed${code}; run it by hand.`);
    }
  };
  try {
    await asked(client.connect());
    await asked(client.query('begin read only'));
    const text = query.trim().replace(/;$/, '');
    await asked(
      client.query(`declare manifest no scroll cursor for select to_jsonb(d)::text as line from (${text}) as d`),
    );
    for (let line = 1; ; ) {
      const { rows } = await asked(client.query<{ line: string }>(`fetch ${ROWS} from manifest`));
      if (rows.length === 0) return;
      const first = line;
      const file = `the manifest of ${configField}`;
      yield { lines: rows.map((row, place) => ({ file, line: first + place, text: row.line })), next: null };
      line += rows.length;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    await client.end().catch(() => undefined);
  }
}
