/** Starts PgBouncer in front of a database for one test, as an operator would start it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, onTestFinished } from 'vitest';
import type { DatabaseConnection } from './database.ts';
import { freePort } from './free-port.ts';
import { missing } from './missing.ts';
import { waitFor } from './wait-for.ts';

/** For suites that need PgBouncer; without PgBouncer, the runner counts these suites as skipped. */
export const describeWithPgBouncer = missing('pgbouncer') ? describe.skip : describe;

/** Id of the user `nobody`. PgBouncer runs as this user, because it refuses to run as root. */
const NOBODY = 65_534;

/** Starts PgBouncer, and stops it when the test ends. @param more lines for pgbouncer.ini */
export async function startPgBouncer(
  { host, port, user, password, database }: DatabaseConnection,
  mode: 'session' | 'transaction' | 'statement',
  ...more: readonly string[]
): Promise<DatabaseConnection> {
  const folder = mkdtempSync(path.join(tmpdir(), 'recalld-pgbouncer-'));
  chmodSync(folder, 0o755);
  const listens = await freePort();
  const file = path.join(folder, 'pgbouncer.ini');
  const settings = [
    '[databases]',
    `${database} = host=${host} port=${port} dbname=${database} user=${user} password='${password}'`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${listens}`,
    'auth_type = any',
    `pool_mode = ${mode}`,
    'unix_socket_dir =',
    ...more,
  ];
  writeFileSync(file, `${settings.join('\n')}\n`);
  const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const child = spawn('pgbouncer', ['-q', file], { stdio: 'ignore', ...identity });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  });
  await waitFor(async () => {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended with code ${child.exitCode}`);
    return listensAt(listens);
  });
  return { host: '127.0.0.1', port: listens, user, password: '', database, ssl: false };
}

async function listensAt(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
