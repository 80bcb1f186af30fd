/** Rounds of index checks in PostgreSQL: progress, tallies and findings. */

import type { Pool, PoolClient } from 'pg';
import { queryRow, queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction } from '../../platform/postgres/transaction.ts';
import { columnsOf } from '../../platform/postgres/values.ts';
import type { FindingKind } from './rules/findings.ts';
import type { RoundTally, Tally } from './rules/probe-estimates.ts';

/**
 * Phases of a round, in order. Suspects are collected before the manifest is read, and compared with the manifest
 * afterwards.
 */
export const phases = [
  'suspects',
  'manifest',
  'orphaned',
  'missing',
  'chunks',
  'arrivals',
  'models',
  'measures',
] as const;

export type Phase = (typeof phases)[number];

export interface Round {
  readonly pipeline: string;
  readonly startedAt: Date;
  readonly phase: Phase;
  /** Position within the phase; null at its start. */
  readonly position: unknown;
  /** Time when the manifest was last read completely. */
  readonly readAt: Date | null;
}

/** A document with its segment, which is null if the manifest states none. */
export interface SegmentedDocument {
  readonly id: string;
  readonly segment: string | null;
}

export interface ProbedDocument extends SegmentedDocument {
  readonly isWrong: boolean;
}

type SegmentTally = ReturnType<typeof tallyBySegment>[number];

/** Sums tallies by segment. The segment name is empty for documents without a segment. */
export function tallyBySegment(kind: FindingKind, counts: readonly (Tally & { readonly segment: string | null })[]) {
  const bySegment = new Map<string, Tally & { readonly kind: FindingKind; readonly segment: string }>();
  for (const { segment, n, found } of counts) {
    const name = segment ?? '';
    const sum = bySegment.get(name) ?? { kind, segment: name, n: 0, found: 0 };
    bySegment.set(name, { ...sum, n: sum.n + n, found: sum.found + found });
  }
  return [...bySegment.values()];
}

/** Result of a step of a round, stored atomically. */
export interface Step {
  /**
   * Checked documents, grouped by kind of finding. If `uncounted` is set, the documents were not selected at random and
   * therefore do not count toward the share.
   */
  readonly checked?: readonly {
    readonly kind: FindingKind;
    readonly documents: readonly ProbedDocument[];
    readonly uncounted?: true;
  }[];
  /** Additional tallies, for checks that identify the affected documents later or not at all. */
  readonly counted?: readonly SegmentTally[];
  /** Ids that are not in the manifest, and how often each occurred. */
  readonly suspects?: ReadonlyMap<string, number>;
  readonly cleared?: readonly string[];
  /** Position from which the round continues within the saved phase. */
  readonly position: unknown;
}

const roundColumns = 'pipeline, started_at, phase, position, read_at';

