/**
 * Incidents and their diagnoses in PostgreSQL, and the metric `recalld_diagnosis_info`, which supplies the cause for
 * alert annotations.
 */

import type { Pool, PoolClient } from 'pg';
import type { Context, Scope } from '../../core/context.ts';
import type { TimeSpan } from '../../core/time.ts';
import { topicsTable } from '../../density/topics-table.ts';
import { type GaugesAt, sample } from '../../platform/metrics/meter.ts';
import { queryRow, queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction } from '../../platform/postgres/transaction.ts';
import { visible } from '../../platform/postgres/visible.ts';
import {
  type Alert,
  type AlertTimeline,
  type CauseMark,
  type ClosingReason,
  type Diagnosis,
  type Incident,
  isEcho,
  isFinal,
  type NamedAlert,
  type Recoveries,
  topicIdsIn,
  trendOf,
  updateTimelines,
  withTopicNames,
} from './rules/incident.ts';
import { describesRepair, replacesLast, type Said } from './rules/next-diagnosis.ts';

/** Outcome of recording a diagnosis. `outdated`: a later diagnosis was already stored. */
export type RecordOutcome = 'opened' | 'updated' | 'unchanged' | 'outdated';

export interface IncidentFilter {
  readonly pipeline?: string | undefined;
  /** Returns only incidents that were open at some point between `from` and `until`. */
  readonly during?: TimeSpan;
  /** Id of the last incident on the previous page. */
  readonly before?: string | undefined;
  readonly limit: number;
}

export type Incidents = ReturnType<typeof createIncidents>;

type IncidentRow = Omit<Incident, 'timeline' | 'earlier' | 'mark'> & {
  readonly timeline: unknown;
  readonly mark: (Omit<CauseMark, 'markedAt'> & { readonly markedAt: string }) | null;
  readonly earlier: readonly (Omit<Incident['earlier'][number], 'diagnosedAt'> & { readonly diagnosedAt: string })[];
};

const select = `
  select i.id, i.pipeline, i.opened_at, i.closed_at, i.closed_because, i.severity, i.confirmed_at, i.timeline,
         i.acknowledged_at, i.acknowledged_by, d.diagnosed_at,
         d.cause, d.confidence, d.probability, d.summary, d.alerts, d.run_id, d.reference_run_id,
         d.findings -> 'ranked' as ranked,
         d.findings -> 'signs' as signs, d.findings -> 'also' as also, d.findings -> 'weighed' as weighed,
         d.findings -> 'effects' as effects, (d.findings ->> 'failedShare')::double precision as failed_share,
         coalesce((select jsonb_agg(jsonb_build_object('diagnosedAt', e.diagnosed_at, 'cause', e.cause, 'confidence', e.confidence,
                                                       'probability', e.probability, 'summary', e.summary, 'alerts', e.alerts,
                                                       'runId', e.run_id, 'signs', e.findings -> 'signs',
                                                       'also', e.findings -> 'also', 'weighed', e.findings -> 'weighed',
                                                       'effects', e.findings -> 'effects',
                                                       'failedShare', e.findings -> 'failedShare') order by e.id desc)
                     from diagnoses e where e.incident_id = i.id and e.id < d.id), '[]') as earlier,
         (select jsonb_build_object('cause', c.cause, 'confidence', c.confidence, 'isRight', m.is_right,
                                    'actualCause', m.actual_cause, 'markedAt', m.marked_at, 'markedBy', m.marked_by)
            from cause_marks m join diagnoses c on c.id = m.diagnosis_id where m.incident_id = i.id) as mark
    from incidents i
    join lateral (select * from diagnoses where incident_id = i.id order by id desc limit 1) d on true`;

const open = `
  insert into incidents (pipeline, opened_at, severity, evaluated_at, confirmed_at, timeline)
  select $1::text, $2::timestamptz, $3::text, $2::timestamptz, null, $4::jsonb
   where not exists (select from configured_items
                      where pipeline = $1::text and kind = 'pipeline' and ended_at is not null)
  on conflict (pipeline) where closed_at is null do nothing
  returning id`;

const addDiagnosis = `
  insert into diagnoses (incident_id, diagnosed_at, cause, confidence, probability, summary, alerts, run_id,
                         reference_run_id, findings)
  values ($1::bigint, $2::timestamptz, $3::text, $4::text, $5::double precision, $6::text, $7::text[], $8::text,
          $9::text, $10::jsonb)`;

