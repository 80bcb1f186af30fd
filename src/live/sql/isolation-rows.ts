/** Violations of isolation rules, and counts of the live queries that rules allowed or could not check. */

import type { Pool } from 'pg';
import type { Scope } from '../../core/context.ts';
import type { TimeSpan } from '../../core/time.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import type { Element, ElementType } from '../../platform/postgres/values.ts';
import { visible } from '../../platform/postgres/visible.ts';
import { type IsolatedAnswer, type IsolationOutcome, noneUnchecked, type Violation } from '../rules/isolation.ts';
import { documentOfRow, type ResultRow } from './result-rows.ts';

export interface StoredViolation extends Violation {
  readonly pipeline: string;
  readonly queryId: string;
  readonly receivedAt: Date;
  readonly occurredAt: Date;
  readonly traceId: string | null;
  readonly userHash: string | null;
}

/** Hourly number of live queries that a rule allowed or could not check. */
export interface IsolationCount {
  readonly pipeline: string;
  readonly rule: string;
  readonly hour: Date;
  readonly outcome: Exclude<IsolationOutcome, 'violated'>;
  readonly queries: number;
}

export interface IsolationArrival {
  readonly violations: readonly StoredViolation[];
  readonly counts: readonly IsolationCount[];
}

/** Name and type of each column, and a function that reads its value. */
export type Columns<Row> = readonly (readonly [string, ElementType, (row: Row) => Element])[];

export const violationColumns: Columns<StoredViolation> = [
  ['received_on', 'date', (v) => v.receivedAt],
  ['pipeline', 'text', (v) => v.pipeline],
  ['rule', 'text', (v) => v.rule],
  ['query_id', 'text', (v) => v.queryId],
  ['received_at', 'timestamptz', (v) => v.receivedAt],
  ['occurred_at', 'timestamptz', (v) => v.occurredAt],
  ['segment', 'text', (v) => v.segment],
  ['documents', 'text', (v) => JSON.stringify(v.documents.map(({ id, rank }) => [id, rank]))],
  ['document_count', 'integer', (v) => v.documentCount],
  ['trace_id', 'text', (v) => v.traceId],
  ['user_hash', 'text', (v) => v.userHash],
];

export const countColumns: Columns<IsolationCount> = [
  ['pipeline', 'text', (c) => c.pipeline],
  ['rule', 'text', (c) => c.rule],
  ['hour', 'timestamptz', (c) => c.hour],
  ['outcome', 'text', (c) => c.outcome],
  // Counts of one batch.
  ['queries', 'integer', (c) => c.queries],
];

function names(columns: Columns<never>): string {
  return columns.map(([name]) => name).join(', ');
}

/**
 * Common table expressions `violated` and `checked` of the statement that stores an arrival.
 *
 * @param next returns the name of a parameter by its position, from 1: the columns of the violations come first, then
 *   those of the counts
 */
export function isolationSql(next: (place: number) => string): string {
  const unnest = (columns: Columns<never>, from: number): string =>
    columns.map(([, type], index) => `${next(from + index)}::${type}[]`).join(', ');
  const values = violationColumns.map(([name]) => (name === 'documents' ? 'v.documents::jsonb' : `v.${name}`));
  return `violated as (
    insert into isolation_violations (${names(violationColumns)})
    select ${values.join(', ')}
      from unnest(${unnest(violationColumns, 1)}) as v (${names(violationColumns)})
     where not exists (select 1 from isolation_violations y
                        where y.received_on = v.received_on - 1 and y.pipeline = v.pipeline
                          and y.query_id = v.query_id and y.rule = v.rule)
     order by v.pipeline, v.query_id, v.rule
    on conflict (received_on, pipeline, query_id, rule) do nothing
    returning pipeline, query_id, rule
  ), checked as (
    insert into isolation_counts (${names(countColumns)})
    select pipeline, rule, hour, outcome, sum(queries)
      from unnest(${unnest(countColumns, 1 + violationColumns.length)}) as c (${names(countColumns)})
     group by pipeline, rule, hour, outcome
     order by pipeline, rule, hour, outcome
    on conflict (pipeline, rule, hour, outcome) do update set queries = isolation_counts.queries + excluded.queries
  )`;
}

export interface SampledAnswer extends IsolatedAnswer {
  readonly id: string;
  readonly occurredAt: Date;
  readonly probability: number;
}

export type IsolationSummary = Awaited<ReturnType<ReturnType<typeof createIsolation>['summaries']>>[number];

