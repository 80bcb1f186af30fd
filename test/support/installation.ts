/**
 * An installed recalld: a folder with its config, and its own migrated database on the tests' shared PostgreSQL.
 *
 *   const { recalld, serve, query } = await anInstallation({ 'recalld.yaml': '...', 'faq.csv': '...' });
 *   await recalld('golden import faq.csv --set faq');           // {code, stdout, stderr}
 *   const daemon = await serve();                               // a ready process
 *   const response = await daemon.fetch('/v1/pipelines');       // with a key for every scope
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { PoolConfig, QueryResultRow } from 'pg';
import { inject, onTestFinished } from 'vitest';
import { apiOf, type CallApi } from './api.ts';
import {
  createDatabase,
  type DatabaseConnection,
  type DatabaseContent,
  type OwnDatabase,
  queryDatabase,
  urlOf,
} from './database.ts';
import { silentLogger } from './log.ts';
import {
  type AtEnd,
  aFolder,
  type Daemon,
  type Finished,
  type Running,
  runRecalld,
  spawnRecalld,
  startRecalld,
} from './recalld.ts';

export interface InstalledDaemon extends Daemon {
  /** An API key with every scope. */
  readonly apiKey: string;
  /** Fetches a path of the daemon, with a key that has every scope, unless the headers contain another key. */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>;
  /** Calls the JSON API with the same key, and checks each response against the contract. */
  readonly call: CallApi;
  /** Sends one JSON document. Returns the status and body of the response. */
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Answer>;
  /** The /metrics page. */
  readonly metrics: () => Promise<string>;
}

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export interface Installation {
  readonly folder: string;
  readonly connection: DatabaseConnection;
  /** Runs a command to completion: `line` contains its words, and `more` contains the arguments with spaces. */
  readonly recalld: (line: string, ...more: readonly string[]) => Promise<Finished>;
  /** Runs a command with `--json`, and returns the parsed output. */
  readonly json: <T = unknown>(line: string, ...more: readonly string[]) => Promise<T>;
  /** Starts a command in a separate process. */
  readonly spawn: (line: string) => Running;
  readonly serve: (...args: readonly string[]) => Promise<InstalledDaemon>;
  readonly query: <Row extends QueryResultRow>(sql: string, ...values: readonly unknown[]) => Promise<Row[]>;
}

export interface InstallationSettings {
  readonly atEnd?: AtEnd;
  /** `none` for commands that end before they would need a database. */
  readonly database?: DatabaseContent | 'none';
  readonly env?: Readonly<Record<string, string>>;
  /** Returns the URL that recalld uses to reach its database, which may be a TCP gate's URL. */
  readonly wayTo?: (connection: DatabaseConnection) => Promise<string>;
}

export async function anInstallation(
  files: Readonly<Record<string, string>>,
  {
    atEnd = onTestFinished,
    database = 'migrated',
    env: more = {},
    wayTo = async (connection) => urlOf(connection),
  }: InstallationSettings = {},
): Promise<Installation> {
  const own = database === 'none' ? undefined : await createDatabase(database);
  atEnd(async () => own?.drop());
  const { apiKey } = inject('postgres');
  const folder = await aFolder({}, atEnd);
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(folder, name), content);
  const env = own === undefined ? more : { RECALLD_STORAGE_URL: await wayTo(own.connection), ...more };
  const connectionOf = (one: OwnDatabase | undefined): DatabaseConnection => {
    if (one === undefined) throw new Error('this installation has no database');
    return one.connection;
  };
  const recalld: Installation['recalld'] = (line, ...rest) =>
    runRecalld([...line.split(' '), ...rest], folder, env, atEnd);
  return {
    folder,
    get connection() {
      return connectionOf(own);
    },
    recalld,
    async json<T>(line: string, ...rest: readonly string[]) {
      const { stdout, stderr } = await recalld(line, ...rest, '--json');
      if (stdout === '') throw new Error(`recalld ${line} printed nothing: ${stderr}`);
      return JSON.parse(stdout) as T;
    },
    spawn: (line) => spawnRecalld(line.split(' '), folder, env, atEnd),
    async serve(...args) {
      const daemon = await startRecalld(['serve', ...args], folder, env, atEnd);
      return { ...daemon, ...visiting(daemon.url.replace('0.0.0.0', '127.0.0.1'), apiKey) };
    },
    query: (sql, ...values) => queryDatabase(connectionOf(own), sql, values),
  };
}

function visiting(url: string, apiKey: string): Omit<InstalledDaemon, keyof Running | 'stop'> {
  const call = apiOf(url);
  const withKey: InstalledDaemon['fetch'] = (where, init = {}) =>
    fetch(`${url}${where}`, {
      ...init,
      headers: { authorization: `Bearer ${apiKey}`, ...(init.headers as Record<string, string> | undefined) },
    });
  return {
    url,
    apiKey,
    fetch: withKey,
    async post(where, body, more = {}) {
      const headers = { 'content-type': 'application/json', ...more };
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const response = await withKey(where, { method: 'POST', headers, body: text });
      return { status: response.status, body: (await response.json()) as Answer['body'] };
    },
    call: (method, where, body, key = apiKey) => call(method, where, body, key),
    metrics: async () => (await fetch(`${url}/metrics`)).text(),
  };
}

/** Runs jobs now, instead of on schedule; any process on the same queue may run them. */
export async function startJobs(connection: PoolConfig, jobs: readonly string[]): Promise<void> {
  // Loads the job catalog on demand, because it imports half of the program, and few tests need it.
  const { jobCatalogue } = await import('../../src/app/jobs.ts');
  const { openJobQueue } = await import('../../src/platform/queue/bullmq.ts');
  const backend = { kind: 'postgres', connection } as const;
  const queue = await openJobQueue({ backend, jobs: jobCatalogue, logger: silentLogger });
  try {
    for (const job of jobs) await queue.enqueue(job, {}, `${job}-now`);
  } finally {
    await queue.close();
  }
}
