/**
 * Tests that the SQL of the dashboards returns the same results as recalld, and that Grafana's role may run only this
 * SQL.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GoldenQuery } from '../../../../../src/core/model.ts';
import { scoredQueries } from '../../../../../src/golden/edge/panels/drill-down.ts';
import type { QueryAnswer } from '../../../../../src/golden/rules/run.ts';
import { scoreQueries } from '../../../../../src/golden/rules/score-run.ts';
import { createGoldenRuns } from '../../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../../src/golden/sql/golden-sets.ts';
import { aFailedAnswer, aGoldenQuery, aNewGoldenSet, anAnswer } from '../../../../support/builders.ts';
import { fillInSql, readDashboards, statements } from '../../../../support/dashboards.ts';
import { useDatabase } from '../../../../support/database.ts';
import { aRun, nine } from '../../../../support/golden-runs.ts';
import { uniforms } from '../../../../support/uniforms.ts';

const database = useDatabase();

/**
 * Returns random queries and results, which contain grades 0 to 3, repeated and copied documents, unjudged documents,
 * and failures, each many times.
 */
function anything(count: number): { queries: GoldenQuery[]; answers: QueryAnswer[] } {
  const uniform = uniforms(7);
  const upTo = (limit: number): number => Math.floor(uniform() * limit);
  const queries = Array.from({ length: count }, (_, i) =>
    aGoldenQuery({
      id: `q${i}`,
      judgments: Array.from({ length: 1 + upTo(8) }, (_grade, d) => ({
        documentId: `d${d}`,
        grade: upTo(4),
      })),
    }),
  );
  const answers = queries.flatMap(({ id }, i) => {
    if (i % 10 === 0) return [];
    if (i % 10 === 1) return [aFailedAnswer({ queryId: id })];
    const found = Array.from({ length: 1 + upTo(15) }, () => ({
      id: `d${upTo(12)}`,
      score: [null, 0.5, 0.25][upTo(3)] ?? null,
    }));
    return [anAnswer({ queryId: id, documents: found })];
  });
  return { queries, answers };
}

describe('the scores of single queries computed in SQL', () => {
  it.each([
    [3, 1],
    [10, 2],
  ])('equal those of a golden run at cutoff %d with relevance from grade %d', async (k, relevanceLevel) => {
    const { queries, answers } = anything(200);
    const sets = createGoldenSets(database.pool);
    const runs = createGoldenRuns(database.pool);
    const set = `set-${k}`;
    await sets.add(aNewGoldenSet({ name: set, queries }), nine);
    const run = aRun({ goldenSet: set });
    await runs.create({ ...run, settings: { ...run.settings, cutoffs: [k], relevanceLevel } });
    await runs.saveAnswers(run.id, answers);

    const { rows } = await database.pool.query<{
      query_id: string;
      ndcg: string;
      first_relevant: string | null;
    }>(
      fillInSql(
        `with chosen as (select * from golden_runs where id = '${run.id}') ${scoredQueries('chosen')}`,
        { k: String(k) },
        { from: nine, to: nine },
      ),
    );
    const { keys, columns } = scoreQueries(queries, answers, { cutoffs: [k], relevanceLevel });
    const column = (measure: string) => columns[keys.findIndex((key) => key.measure === measure)];
    const found = new Map(rows.map((row) => [row.query_id, row]));
    expect(found.size).toBe(queries.length);
    for (const [index, { id }] of queries.entries()) {
      const row = found.get(id);
      expect({ id, ndcg: Number(row?.ndcg) }).toEqual({
        id,
        ndcg: expect.closeTo(column('ndcg')?.[index] ?? -1, 9),
      });
      const reciprocal = row?.first_relevant === null ? 0 : 1 / Number(row?.first_relevant);
      expect({ id, reciprocal }).toEqual({ id, reciprocal: expect.closeTo(column('mrr')?.[index] ?? -1, 9) });
    }
  });
});

describe('the database role of Grafana', () => {
  beforeAll(async () => {
    const grants = path.resolve(import.meta.dirname, '../../../../../deploy/postgres/grafana-reader.sql');
    await database.pool.query(readFileSync(grants, 'utf8'));
  });
  // Drops the role, because roles belong to the server, which other test files also use.
  afterAll(async () => {
    await database.pool.query('drop owned by recalld_grafana');
    await database.pool.query('drop role recalld_grafana');
  });

  /** Runs SQL as Grafana's role, in a transaction that is rolled back. */
  async function asGrafana(sql: string): Promise<void> {
    const client = await database.pool.connect();
    try {
      await client.query('begin');
      await client.query('set local role recalld_grafana');
      await client.query(sql);
    } finally {
      await client.query('rollback');
      client.release();
    }
  }

  const values = { pipeline: 'docs', golden_set: 'faq', k: '10' };
  const asked = readDashboards().flatMap((dashboard) => statements(dashboard));

  it.each(asked)('may read the data of a dashboard: $where', async ({ text }) => {
    await expect(asGrafana(fillInSql(text, values, { from: nine, to: nine }))).resolves.toBeUndefined();
  });

  it.each([
    'select text from golden_queries',
    'select error_message from golden_run_answers',
    'select id from live_queries',
    'select comment from feedback',
    'select key_hash from api_keys',
    'select key from hash_keys',
    'select vector from embedding_canaries',
    'delete from deployments',
  ])('may not execute: %s', async (sql) => {
    await expect(asGrafana(sql)).rejects.toThrow('permission denied');
  });
});