/** A stored violation with its sequence number. */
export interface ListedViolation extends Omit<StoredViolation, 'traceId' | 'userHash'> {
  readonly number: string;
}

export interface ViolationFilter {
  readonly pipeline?: string | undefined;
  readonly rule?: string | undefined;
  readonly during?: TimeSpan | undefined;
  /** Sequence number of the last violation on the previous page. */
  readonly before?: string | undefined;
  readonly limit: number;
}

const summarySql = `
  with counted as (
    select pipeline, rule, outcome, sum(queries)::double precision as queries, null::timestamptz as latest
      from isolation_counts where hour > $1::timestamptz - interval '1 hour' and hour <= $2::timestamptz
     group by pipeline, rule, outcome
    union all
    select pipeline, rule, 'violated', count(*)::double precision, max(received_at)
      from isolation_violations where received_at > $1::timestamptz and received_at <= $2::timestamptz
     group by pipeline, rule
  )
  select pipeline, rule, max(latest) as last_violation_at, jsonb_object_agg(outcome, queries) as outcomes
    from counted where ($3::text is null or pipeline = $3::text) and ${visible('pipeline', 4)}
   group by pipeline, rule order by pipeline, rule`;

const listSql = `
  select number, pipeline, rule, query_id, received_at, occurred_at, segment, documents, document_count
    from isolation_violations
   where ($1::text is null or pipeline = $1::text) and ($2::text is null or rule = $2::text)
     and ($3::timestamptz is null or received_at > $3::timestamptz)
     and ($4::timestamptz is null or received_at <= $4::timestamptz)
     and ($5::bigint is null or number < $5::bigint) and ${visible('pipeline', 7)}
   order by number desc limit $6::integer`;

const READ_SAMPLES = 2000;

export function createIsolation(pool: Pool, scope: Scope = null) {
  return {
    /** Reads a pipeline's samples that arrived in a time range, in batches, without texts and vectors. */
    async *samples(pipeline: string, { from, until }: TimeSpan): AsyncGenerator<readonly SampledAnswer[]> {
      let after: readonly [day: string | null, id: string | null] = [null, null];
      for (;;) {
        const rows: (Omit<SampledAnswer, 'results'> & {
          readonly receivedOn: string;
          readonly results: readonly ResultRow[];
        })[] = await queryRows(
          pool,
          `select received_on::text, id, occurred_at, probability, segments, results from live_queries
            where pipeline = $1::text and received_at >= $2::timestamptz and received_at < $3::timestamptz
              and received_on >= ($2::timestamptz at time zone 'utc')::date
              and received_on <= ($3::timestamptz at time zone 'utc')::date
              and ($4::date is null or (received_on, id) > ($4::date, $5::text))
            order by received_on, id limit $6::integer`,
          [pipeline, from, until, ...after, READ_SAMPLES],
        );
        const last = rows.at(-1);
        if (last === undefined) return;
        yield rows.map((row) => ({ ...row, results: row.results.map(documentOfRow) }));
        after = [last.receivedOn, last.id];
      }
    },

    /**
     * Returns the results by pipeline and rule; omits rules that were not evaluated. Counts are stored per hour, so
     * they include the whole first hour.
     */
    async summaries({ from, until }: TimeSpan, pipeline: string | null = null) {
      const rows = await queryRows<{
        readonly pipeline: string;
        readonly rule: string;
        readonly lastViolationAt: Date | null;
        readonly outcomes: Readonly<Partial<Record<IsolationOutcome, number>>>;
      }>(pool, summarySql, [from, until, pipeline, scope?.pipelines ?? null]);
      return rows.map(({ outcomes, ...row }) => {
        // `violated`: number of live queries that returned a document forbidden by the rule.
        const { violated, allowed, ...unchecked } = { violated: 0, allowed: 0, ...noneUnchecked, ...outcomes };
        return { ...row, violated, allowed, unchecked };
      });
    },

    /** Returns violations, newest first. */
    async list({ pipeline, rule, during, before, limit }: ViolationFilter): Promise<readonly ListedViolation[]> {
      const rows = await queryRows<
        Omit<ListedViolation, 'documents'> & { readonly documents: readonly (readonly [string, number])[] }
      >(pool, listSql, [pipeline, rule, during?.from, during?.until, before, limit, scope?.pipelines]);
      return rows.map((row) => ({ ...row, documents: row.documents.map(([id, rank]) => ({ id, rank })) }));
    },
  };
}
