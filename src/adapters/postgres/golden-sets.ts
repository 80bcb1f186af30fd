/** Golden sets in PostgreSQL. */
import type pg from 'pg';
import type { GoldenQuery, Judgment } from '../../core/model.ts';
import type { GoldenSets, GoldenSetVersion, NewGoldenSet } from '../../ports/golden-sets.ts';
import { wellFormed } from './text.ts';
import { inTransaction } from './transaction.ts';

interface VersionRow {
  name: string;
  version: number;
  content_hash: string;
  format: string;
  imported_at: Date;
  queries: number;
  judgments: number;
}

interface QueryRow {
  query_id: string;
  text: string;
  tags: Record<string, string>;
}

interface JudgmentRow {
  query_id: string;
  document_id: string;
  grade: number;
}

const versionColumns = 'name, version, content_hash, format, imported_at, queries, judgments';

export function createGoldenSets(pool: pg.Pool): GoldenSets {
  return {
    async add(set, now) {
      return inTransaction(pool, async (client) => {
        await client.query(`select pg_advisory_xact_lock(hashtextextended('golden_set:' || $1::text, 0))`, [
          set.name,
        ]);
        const latest = await latestVersion(client, set.name);
        if (latest !== null && latest.contentHash === set.contentHash) return { set: latest, created: false };
        const version = (latest?.version ?? 0) + 1;
        await insertVersion(client, set, version, now);
        const created = await latestVersion(client, set.name);
        if (created === null) throw new Error(`golden set ${set.name} is gone within its own transaction`);
        return { set: created, created: true };
      });
    },

    async latest(name) {
      return latestVersion(pool, name);
    },

    async list() {
      const { rows } = await pool.query<VersionRow>(
        `select ${versionColumns} from golden_sets order by name, version desc`,
      );
      return rows.map(toVersion);
    },

    async queries(name, version) {
      const [queries, judgments] = await Promise.all([
        pool.query<QueryRow>(
          `select query_id, text, tags from golden_queries
            where golden_set = $1::text and version = $2::integer order by position`,
          [name, version],
        ),
        pool.query<JudgmentRow>(
          `select query_id, document_id, grade from golden_judgments
            where golden_set = $1::text and version = $2::integer order by query_id, document_id`,
          [name, version],
        ),
      ]);
      return withJudgments(queries.rows, judgments.rows);
    },
  };
}

async function latestVersion(db: pg.Pool | pg.PoolClient, name: string): Promise<GoldenSetVersion | null> {
  const { rows } = await db.query<VersionRow>(
    `select ${versionColumns} from golden_sets where name = $1::text order by version desc limit 1`,
    [name],
  );
  return rows[0] === undefined ? null : toVersion(rows[0]);
}

async function insertVersion(
  client: pg.PoolClient,
  set: NewGoldenSet,
  version: number,
  now: Date,
): Promise<void> {
  const judgments = set.queries.flatMap((query) =>
    query.judgments.map((judgment) => ({ queryId: query.id, ...judgment })),
  );
  await client.query(
    `insert into golden_sets (${versionColumns}) values ($1::text, $2::integer, $3::text, $4::text, $5::timestamptz, $6::integer, $7::integer)`,
    [set.name, version, set.contentHash, set.format, now, set.queries.length, judgments.length],
  );
  await client.query(
    `insert into golden_queries (golden_set, version, query_id, position, text, tags)
     select $1::text, $2::integer, q.query_id, q.position, q.text, q.tags::jsonb
       from unnest($3::text[], $4::text[], $5::text[]) with ordinality as q (query_id, text, tags, position)`,
    [
      set.name,
      version,
      set.queries.map((q) => q.id),
      set.queries.map((q) => q.text),
      set.queries.map((q) => toJson(q.tags)),
    ],
  );
  await client.query(
    `insert into golden_judgments (golden_set, version, query_id, document_id, grade)
     select $1::text, $2::integer, j.query_id, j.document_id, j.grade
       from unnest($3::text[], $4::text[], $5::integer[]) as j (query_id, document_id, grade)`,
    [
      set.name,
      version,
      judgments.map((j) => j.queryId),
      judgments.map((j) => j.documentId),
      judgments.map((j) => j.grade),
    ],
  );
}

function toJson(tags: GoldenQuery['tags']): string {
  return JSON.stringify(Object.fromEntries(Object.entries(tags).map((tag) => tag.map(wellFormed))));
}

function toVersion(row: VersionRow): GoldenSetVersion {
  return {
    name: row.name,
    version: row.version,
    contentHash: row.content_hash,
    format: row.format,
    importedAt: row.imported_at,
    queries: row.queries,
    judgments: row.judgments,
  };
}

/** Joined here: a join in SQL takes minutes right after the import of a large set, when its tables have no statistics. */
function withJudgments(queries: readonly QueryRow[], judgments: readonly JudgmentRow[]): GoldenQuery[] {
  const judged = new Map<string, Judgment[]>(queries.map((query) => [query.query_id, []]));
  for (const { query_id: id, document_id: documentId, grade } of judgments)
    judged.get(id)?.push({ documentId, grade });
  return queries.map(({ query_id: id, text, tags }) => ({ id, text, tags, judgments: judged.get(id) ?? [] }));
}
