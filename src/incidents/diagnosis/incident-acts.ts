/**
 * Actions of users on incidents: acknowledging an incident, and marking its cause as right or wrong. Also counts how
 * often users marked the diagnosed cause as right.
 */

import type { Pool } from 'pg';
import type { Scope } from '../../core/context.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';
import { type Act, recordActs } from '../../platform/access/audit-log.ts';
import { queryRow, queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction } from '../../platform/postgres/transaction.ts';
import { visible } from '../../platform/postgres/visible.ts';
import { type Cause, type Confidence, confidences } from './rules/cause.ts';

export type IncidentActs = ReturnType<typeof createIncidentActs>;

export interface Actor {
  /** Name shown on pages; null if API keys are not required. */
  readonly name: string | null;
  /** Name in the audit log. */
  readonly by: string;
}

/**
 * How many diagnosed causes of one confidence level users marked (`marked`), and how many of these they marked as right
 * (`right`). The share of right causes and its 95 % CI are null if no cause is marked.
 */
export interface Reliability extends Readonly<Record<'share' | 'ciLow' | 'ciHigh', number | null>> {
  readonly confidence: Confidence;
  readonly marked: number;
  readonly right: number;
}

export function createIncidentActs(pool: Pool, scope: Scope = null) {
  const seen = scope?.pipelines ?? null;
  return {
    /**
     * Records who acknowledged an incident; a later call replaces an earlier one. Returns false if the incident does
     * not exist.
     */
    acknowledge: (id: string, { name, by }: Actor, at: Date): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const known = await queryRow<{ pipeline: string; acknowledgedBy: string | null }>(
          client,
          `select pipeline, acknowledged_by from incidents where id = $1::bigint and ${visible('pipeline', 2)} for update`,
          [id, seen],
        );
        if (known === null) return false;
        await client.query(
          'update incidents set acknowledged_at = $2::timestamptz, acknowledged_by = $3::text where id = $1::bigint',
          [id, at, name],
        );
        const before = known.acknowledgedBy === null ? null : { by: known.acknowledgedBy };
        const act = { at, by, pipeline: known.pipeline, subject: `incident ${id}` };
        await recordActs(client, [{ ...act, act: 'acknowledge_incident', before, after: { by: name } }]);
        return true;
      }),

    /**
     * Marks a diagnosed cause as right or wrong. A later mark replaces an earlier one.
     *
     * @param actualCause the actual cause if the diagnosed cause was wrong; null if unknown
     * @returns false if no diagnosis of the incident names the cause
     */
    mark: (
      id: string,
      mark: { readonly cause: Cause; readonly isRight: boolean; readonly actualCause: Cause | null },
      { name, by }: Actor,
      at: Date,
    ): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const known = await queryRow<{ pipeline: string; diagnosisId: string; before: Act['before'] }>(
          client,
          `select i.pipeline, d.id as diagnosis_id,
                  (select jsonb_build_object('right', m.is_right, 'actual_cause', m.actual_cause)
                     from cause_marks m where m.incident_id = i.id) as before
             from incidents i join diagnoses d on d.incident_id = i.id and d.cause = $2::text
            where i.id = $1::bigint and ${visible('i.pipeline', 3)} order by d.id desc limit 1 for update of i`,
          [id, mark.cause, seen],
        );
        if (known === null) return false;
        const { pipeline, diagnosisId, before } = known;
        await client.query(
          `insert into cause_marks (incident_id, diagnosis_id, is_right, actual_cause, marked_at, marked_by)
           values ($1::bigint, $2::bigint, $3::boolean, $4::text, $5::timestamptz, $6::text)
           on conflict (incident_id) do update
             set (diagnosis_id, is_right, actual_cause, marked_at, marked_by)
               = (excluded.diagnosis_id, excluded.is_right, excluded.actual_cause, excluded.marked_at, excluded.marked_by)`,
          [id, diagnosisId, mark.isRight, mark.isRight ? null : mark.actualCause, at, name ?? by],
        );
        const after = { cause: mark.cause, right: mark.isRight, actual_cause: mark.actualCause };
        await recordActs(client, [{ at, by, pipeline, subject: `incident ${id}`, act: 'mark_cause', before, after }]);
        return true;
      }),

    /** Returns how often users marked the diagnosed cause as right, by confidence. Ignores unknown causes. */
    async reliability(pipeline: string | null): Promise<readonly Reliability[]> {
      const rows = await queryRows<{ confidence: Confidence; marked: number; right: number }>(
        pool,
        `select d.confidence, count(*)::integer as marked, count(*) filter (where m.is_right)::integer as "right"
           from cause_marks m join diagnoses d on d.id = m.diagnosis_id join incidents i on i.id = m.incident_id
          where d.cause <> 'unknown' and ($1::text is null or i.pipeline = $1::text) and ${visible('i.pipeline', 2)}
          group by 1`,
        [pipeline, seen],
      );
      return confidences.map((confidence) => {
        const { marked = 0, right = 0 } = rows.find((row) => row.confidence === confidence) ?? {};
        const share = marked === 0 ? null : right / marked;
        const bounds = share === null ? null : wilsonInterval(share, marked, 0.95);
        return { confidence, marked, right, share, ciLow: bounds?.low ?? null, ciHigh: bounds?.high ?? null };
      });
    },
  };
}