export function createIncidents(pool: Pool, scope: Scope = null) {
  const topics = topicsTable(pool);
  const seen = scope?.pipelines ?? null;
  const read = async (where: string, values: readonly unknown[]): Promise<readonly Incident[]> => {
    const rows = await queryRows<IncidentRow>(pool, `${select} ${where}`, [...values]);
    const names = await topics.names(rows.flatMap(topicIdsIn));
    return rows.map((row) => withTopicNames(incidentOf(row), names));
  };
  return {
    async current(pipeline: string): Promise<Incident | null> {
      const [found] = await read('where i.pipeline = $1::text and i.closed_at is null', [pipeline]);
      return found ?? null;
    },

    open: (): Promise<readonly Incident[]> =>
      read(`where i.closed_at is null and ${visible('i.pipeline', 1)} order by i.pipeline`, [seen]),

    async find(id: string): Promise<Incident | null> {
      const [found] = await read(`where i.id = $1::bigint and ${visible('i.pipeline', 2)}`, [id, seen]);
      return found ?? null;
    },

    /**
     * Records the firing alerts and their diagnosis. Opens an incident or updates the open one, and adds the diagnosis
     * if it replaces the latest one. Recording the same input twice, in a retry or on another replica, has no further
     * effect.
     */
    record: (
      firing: readonly Alert[],
      diagnosis: Diagnosis,
      at: Date,
      recoveries: Recoveries = new Map(),
    ): Promise<RecordOutcome> => inTransaction(pool, (client) => record(client, firing, diagnosis, at, recoveries)),

    /**
     * Returns true if all firing alerts belong to an incident that is already resolved; such alerts open no new
     * incident.
     */
    async isEcho(pipeline: string, firing: readonly Alert[], at: Date): Promise<boolean> {
      const last = await queryRow<{ readonly closedAt: Date }>(
        pool,
        `select closed_at from incidents
          where pipeline = $1::text and closed_because = 'resolved' order by closed_at desc limit 1`,
        [pipeline],
      );
      return last !== null && firing.every((alert) => isEcho(alert, last.closedAt, at));
    },

    /** Closes the open incident. Returns false if the pipeline had no open incident. */
    close: (
      pipeline: string,
      at: Date,
      because: ClosingReason = 'resolved',
      recoveries: Recoveries = new Map(),
    ): Promise<boolean> => inTransaction(pool, (client) => closeIncident(client, pipeline, because, at, recoveries)),

    /** Returns incidents, newest first. */
    list({ pipeline, during, before, limit }: IncidentFilter): Promise<readonly Incident[]> {
      return read(
        `where ($1::text is null or i.pipeline = $1::text) and ($2::bigint is null or i.id < $2::bigint)
           and ($3::timestamptz is null or i.closed_at is null or i.closed_at > $3::timestamptz)
           and ($4::timestamptz is null or i.opened_at <= $4::timestamptz) and ${visible('i.pipeline', 6)}
         order by i.id desc limit $5::integer`,
        [pipeline, before, during?.from, during?.until, limit, seen],
      );
    },

    /** Deletes incidents that closed before the given time, with their notes. */
    async prune(before: Date): Promise<void> {
      await pool.query(
        `with gone as (delete from incidents where closed_at < $1::timestamptz returning id)
         delete from annotations where subject = 'incident' and subject_id in (select id::text from gone)`,
        [before],
      );
    },
  };
}

/** Closes the open incident of a pipeline. Returns false if none was open. */
export async function closeIncident(
  client: PoolClient,
  pipeline: string,
  because: ClosingReason,
  at: Date,
  recoveries: Recoveries = new Map(),
): Promise<boolean> {
  const known = await lockOpen(client, pipeline);
  if (known === null) return false;
  await client.query(
    `update incidents
        set closed_at = greatest($2::timestamptz, evaluated_at), closed_because = $3::text, timeline = $4::jsonb
      where id = $1::bigint`,
    [known.id, at, because, JSON.stringify(updateTimelines(known.timeline, [], at, recoveries))],
  );
  return true;
}

