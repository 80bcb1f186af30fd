/** Verdicts of checks over time, in PostgreSQL. */
import type { Pool, PoolClient } from 'pg';
import type { Severity, Verdict } from '../../core/model.ts';
import type {
  CheckHistory,
  CheckStep,
  CheckTransition,
  StoredStanding,
  TransitionFilter,
} from '../../ports/check-history.ts';
import { inTransaction } from './transaction.ts';

interface StandingRow {
  pipeline: string;
  check_name: string;
  severity: Severity;
  threshold: number;
  verdict: Verdict;
  since: Date;
  last_known: Exclude<Verdict, 'no_data'> | null;
  candidate: Verdict | null;
  seen: number;
  value: number | null;
  segment: string | null;
  explanation: string;
  is_quiet: boolean;
  evidence_at: Date | null;
  evaluated_at: Date;
  revision: string;
}

interface TransitionRow {
  id: string;
  pipeline: string;
  check_name: string;
  severity: Severity;
  from_verdict: Verdict | null;
  to_verdict: Verdict;
  occurred_at: Date;
  ended_at: Date | null;
  threshold: number;
  value: number | null;
  segment: string | null;
  explanation: string;
}

const standingColumns = `pipeline, check_name, severity, threshold, verdict, since, last_known, candidate, seen, value,
  segment, explanation, is_quiet, evidence_at, evaluated_at, revision`;

/** How did verdicts change, newest first, and when did each end? */
const transitionsSql = `
  select t.id, t.pipeline, t.check_name, t.severity, t.from_verdict, t.to_verdict, t.occurred_at, next.occurred_at as ended_at,
         t.threshold, t.value, t.segment, t.explanation
    from check_transitions t
    left join lateral (select occurred_at from check_transitions
                        where pipeline = t.pipeline and check_name = t.check_name and id > t.id
                        order by id limit 1) next on true
   where ($1::text is null or t.pipeline = $1::text)
     and ($2::text is null or t.check_name = $2::text)
     and ($3::timestamptz is null or t.occurred_at >= $3::timestamptz)
     and ($4::timestamptz is null or t.occurred_at < $4::timestamptz)
     and ($5::bigint is null or t.id < $5::bigint)
   order by t.id desc
   limit $6::integer`;

export function createCheckHistory(pool: Pool): CheckHistory {
  return {
    async standings() {
      const { rows } = await pool.query<StandingRow>(
        `select ${standingColumns} from check_states order by pipeline, check_name`,
      );
      return rows.map(toStanding);
    },

    advance: (steps) =>
      inTransaction(pool, async (client) => {
        const taken: CheckStep[] = [];
        // In one order, so that two workers never wait for each other.
        for (const step of steps.toSorted(byCheck)) {
          if (!(await write(client, step))) continue;
          taken.push(step);
          if (step.from !== step.standing.verdict) await note(client, step);
        }
        return taken;
      }),

    async transitions({ pipeline, check, since, until, before, limit }: TransitionFilter) {
      const { rows } = await pool.query<TransitionRow>(transitionsSql, [
        pipeline ?? null,
        check ?? null,
        since ?? null,
        until ?? null,
        before ?? null,
        limit,
      ]);
      return rows.map(toTransition);
    },

    async prune(before) {
      await pool.query('delete from check_transitions where occurred_at < $1::timestamptz', [before]);
      await pool.query('delete from check_states where evaluated_at < $1::timestamptz', [before]);
    },
  };
}

/** @returns false when the check has meanwhile moved on */
async function write(client: PoolClient, { standing, revision }: CheckStep): Promise<boolean> {
  const { rowCount } = await client.query(
    `insert into check_states as s (${standingColumns})
     values ($1::text, $2::text, $3::text, $4::double precision, $5::text, $6::timestamptz, $7::text, $8::text,
       $9::integer, $10::double precision, $11::text, $12::text, $13::boolean, $14::timestamptz, $15::timestamptz,
       $16::bigint + 1)
     on conflict (pipeline, check_name) do update
       set severity = excluded.severity, threshold = excluded.threshold, verdict = excluded.verdict,
         since = excluded.since, last_known = excluded.last_known, candidate = excluded.candidate,
         seen = excluded.seen, value = excluded.value, segment = excluded.segment,
         explanation = excluded.explanation, is_quiet = excluded.is_quiet, evidence_at = excluded.evidence_at,
         evaluated_at = excluded.evaluated_at, revision = excluded.revision
       where s.revision = $16::bigint`,
    [
      standing.pipeline,
      standing.name,
      standing.severity,
      standing.threshold,
      standing.verdict,
      standing.since,
      standing.lastKnown,
      standing.candidate,
      standing.seen,
      standing.value,
      standing.segment,
      standing.explanation,
      standing.isQuiet,
      standing.evidenceAt,
      standing.evaluatedAt,
      revision,
    ],
  );
  return rowCount === 1;
}

async function note(client: PoolClient, { standing, from }: CheckStep): Promise<void> {
  await client.query(
    `insert into check_transitions
       (pipeline, check_name, severity, from_verdict, to_verdict, occurred_at, threshold, value, segment, explanation)
     values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::timestamptz, $7::double precision,
       $8::double precision, $9::text, $10::text)`,
    [
      standing.pipeline,
      standing.name,
      standing.severity,
      from,
      standing.verdict,
      standing.since,
      standing.threshold,
      standing.value,
      standing.segment,
      standing.explanation,
    ],
  );
}

function byCheck({ standing: a }: CheckStep, { standing: b }: CheckStep): number {
  if (a.pipeline !== b.pipeline) return a.pipeline < b.pipeline ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

function toStanding(row: StandingRow): StoredStanding {
  const { check_name, last_known, is_quiet, evidence_at, evaluated_at, revision, ...rest } = row;
  return {
    ...rest,
    name: check_name,
    lastKnown: last_known,
    isQuiet: is_quiet,
    evidenceAt: evidence_at,
    evaluatedAt: evaluated_at,
    revision: Number(revision),
  };
}

function toTransition(row: TransitionRow): CheckTransition {
  const { check_name, from_verdict, to_verdict, occurred_at, ended_at, ...rest } = row;
  return {
    ...rest,
    check: check_name,
    from: from_verdict,
    to: to_verdict,
    occurredAt: occurred_at,
    endedAt: ended_at,
  };
}
