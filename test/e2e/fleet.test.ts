/** One process becomes a fleet: the data is moved, only the config changes, and roles are added and removed. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDatabase, urlOf } from '../support/database.ts';
import { aDatabase, aFolder, runRecalld, startRecalld } from '../support/recalld.ts';
import { waitFor } from '../support/wait-for.ts';

const script = path.resolve(import.meta.dirname, '../../deploy/postgres/move-embedded.sh');
const hasPsql = spawnSync('psql', ['--version']).status === 0;

const pipeline = `
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/"}
    sampling: {rate: 1}
    privacy: {text: keep}
`;

/** Adds a partition for a month in the distant past, for which no job creates one. */
const anotherMonth = `
  create table measurements_another partition of measurements for values from ('2020-01-01Z') to ('2020-02-01Z');
  insert into measurements (pipeline, measure, window_start, window_end, measured_at, value, n, details)
  values ('docs', 'error_ratio', '2020-01-01Z', '2020-01-02Z', '2020-01-02Z', 0, 1, '{}')`;

describe.skipIf(!hasPsql)('an embedded recalld that outgrows one process', () => {
  it('moves to another PostgreSQL server with all stored data, and continues there with a different config', async () => {
    const folder = await aFolder({
      'recalld.yaml': `server: {port: 0}\n${pipeline}`,
      'faq.csv': 'query,document,grade\nhow,a,1\n',
    });
    const elsewhere = await createDatabase('empty');
    onTestFinished(() => elsewhere.drop());
    const url = urlOf(elsewhere.connection);
    const fleet = { RECALLD_STORAGE_URL: url };

    const daemon = await startRecalld(['serve'], folder);
    const queries = Array.from({ length: 20 }, (_, i) => ({
      id: `q${i}`,
      pipeline: 'docs',
      text: `how do I "mend"\tnumber ${i}?\n`,
      embedding: [0.5, i],
      results: [{ id: 'a', score: 0.5 }],
    }));
    const sent = await fetch(`${daemon.url}/v1/queries`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(queries),
    });
    expect(await sent.json()).toMatchObject({ accepted: 20, sampled: 20 });
    expect(await runRecalld(['golden', 'import', 'faq.csv', '--set', 'faq'], folder)).toMatchObject({
      code: 0,
    });

    const early = spawnSync(script, ['.recalld', url], { cwd: folder, encoding: 'utf8' });
    expect({ code: early.status, says: early.stderr.includes('recalld_schema_version') }).toEqual({
      code: expect.any(Number),
      says: true,
    });
    expect(await runRecalld(['migrate'], folder, fleet)).toMatchObject({ code: 0 });
    const [job, before] = [await aDatabase(folder), await aDatabase(folder)];
    const waiting = `from pg_stat_activity where application_name = 'psql' and wait_event_type = 'Lock'`;
    /**
     * Runs the statement `happens` while the script copies one of the first tables, and returns the script's output.
     */
    const moveDuring = async (happens: string): Promise<unknown[]> => {
      await job.query('begin; lock table hash_keys in access exclusive mode');
      const move = spawn(script, ['.recalld', url], { cwd: folder });
      const output = Promise.all([text(move.stdout), text(move.stderr), once(move, 'close')]);
      await waitFor(async () => (await before.query(`select ${waiting}`)).rowCount === 1);
      await job.query(`${happens}; commit`);
      return output;
    };
    const nothingKept = expect.stringContaining('the move failed, and the target was not changed\n');
    expect(await moveDuring(`select pg_terminate_backend(pid) ${waiting}`)).toEqual(['', nothingKept, [3, null]]);
    // The daemon's jobs continue during the move: one of them writes to a new partition of a table that is copied
    // later.
    const moved = expect.stringContaining('moved 20 live queries');
    expect(await moveDuring(anotherMonth)).toEqual([moved, '', [0, null]]);
    const again = spawnSync(script, ['.recalld', url], { cwd: folder, encoding: 'utf8' });
    expect(again).toMatchObject({ status: 2, stderr: 'the target is not empty\n' });

    const after = new Client({ connectionString: url });
    await after.connect();
    const content = async (client: Client): Promise<unknown[]> =>
      (
        await client.query(
          'select md5(string_agg(q::text, chr(10) order by id)) as sum, count(*) from live_queries q union all select key, 0 from hash_keys',
        )
      ).rows;
    expect(await content(after)).toEqual(await content(before));
    await after.end();
    expect(await daemon.stop()).toMatchObject({ code: 0 });

    // Several processes, each with one role, share the database. Moved queries that are sent again count as duplicates.
    const environment = { ...fleet, RECALLD_SERVER_HOST: '127.0.0.1' };
    const roles = await Promise.all(
      ['api', 'worker', 'scheduler'].map((role) => startRecalld(['serve', '--roles', role], folder, environment)),
    );
    expect(roles[0]?.stderr()).toContain('move-embedded.sh');
    const key = await runRecalld(['keys', 'create', '--name', 'rag', '--scope', 'ingest', '--json'], folder, fleet);
    const { key: token } = JSON.parse(key.stdout) as { key: string };
    const repeated = await fetch(`${roles[0]?.url}/v1/queries`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(queries),
    });
    expect(await repeated.json()).toMatchObject({ duplicates: 20, rejected: [] });
    const doctor = await runRecalld(['doctor', '--json'], folder, fleet);
    expect(doctor.stdout).toContain('contains an embedded database that this config does not use');
    for (const role of roles) expect(await role.stop()).toMatchObject({ code: 0 });
  });
});