export function createRoundsTable(pool: Pool) {
  return {
    /** Leases the open round, or a new one, until `until`; returns null if another worker is running the round. */
    async lease(pipeline: string, now: Date, until: Date): Promise<Round | null> {
      return queryRow<Round>(
        pool,
        `insert into index_rounds as r (pipeline, started_at, phase, leased_until)
         values ($1::text, $2::timestamptz, $4::text, $3::timestamptz)
         on conflict (pipeline) do update set leased_until = $3::timestamptz,
           started_at = case when r.ended_at is null then r.started_at else $2::timestamptz end,
           phase = case when r.ended_at is null then r.phase else $4::text end,
           position = case when r.ended_at is null then r.position end, ended_at = null
          where r.leased_until <= $2::timestamptz
         returning ${roundColumns}`,
        [pipeline, now, until, phases[0]],
      );
    },

    async release(pipeline: string): Promise<void> {
      await pool.query(`update index_rounds set leased_until = '-infinity' where pipeline = $1::text`, [pipeline]);
    },

    /** Stores a step atomically. A finding remains stored until a check no longer confirms it. */
    async save({ pipeline, startedAt }: Round, phase: Phase, step: Step, now: Date, until: Date): Promise<void> {
      const { checked = [], counted = [], suspects, cleared } = step;
      await inTransaction(pool, async (client) => {
        for (const { kind, documents } of checked) await storeFindings(client, pipeline, kind, documents, now);
        await addTallies(client, pipeline, startedAt, [...checked.flatMap(talliesOf), ...counted]);
        if (suspects !== undefined) {
          await client.query(
            `insert into index_orphan_suspects as s (pipeline, id, times)
             select $1::text, * from unnest($2::text[], $3::integer[])
             on conflict (pipeline, id) do update set times = s.times + excluded.times`,
            [pipeline, [...suspects.keys()], [...suspects.values()]],
          );
        }
        if (cleared !== undefined) {
          const sql = 'delete from index_orphan_suspects where pipeline = $1::text and id = any($2::text[])';
          await client.query(sql, [pipeline, cleared]);
        }
        await client.query(
          `update index_rounds set phase = $2::text, position = $3::jsonb, leased_until = $4::timestamptz
            where pipeline = $1::text`,
          [pipeline, phase, JSON.stringify(step.position ?? null), until],
        );
      });
    },

    async recordManifest(pipeline: string, readAt: Date, documents: number): Promise<void> {
      await pool.query(
        'update index_rounds set read_at = $2::timestamptz, documents = $3::bigint where pipeline = $1::text',
        [pipeline, readAt, documents],
      );
    },

    async statuses(): Promise<readonly RoundStatus[]> {
      return queryRows<RoundStatus>(
        pool,
        'select pipeline, last_end as "endedAt", read_at, documents::double precision from index_rounds',
      );
    },

    async lastRead(pipeline: string): Promise<Date | null> {
      const sql = 'select read_at from index_rounds where pipeline = $1::text';
      return (await queryRow<Pick<Round, 'readAt'>>(pool, sql, [pipeline]))?.readAt ?? null;
    },

    async end(pipeline: string, now: Date): Promise<void> {
      await pool.query(
        `update index_rounds set ended_at = $2::timestamptz, last_end = $2::timestamptz, leased_until = '-infinity' where pipeline = $1::text`,
        [pipeline, now],
      );
      await pool.query(
        `delete from index_tallies where pipeline = $1::text and round < $2::timestamptz - interval '8 days'`,
        [pipeline, now],
      );
    },

    suspects: (pipeline: string, limit: number) =>
      queryRows<{ id: string; times: number }>(
        pool,
        'select id, times from index_orphan_suspects where pipeline = $1::text order by id limit $2::integer',
        [pipeline, limit],
      ),

    /** Returns the tallies of all rounds since `from`, keyed by segment. */
    async tallies(pipeline: string, kind: FindingKind, from: Date): Promise<ReadonlyMap<string, Tally>> {
      const rows = await queryRows<Tally & { segment: string }>(
        pool,
        `select segment, sum(n)::double precision as n, sum(found)::double precision as found from index_tallies
          where pipeline = $1::text and measure = $2::text and round >= $3::timestamptz group by segment`,
        [pipeline, kind, from],
      );
      return new Map(rows.map(({ segment, ...tally }) => [segment, tally]));
    },

    /** Returns the tally of each round since `from` over all segments, oldest first. */
    async talliesByRound(pipeline: string, kind: FindingKind, from: Date): Promise<readonly RoundTally[]> {
      return queryRows<RoundTally>(
        pool,
        `select round, sum(n)::double precision as n, sum(found)::double precision as found from index_tallies
          where pipeline = $1::text and measure = $2::text and round >= $3::timestamptz group by round order by round`,
        [pipeline, kind, from],
      );
    },

    /** Deletes the suspects of a round and their tallies. */
    async deleteSuspects({ pipeline, startedAt }: Round): Promise<void> {
      await pool.query(
        `with tallies as (
           delete from index_tallies where pipeline = $1::text and round = $2::timestamptz and measure = 'orphaned')
         delete from index_orphan_suspects where pipeline = $1::text`,
        [pipeline, startedAt],
      );
    },

    /** Returns the start time of the last round that has a tally of this kind. */
    async lastTally(pipeline: string, kind: FindingKind): Promise<Date | null> {
      const sql = 'select max(round) as round from index_tallies where pipeline = $1::text and measure = $2::text';
      return (await queryRow<{ round: Date | null }>(pool, sql, [pipeline, kind]))?.round ?? null;
    },

    async deleteUnseen(pipeline: string, kind: FindingKind, before: Date): Promise<void> {
      await pool.query(
        'delete from index_findings where pipeline = $1::text and kind = $2::text and seen_at < $3::timestamptz',
        [pipeline, kind, before],
      );
    },

    /** Returns the findings of a kind, oldest first. */
    async findings(pipeline: string, kind: FindingKind, limit: number): Promise<readonly NamedDocument[]> {
      return queryRows<NamedDocument>(
        pool,
        `select id, segment, found_at from index_findings
          where pipeline = $1::text and kind = $2::text order by found_at, id limit $3::integer`,
        [pipeline, kind, limit],
      );
    },

    /**
     * Returns, for each kind, the number of findings and the time of the oldest finding. For missing documents, also
     * estimates how many are new and were never in the store.
     */
    async countFindings(
      pipeline: string,
    ): Promise<ReadonlyMap<string, { readonly count: number; readonly since: Date; readonly neverArrived: number }>> {
      const rows = await queryRows<{ kind: string; count: number; since: Date; neverArrived: number }>(
        pool,
        `select f.kind, count(*)::integer as count, min(f.found_at) as since,
                coalesce(sum(awaited.weight), 0)::double precision as never_arrived
           from index_findings f
           left join lateral (
             select max(a.weight) as weight from index_arrivals a
              where f.kind = 'missing' and a.pipeline = f.pipeline and a.id = f.id
                and a.version is null and not a.has_arrived and not a.is_closed
           ) awaited on true
          where f.pipeline = $1::text group by f.kind`,
        [pipeline],
      );
      return new Map(rows.map(({ kind, ...known }) => [kind, known]));
    },

    /** Deletes the findings of documents that are no longer in the manifest, but keeps orphan findings. */
    async deleteObsoleteFindings(pipeline: string): Promise<void> {
      await pool.query(
        `delete from index_findings f where pipeline = $1::text and kind <> 'orphaned'
            and not exists (select from index_documents d where d.pipeline = f.pipeline and d.id = f.id and not d.deleted)`,
        [pipeline],
      );
    },
  };
}

