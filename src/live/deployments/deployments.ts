import type { Pool, PoolClient } from 'pg';
import type { Scope } from '../../core/context.ts';
import { groupBy } from '../../core/group-by.ts';
import { recordActs } from '../../platform/access/audit-log.ts';
import { queryRow, queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction } from '../../platform/postgres/transaction.ts';
import { visible } from '../../platform/postgres/visible.ts';
import {
  type Deployment,
  type Fingerprint,
  type NewDeployment,
  type TraitChange,
  traitChanges,
} from './rules/deployment.ts';

const fingerprintColumns = 'pipeline, component, fingerprint, traits, since, seen_at';
const columns = 'id, pipeline, kind, version, note, source, occurred_at, changes';

const insert = `
  insert into deployments (pipeline, kind, version, note, source, occurred_at, changes)
  values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::timestamptz, $7::jsonb)
  returning ${columns}`;

export function createDeployments(pool: Pool, scope: Scope = null) {
  return {
    /** @param by user or API key for the audit log */
    annotate: (change: NewDeployment, by: string, now: Date): Promise<Deployment> =>
      inTransaction(pool, async (client) => {
        const deployment = await inserted(client, change, 'annotated', []);
        const { pipeline, kind, version, occurredAt } = change;
        const after = { kind, version, occurred_at: occurredAt.toISOString() };
        await recordActs(client, [
          { at: now, by, act: 'add_deployment', pipeline, subject: deployment.id, before: null, after },
        ]);
        return deployment;
      }),

    /** Records a change that recalld made or detected. */
    detect: (change: NewDeployment, changes: readonly TraitChange[]): Promise<Deployment> =>
      inserted(pool, change, 'detected', changes),

    /**
     * Records the fingerprint of a component. If the fingerprint differs from the stored one, records and returns a
     * deployment. If several replicas detect the same change, only one records it. The first fingerprint does not count
     * as a deployment.
     */
    observe: (observation: Observation): Promise<Deployment | null> =>
      inTransaction(pool, (client) => observe(client, observation)),

    fingerprints: (): Promise<readonly Fingerprint[]> =>
      queryRows(
        pool,
        `select ${fingerprintColumns} from fingerprints where ${visible('pipeline', 1)} order by pipeline, component`,
        [scope?.pipelines ?? null],
      ),

    /** Returns deployments, newest first; `before` is the id of the last deployment on the previous page. */
    list: ({
      pipeline,
      before,
      since,
      limit,
    }: {
      readonly pipeline?: string | undefined;
      readonly before?: string | undefined;
      readonly since?: Date;
      readonly limit: number;
    }): Promise<readonly Deployment[]> =>
      queryRows(
        pool,
        `select ${columns} from deployments d
          where ($1::text is null or pipeline = $1::text)
            and ($2::bigint is null or (occurred_at, id) < (select occurred_at, id from deployments
                                                                where id = $2::bigint and ${visible('pipeline', 5)}))
            and ($3::timestamptz is null or occurred_at >= $3::timestamptz) and ${visible('pipeline', 5)}
          order by occurred_at desc, id desc
          limit $4::integer`,
        [pipeline, before, since, limit, scope?.pipelines ?? null],
      ),
  };
}

/** Locks the row of the component, so that only one of several replicas records a change. */
async function observe(client: PoolClient, observation: Observation): Promise<Deployment | null> {
  const { pipeline, component, fingerprint, traits, at } = observation;
  const first = await client.query(
    `insert into fingerprints (pipeline, component, fingerprint, traits, since, seen_at)
     values ($1::text, $2::text, $3::text, $4::jsonb, $5::timestamptz, $5::timestamptz)
     on conflict do nothing`,
    [pipeline, component, fingerprint, JSON.stringify(traits), at],
  );
  if (first.rowCount === 1) return null;
  const known = await queryRow<Fingerprint>(
    client,
    `select ${fingerprintColumns} from fingerprints where pipeline = $1::text and component = $2::text for update`,
    [pipeline, component],
  );
  if (known === null) throw new Error('the fingerprint that the insert conflicted with does not exist');
  // A slow probe may report later than a probe that started after it.
  if (known.seenAt > at) return null;
  const isChanged = known.fingerprint !== fingerprint;
  await client.query(
    `update fingerprints set fingerprint = $3::text, traits = $4::jsonb, seen_at = $5::timestamptz, since = $6::timestamptz
      where pipeline = $1::text and component = $2::text`,
    [pipeline, component, fingerprint, JSON.stringify(traits), at, isChanged ? at : known.since],
  );
  if (!isChanged) return null;
  const change = { pipeline, kind: component, version: fingerprint, note: null, occurredAt: at };
  return inserted(client, change, 'detected', traitChanges(known.traits, traits));
}

async function inserted(
  db: Pool | PoolClient,
  { pipeline, kind, version, note, occurredAt }: NewDeployment,
  source: Deployment['source'],
  changes: readonly TraitChange[],
): Promise<Deployment> {
  const values = [pipeline, kind, version, note, source, occurredAt, JSON.stringify(changes)];
  const deployment = await queryRow<Deployment>(db, insert, values);
  if (deployment === null) throw new Error('the insert of a deployment returned no row');
  return deployment;
}

export interface Observation extends Pick<Fingerprint, 'pipeline' | 'component' | 'fingerprint' | 'traits'> {
  readonly at: Date;
}

export const annotationSubjects = ['run', 'deployment', 'incident'] as const;

export type AnnotationSubject = (typeof annotationSubjects)[number];

export interface Annotation {
  readonly id: string;
  readonly subject: AnnotationSubject;
  readonly subjectId: string;
  readonly text: string;
  /** Name of the API key; null if API keys are not required. */
  readonly author: string | null;
  readonly createdAt: Date;
}

const existing: Record<AnnotationSubject, string> = {
  run: 'select pipeline from golden_runs where id = $2::text',
  deployment: 'select pipeline from deployments where id::text = $2::text',
  incident: 'select pipeline from incidents where id::text = $2::text',
};

export function createAnnotations(pool: Pool, scope: Scope = null) {
  return {
    /**
     * @param by user or API key for the audit log
     * @returns false if the subject does not exist
     */
    add: ({ subject, subjectId, text, author, createdAt }: Omit<Annotation, 'id'>, by: string): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const noted = await queryRow<{ id: string; pipeline: string }>(
          client,
          `with found as (${existing[subject]} and ${visible('pipeline', 6)}), noted as (
             insert into annotations (subject, subject_id, text, author, created_at)
             select $1::text, $2::text, $3::text, $4::text, $5::timestamptz from found
             returning id)
           select noted.id, found.pipeline from noted, found`,
          [subject, subjectId, text, author, createdAt, scope?.pipelines ?? null],
        );
        if (noted === null) return false;
        const { id, pipeline } = noted;
        const named = `${subject} ${subjectId}`;
        await recordActs(client, [
          { at: createdAt, by, act: 'add_note', pipeline, subject: named, before: null, after: { note_id: id } },
        ]);
        return true;
      }),

    /** Returns the notes on subjects of one kind, grouped by subject id and ordered from oldest to newest. */
    async of(subject: AnnotationSubject, ids: readonly string[]): Promise<ReadonlyMap<string, readonly Annotation[]>> {
      const notes = await queryRows<Annotation>(
        pool,
        `select id, subject, subject_id, text, author, created_at from annotations
          where subject = $1::text and subject_id = any ($2::text[]) order by id`,
        [subject, ids],
      );
      return groupBy(notes, ({ subjectId }) => subjectId);
    },
  };
}
