/**
 * A process that opens an embedded database the way recalld does, and prints one JSON object per line on stdout.
 *
 *     node --import tsx opener.ts FOLDER daemon|command stay|leave|forget
 *
 * stay: keeps the database until a signal, stops it at the first signal, and exits at once at the second.
 * leave: stops the database when it is ready.
 * forget: ends without stopping the database.
 */
import { Pool } from 'pg';
import { RecalldError } from '../../../../../src/core/errors.ts';
import { openEmbeddedPostgres } from '../../../../../src/platform/postgres/embedded/open.ts';

const [, , dataDir = '', purpose, manner] = process.argv;

function report(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
  process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
}

const abort = new AbortController();
let stop = async () => abort.abort(new RecalldError('interrupted', 'Interrupted.'));
let signals = 0;
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => {
    signals += 1;
    if (signals > 1) process.exit(130);
    report('stopping');
    void stop();
  });
}

const ignore = () => undefined;
const logger = {
  debug: ignore,
  info: (message: string) => report('log', { message }),
  warn: (message: string) => report('log', { message }),
  error: (message: string) => report('log', { message }),
};

try {
  const database = await openEmbeddedPostgres({
    dataDir,
    purpose: purpose === 'daemon' ? 'daemon' : 'command',
    logger,
    signal: abort.signal,
  });
  void database.died.then((error) => report('died', { code: error.code, message: error.message }));
  if (manner === 'stay') {
    // Connections that are open when the database stops, like those of the daemon.
    const pool = new Pool(database.connection);
    pool.on('error', ignore);
    await pool.query('select 1');
    const alive = setInterval(ignore, 60_000);
    stop = async () => {
      // Stands in for a daemon's last query before the daemon releases the database.
      const work = pool.query('select pg_sleep(0.2)');
      const done = await work.then(
        () => true,
        () => false,
      );
      report('drained', { done });
      await database.stop();
      await pool.end();
      clearInterval(alive);
      report('stopped');
    };
  }
  report('ready', { port: database.connection.port, startedHere: database.startedHere });
  if (manner === 'leave') {
    await database.stop();
    report('stopped');
  }
} catch (error) {
  const known = error instanceof RecalldError;
  report('failed', { code: known ? error.code : 'unknown', message: String(error) });
  process.exitCode = 2;
}