/** Locks the open incident, so that only one replica updates it. */
async function record(
  client: PoolClient,
  firing: readonly Alert[],
  diagnosis: Diagnosis,
  at: Date,
  recoveries: Recoveries,
): Promise<RecordOutcome> {
  const { pipeline } = diagnosis;
  const begun = JSON.stringify(updateTimelines([], firing, at));
  const opened = await queryRow<{ id: string }>(client, open, [pipeline, at, worstOf(firing), begun]);
  if (opened !== null) {
    await client.query(addDiagnosis, diagnosisValues(opened.id, diagnosis, at));
    return 'opened';
  }
  const known = await lockOpen(client, pipeline);
  // Another replica closed the incident or stored a later diagnosis. If an alert still fires, the next diagnosis
  // records it.
  if (known === null || known.evaluatedAt > at) return 'outdated';
  const timeline = updateTimelines(known.timeline, firing, at, recoveries);
  await client.query(
    `update incidents
        set timeline = $2::jsonb, severity = $3::text, evaluated_at = $4::timestamptz,
            confirmed_at = coalesce(confirmed_at, $5::timestamptz)
      where id = $1::bigint`,
    [known.id, JSON.stringify(timeline), worstOf(timeline), at, isFinal(known.openedAt, at) ? at : null],
  );
  if (describesRepair(known.last, diagnosis, known.openedAt, at)) return 'unchanged';
  const trend = trendOf(known.timeline, firing, at);
  if (!replacesLast(known.last, diagnosis, trend, known.last.wasTrusted)) return 'unchanged';
  await client.query(addDiagnosis, diagnosisValues(known.id, diagnosis, at));
  return 'updated';
}

interface OpenIncident extends Pick<Incident, 'id' | 'openedAt' | 'timeline'> {
  readonly evaluatedAt: Date;
  readonly last: Said & { readonly wasTrusted: boolean };
}

async function lockOpen(client: PoolClient, pipeline: string): Promise<OpenIncident | null> {
  const incident = await queryRow<Omit<OpenIncident, 'timeline' | 'last'> & { readonly timeline: unknown }>(
    client,
    `select id, opened_at, evaluated_at, timeline from incidents
      where pipeline = $1::text and closed_at is null for update`,
    [pipeline],
  );
  if (incident === null) return null;
  const last = await queryRow<OpenIncident['last']>(
    client,
    `select cause, confidence, alerts, run_id, findings -> 'signs' as signs,
            exists (select from diagnoses same
                     where same.incident_id = last.incident_id and same.cause = last.cause and same.confidence <> 'low')
              as was_trusted
       from diagnoses last
      where incident_id = $1::bigint order by id desc limit 1`,
    [incident.id],
  );
  return last && { ...incident, timeline: timelineOf(incident.timeline), last };
}

function worstOf(alerts: readonly NamedAlert[]): NamedAlert['severity'] {
  return alerts.some(({ severity }) => severity === 'critical') ? 'critical' : 'warning';
}

function diagnosisValues(incidentId: string, diagnosis: Diagnosis, at: Date): unknown[] {
  const { cause, confidence, probability, summary, alerts, runId, referenceRunId } = diagnosis;
  const { ranked, signs, weighed, effects, failedShare, also } = diagnosis;
  const findings = JSON.stringify({ ranked, signs, weighed, effects, failedShare, also });
  return [incidentId, at, cause, confidence, probability, summary, [...alerts], runId, referenceRunId, findings];
}

function incidentOf({ timeline, earlier, mark, ...row }: IncidentRow): Incident {
  return {
    ...row,
    mark: mark && { ...mark, markedAt: new Date(mark.markedAt) },
    timeline: timelineOf(timeline),
    earlier: earlier.map(({ diagnosedAt, ...said }) => ({ ...said, diagnosedAt: new Date(diagnosedAt) })),
  };
}

function timelineOf(stored: unknown): AlertTimeline[] {
  const timelines = stored as readonly {
    readonly [Field in keyof AlertTimeline]: AlertTimeline[Field] extends Date ? string : AlertTimeline[Field];
  }[];
  return timelines.map((one) => ({
    ...one,
    openedAt: new Date(one.openedAt),
    endedAt: one.endedAt === null ? null : new Date(one.endedAt),
    criticalAt: one.criticalAt.map((at) => new Date(at)),
    worst: { ...one.worst, at: new Date(one.worst.at) },
  }));
}

/**
 * Exports no cause before the second diagnosis. Otherwise, an alert that fires immediately would keep showing the first
 * guess.
 */
export async function readDiagnosisGauges({ db, pipelines }: Context): Promise<GaugesAt> {
  const watched = new Set(pipelines.map(({ name }) => name));
  const samples = (await db.incidents.open())
    .filter(({ pipeline, confirmedAt }) => watched.has(pipeline) && confirmedAt !== null)
    .map(({ pipeline, cause, confidence }) => sample('recalld_diagnosis_info', { pipeline, cause, confidence }, 1));
  return () => samples;
}
