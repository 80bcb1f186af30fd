/** Tests how many rows a process reads for the gauges of /metrics when all features of the daemon are in use. */
import { expect, it, onTestFinished } from 'vitest';
import { parseConfig } from '../../../src/app/config/parse.ts';
import { openDependencies } from '../../../src/app/dependencies.ts';
import { createCleanupStack } from '../../../src/core/cleanup-stack.ts';
import { createDatabase } from '../../support/database.ts';
import { writeLargeHistory } from '../../support/large-history.ts';
import { silentLogger } from '../../support/log.ts';
import { seriesValue } from '../../support/recalld.ts';
import { waitFor } from '../../support/wait-for.ts';
import { withPool } from '../../support/with-pool.ts';

/** Tables that grow with traffic and with golden sets. */
const LARGE = '^(live_queries|feedback|query_coverage|golden_queries|golden_judgments|golden_run_answers)';

function configOf(url: string) {
  const text = `
storage: {url: "${url}"}
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/search"}
    segments: {keys: [tenant]}
    golden: [{set: large, cron: "0 3 * * *"}, {set: faq, cron: "0 * * * *"}]
    checks: [{measure: ndcg@10, below: 0.80, severity: critical}]
`;
  return parseConfig(text, 'recalld.yaml', {}, () => '');
}

it('a refresh of the gauges reads no rows of live traffic or golden sets, and the results of a run only once', async () => {
  const database = await createDatabase();
  onTestFinished(() => database.drop());
  const { user, password, host, port, database: name } = database.connection;
  const url = `postgres://${user}:${password}@${host}:${port}/${name}`;
  const open = async () => {
    const cleanups = createCleanupStack(silentLogger);
    const settings = { config: configOf(url), name: 'a test', logger: silentLogger, cleanups };
    const dependencies = await openDependencies({ ...settings, signal: new AbortController().signal });
    return { ...dependencies, close: () => cleanups.run() };
  };
  // Opening the database for the first time creates today's partitions.
  await (await open()).close();
  const answers = 300;
  await withPool(database.connection, async (pool) => {
    await writeLargeHistory(pool, {
      pipeline: 'docs',
      goldenQueries: 20_000,
      oldRuns: 0,
      liveQueries: 20_000,
    });
    await pool.query(
      `insert into golden_sets (name, version, content_hash, format, imported_at, queries, judgments) values ('faq', 1, '', 'csv', now(), $1, $1)`,
      [answers],
    );
    await pool.query(
      `insert into golden_runs (id, pipeline, golden_set, golden_set_version, trigger, settings, status, started_at, deadline_at, finished_at)
       values ('ended', 'docs', 'faq', 1, 'manual', '{"cutoffs": [10]}', 'completed', now(), now(), now())`,
    );
    await pool.query(
      `insert into golden_run_answers (run_id, query_id, outcome, document_ids, scores, attempts)
       select 'ended', 'q' || i, 'empty', '{}', '{}', 1 from generate_series(1, $1::integer) i`,
      [answers],
    );
    await pool.query('analyze');
  });
  const rowsRead = () =>
    withPool(database.connection, async (pool) => {
      // PostgreSQL may not count the rows that a connection has read until the connection ends.
      await waitFor(async () => {
        const others = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
        return (await pool.query(others)).rowCount === 0;
      });
      const { rows } = await pool.query<{ read: number }>(
        `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as read from pg_stat_user_tables where relname ~ $1`,
        [LARGE],
      );
      return rows[0]?.read ?? 0;
    });

  const before = await rowsRead();
  const { exporter, close } = await open();
  for (let reading = 0; reading < 3; reading++) await exporter.refresh();
  const text = Buffer.concat(await exporter.scrape()).toString('utf8');
  await close();
  const set = (golden_set: string) => `pipeline="docs",golden_set="${golden_set}"`;
  expect(seriesValue(text, `recalld_golden_runs{${set('large')},status="cancelled"}`)).toBe(1);
  expect(seriesValue(text, `recalld_golden_queries{${set('faq')},outcome="empty"}`)).toBe(answers);
  expect((await rowsRead()) - before).toBeLessThanOrEqual(answers);
});
