/**
 * Data derived from live queries is deleted with them: by retention (even if the pipeline was removed) and by erasure.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { erase } from '../../../src/app/erasure/erase.ts';
import { pruneLive } from '../../../src/live/sql/prune-live.ts';
import { useDatabase } from '../../support/database.ts';

const database = useDatabase();
const NOW = new Date('2026-11-20T12:00:00Z');

const tables = [
  'judged_queries',
  'judgments',
  'judgment_pools',
  'shadow_answers',
  'pool_judgments',
  'judge_panel_pairs',
];

/** Stores all rows derived from a judged live query, but not the query's own row. */
async function made(pipeline: string, id: string, receivedAt: string): Promise<void> {
  const { pool } = database;
  const values = [pipeline, id, receivedAt];
  await pool.query(
    `insert into judged_queries (pipeline, query_id, received_on, received_at, cluster, outcome, segments, probability,
                                 human_draw, needs_human, documents, state, due_at)
     values ($1, $2, $3::timestamptz::date, $3, 0.5, 'ok', '{}', 0.5, 0.5, true, '[["d1", "hash"]]', 'graded', $3)`,
    values,
  );
  await pool.query(
    `insert into judgments (pipeline, query_id, document_id, judge, grade, judged_at) values ($1, $2, 'd1', 'person', 2, $3)`,
    values,
  );
  await pool.query(
    `insert into judgment_pools (pipeline, query_id, probability, state, due_at) values ($1, $2, 0.5, 'open', $3)`,
    values,
  );
  await pool.query(
    `insert into shadow_answers (pipeline, shadow, fingerprint, query_id, received_at, asked_at, cluster, probability, outcome, document_ids, purpose)
     values ($1, 's', 'f', $2, $3, $3, 0.5, 0.5, 'ok', '{d1}', 'overlap')`,
    values,
  );
  await pool.query(
    `insert into pool_judgments (pipeline, query_id, text_hash, content_hash, fingerprint, grade, is_flagged, judged_at)
     values ($1, $2, 't', 'c', 'f', 1, false, $3::timestamptz + interval '2 days')`,
    values,
  );
  await pool.query(
    `insert into judge_panel_pairs (pipeline, query_id, document_id, content_hash, joined_on, first_grade, grade, graded_on)
     values ($1, $2, 'd1', 'c', $3::timestamptz::date, 1, 1, $3::timestamptz::date)`,
    values,
  );
}

async function topic(pipeline: string, id: string, examples: readonly string[], lastSeen: string): Promise<void> {
  await database.pool.query(
    `insert into uncovered_topics (id, pipeline, state, label, centroid, cause, first_seen, last_seen, sessions, traffic_share,
       share_low, share_high, excess_points, density, adjusted_p, dominant_region, examples, nearest, segments)
     values ($1, $2, 'open', '{refund}', '', 'new_demand', $4, $4, 1, 0.1, 0.1, 0.1, 1, 0.5, 0.01, 0, $3, '[]', '[]')`,
    [id, pipeline, examples, lastSeen],
  );
}

/** Returns, for each table, the ids of the queries that the table still contains. */
async function left(): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const table of tables) {
    const { rows } = await database.pool.query<{ id: string }>(`select query_id as id from ${table} order by 1`);
    found[table] = rows.map(({ id }) => id);
  }
  return found;
}

const each = (ids: readonly string[]) => Object.fromEntries(tables.map((table) => [table, ids]));

beforeEach(async () => {
  for (const table of [...tables, 'uncovered_topics']) await database.pool.query(`truncate ${table} cascade`);
  await made('gone', 'old', '2026-11-09T23:59:00Z');
  await made('gone', 'new', '2026-11-10T00:01:00Z');
  await made('docs', 'kept', '2026-11-01T12:00:00Z');
  await topic('gone', 't-old', ['old'], '2026-11-09T23:59:00Z');
  await topic('gone', 't-new', ['new', 'old'], '2026-11-19T12:00:00Z');
});

const topics = async () => {
  const { rows } = await database.pool.query('select id, label, examples from uncovered_topics order by id desc');
  return rows;
};

describe('data derived from live queries', () => {
  it('is deleted with the day of the query, by the retention of its pipeline', async () => {
    await pruneLive(
      database.pool,
      new Map([
        ['gone', 10],
        ['docs', 30],
      ]),
      NOW,
    );
    expect(await left()).toEqual(each(['kept', 'new']));
    expect(await topics()).toEqual([
      { id: 't-old', label: [], examples: [] },
      { id: 't-new', label: ['refund'], examples: ['new', 'old'] },
    ]);
  });

  it('is erased by the id of its query, even if the live query has been deleted', async () => {
    await erase(database.pool, { kind: 'query', id: 'old', idHash: 'h' }, 'ann', NOW);
    expect(await left()).toEqual(each(['kept', 'new']));
    expect(await topics()).toMatchObject([{ examples: [] }, { examples: ['new'] }]);
  });
});
