/** The embedded database is killed under load, as the operating system may kill it when memory runs out. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startLiveLoad } from '../support/live-load.ts';
import { aDatabase, aFolder, descendantsOf, isAlive, logLines, startRecalld } from '../support/recalld.ts';
import { reconcileLoad } from '../support/reconcile.ts';
import { waitFor } from '../support/wait-for.ts';

const config = `
server: {port: 0, max_requests_per_minute: 10000000}
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/search"}
    sampling: {rate: 1, max_per_minute: 10000000}
`;

it('the daemon survives a crash of its embedded PostgreSQL, refuses requests until the restart, and loses no accepted data', async () => {
  const folder = await aFolder({ 'recalld.yaml': config });
  const daemon = await startRecalld(['serve'], folder);
  const postmaster = (): number => {
    const file = path.join(folder, '.recalld', 'postgres', 'postmaster.pid');
    return Number(readFileSync(file, 'utf8').split('\n')[0]);
  };
  const readiness = async () => {
    const response = await fetch(`${daemon.url}/readyz`);
    return { status: response.status, text: await response.text() };
  };
  const load = startLiveLoad({
    apis: () => [daemon.url],
    key: null,
    pipeline: 'docs',
    clients: 4,
    pauseMs: 5,
    patienceMs: 30_000,
  });
  onTestFinished(() => load.abandon());
  await waitFor(() => load.queries.size >= 200);

  const first = postmaster();
  process.kill(first, 'SIGKILL');
  await waitFor(() => load.refusals.has(503));
  const before = load.queries.size;
  await waitFor(() => load.queries.size >= before + 200);
  expect(postmaster()).not.toBe(first);
  await waitFor(async () => (await readiness()).status === 200);
  await load.stop();
  expect([...load.refusals.keys()].filter((status) => status !== 503)).toEqual([]);
  const database = await aDatabase(folder);
  const { queries, feedback, counted } = await reconcileLoad(database, load);
  expect(queries).toMatchObject({ stored: load.queries.size, lost: 0, duplicated: 0 });
  expect(feedback).toMatchObject({ lost: 0, duplicated: 0 });
  expect(counted).toBe(queries.stored);
  await database.end();

  // After a second crash within a minute, recalld waits before it restarts the database. Until then, it refuses data.
  process.kill(postmaster(), 'SIGKILL');
  const waiting = await waitFor(async () => {
    const said = await readiness();
    return said.text.includes('will restart PostgreSQL at') ? said : null;
  });
  expect(waiting.status).toBe(503);
  expect(waiting.text).toContain('"database"');
  const refused = await fetch(`${daemon.url}/v1/queries`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 'late', pipeline: 'docs', text: 'Is anybody there?', results: [] }),
  });
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).not.toBeNull();
  expect(await refused.json()).toMatchObject({ code: 'database_unreachable' });
  expect((await fetch(`${daemon.url}/livez`)).status).toBe(200);
  expect(await (await fetch(`${daemon.url}/metrics`)).text()).toContain('recalld_snapshot_age_seconds ');
  expect(logLines(daemon.stderr()).filter(({ msg }) => msg === 'the embedded PostgreSQL is down')).toHaveLength(2);

  const family = descendantsOf(daemon.pid);
  expect((await daemon.stop()).code).toBe(0);
  expect(family.filter(isAlive)).toEqual([]);
}, 300_000);