export interface RoundStatus {
  readonly pipeline: string;
  readonly endedAt: Date | null;
  readonly readAt: Date | null;
  readonly documents: number | null;
}

export interface NamedDocument extends SegmentedDocument {
  readonly foundAt: Date;
}

async function storeFindings(
  client: PoolClient,
  pipeline: string,
  kind: FindingKind,
  documents: readonly ProbedDocument[],
  now: Date,
): Promise<void> {
  const wrong = [...new Map(documents.filter(({ isWrong }) => isWrong).map((one) => [one.id, one])).values()];
  const right = documents.filter(({ isWrong }) => !isWrong).map(({ id }) => id);
  if (right.length > 0) {
    await client.query(
      'delete from index_findings where pipeline = $1::text and kind = $2::text and id = any($3::text[])',
      [pipeline, kind, right],
    );
  }
  if (wrong.length === 0) return;
  await client.query(
    `insert into index_findings (pipeline, kind, id, segment, found_at, seen_at)
     select $1::text, $2::text, id, segment, $3::timestamptz, $3::timestamptz
       from unnest($4::text[], $5::text[]) as f (id, segment)
     on conflict (pipeline, kind, id) do update set seen_at = excluded.seen_at, segment = excluded.segment`,
    [pipeline, kind, now, ...columnsOf(wrong, [({ id }) => id, ({ segment }) => segment])],
  );
}

function talliesOf({ kind, documents, uncounted }: NonNullable<Step['checked']>[number]): SegmentTally[] {
  if (uncounted) return [];
  const counts = documents.map(({ segment, isWrong }) => ({ segment, n: 1, found: isWrong ? 1 : 0 }));
  return tallyBySegment(kind, counts);
}

async function addTallies(
  client: PoolClient,
  pipeline: string,
  round: Date,
  tallies: readonly SegmentTally[],
): Promise<void> {
  for (const { kind, segment, n, found } of tallies) {
    await client.query(
      `insert into index_tallies as t (pipeline, round, measure, segment, n, found)
       values ($1::text, $2::timestamptz, $3::text, $4::text, $5::bigint, $6::bigint)
       on conflict (pipeline, round, measure, segment) do update set n = t.n + excluded.n, found = t.found + excluded.found`,
      [pipeline, round, kind, segment, n, found],
    );
  }
}
