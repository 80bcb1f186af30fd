/** Diagnoses in PostgreSQL, and those that hold as metric samples, for the annotations of alerts. */
import type { Pool, PoolClient } from 'pg';
import { type GaugesAt, sample } from '../metrics/meter.ts';
import { inTransaction } from '../postgres/transaction.ts';
import { type Diagnosis, isSameDiagnosis, nextStep, type StoredDiagnosis } from './rules/episode.ts';

/** `outdated`: a later look was stored already. */
export type DiagnosisStored = 'opened' | 'revised' | 'superseded' | 'unchanged' | 'outdated';

export interface DiagnosisFilter {
  readonly pipeline?: string;
  /** Only those that held at some time from `from` to `until`. */
  readonly holding?: { readonly from: Date; readonly until: Date };
  /** Id of a diagnosis that was listed, to go on behind it. */
  readonly before?: string;
  readonly limit: number;
}

/** What was likely behind the alarms of each pipeline. */
export type Diagnoses = ReturnType<typeof createDiagnoses>;

const columns = `id, pipeline, opened_at as "openedAt", revised_at as "revisedAt", closed_at as "closedAt", cause, confidence,
  probability, summary, alarms, run_id as "runId", reference_run_id as "referenceRunId", findings -> 'ranked' as ranked,
  findings -> 'signs' as signs`;

const insert = `
  insert into diagnoses (pipeline, opened_at, revised_at, cause, confidence, probability, summary, alarms, run_id,
                         reference_run_id, findings)
  values ($1::text, $2::timestamptz, $2::timestamptz, $3::text, $4::text, $5::double precision, $6::text, $7::text[],
          $8::text, $9::text, $10::jsonb)
  on conflict (pipeline) where closed_at is null do nothing`;

const revise = `
  update diagnoses
     set revised_at = $2::timestamptz, cause = $3::text, confidence = $4::text, probability = $5::double precision,
         summary = $6::text, alarms = $7::text[], run_id = $8::text, reference_run_id = $9::text, findings = $10::jsonb
   where pipeline = $1::text and closed_at is null`;

const close = `
  update diagnoses set closed_at = greatest($2::timestamptz, opened_at)
   where pipeline = $1::text and closed_at is null`;

export function createDiagnoses(pool: Pool) {
  return {
    /** The diagnosis that holds; null when nothing is in alarm. */
    async current(pipeline: string): Promise<StoredDiagnosis | null> {
      const { rows } = await pool.query<StoredDiagnosis>(
        `select ${columns} from diagnoses where pipeline = $1::text and closed_at is null`,
        [pipeline],
      );
      return rows[0] ?? null;
    },

    /** Those of every pipeline that hold. */
    async open(): Promise<readonly StoredDiagnosis[]> {
      const { rows } = await pool.query<StoredDiagnosis>(
        `select ${columns} from diagnoses where closed_at is null order by pipeline`,
      );
      return rows;
    },

    /** Opens, revises or supersedes, as `nextStep` says. The same look stored again, by a retry or a replica, changes nothing. */
    keep: (diagnosis: Diagnosis, at: Date): Promise<DiagnosisStored> =>
      inTransaction(pool, (client) => keep(client, diagnosis, at)),

    /** Nothing is in alarm any more. @returns whether there was one to close */
    async close(pipeline: string, at: Date): Promise<boolean> {
      const { rowCount } = await pool.query(close, [pipeline, at]);
      return rowCount === 1;
    },

    /** Newest first. */
    async list(filter: DiagnosisFilter): Promise<readonly StoredDiagnosis[]> {
      const { pipeline = null, holding, before = null, limit } = filter;
      const { rows } = await pool.query<StoredDiagnosis>(
        `select ${columns} from diagnoses
          where ($1::text is null or pipeline = $1::text) and ($2::bigint is null or id < $2::bigint)
            and ($3::timestamptz is null or closed_at is null or closed_at > $3::timestamptz)
            and ($4::timestamptz is null or opened_at <= $4::timestamptz)
          order by id desc limit $5::integer`,
        [pipeline, before, holding?.from ?? null, holding?.until ?? null, limit],
      );
      return rows;
    },

    /** Drops closed ones that ended before a time. */
    async prune(before: Date): Promise<void> {
      await pool.query('delete from diagnoses where closed_at < $1::timestamptz', [before]);
    },
  };
}

/** The open row is locked, so that of many replicas one decides what becomes of it. */
async function keep(client: PoolClient, diagnosis: Diagnosis, at: Date): Promise<DiagnosisStored> {
  const values = valuesOf(diagnosis, at);
  const first = await client.query(insert, values);
  if (first.rowCount === 1) return 'opened';
  const { rows } = await client.query<StoredDiagnosis>(
    `select ${columns} from diagnoses where pipeline = $1::text and closed_at is null for update`,
    [diagnosis.pipeline],
  );
  const open = rows[0] ?? null;
  // Closed in between: the next look opens it again if there is still something in alarm.
  if (open === null || open.revisedAt > at) return 'outdated';
  if (isSameDiagnosis(open, diagnosis)) return 'unchanged';
  const step = nextStep(open, diagnosis);
  if (step === 'stay') return 'unchanged';
  if (step === 'revise') {
    await client.query(revise, values);
    return 'revised';
  }
  await client.query(close, [diagnosis.pipeline, at]);
  await client.query(insert, values);
  return 'superseded';
}

function valuesOf(diagnosis: Diagnosis, at: Date): unknown[] {
  const { pipeline, cause, confidence, probability, summary, alarms, ranked, signs } = diagnosis;
  const { runId, referenceRunId } = diagnosis;
  return [
    pipeline,
    at,
    cause,
    confidence,
    probability,
    summary,
    [...alarms],
    runId,
    referenceRunId,
    JSON.stringify({ ranked, signs }),
  ];
}

/** The diagnoses that hold -> metric samples, for the annotations of alerts. */
interface DiagnosisGaugesDeps {
  readonly diagnoses: Pick<Diagnoses, 'open'>;
  /** Names of the pipelines of the config; what is stored of others is left out. */
  readonly pipelines: readonly string[];
}

export async function readDiagnosisGauges({ diagnoses, pipelines }: DiagnosisGaugesDeps): Promise<GaugesAt> {
  const watched = new Set(pipelines);
  const samples = (await diagnoses.open())
    .filter(({ pipeline }) => watched.has(pipeline))
    .map(({ pipeline, cause, confidence }) => sample('recalld_diagnosis_info', { pipeline, cause, confidence }, 1));
  return () => samples;
}
