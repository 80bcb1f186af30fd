/** Deployments, fingerprints, and what people noted on deployments and runs, in PostgreSQL. */
import type { Pool, PoolClient } from 'pg';
import { recordActs } from '../../platform/access/audit-log.ts';
import { queryRow, queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction } from '../../platform/postgres/transaction.ts';
import {
  type Deployment,
  type Fingerprint,
  type NewDeployment,
  type TraitChange,
  traitChanges,
} from './rules/deployment.ts';

const fingerprintColumns = 'pipeline, part, fingerprint, traits, since, seen_at';
const columns = 'id, pipeline, kind, version, note, source, occurred_at, changes';

const insert = `
  insert into deployments (pipeline, kind, version, note, source, occurred_at, changes)
  values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::timestamptz, $7::jsonb)
  returning ${columns}`;

export function createDeployments(pool: Pool) {
  return {
    /** @param by who does it, for the audit log */
    annotate: (
      { pipeline, kind, version, note, occurredAt }: NewDeployment,
      by: string,
      now: Date,
    ): Promise<Deployment> =>
      inTransaction(pool, async (client) => {
        const values = [pipeline, kind, version, note, 'annotated', occurredAt, '[]'];
        const deployment = await inserted(client, values);
        const after = { kind, version, occurred_at: occurredAt.toISOString() };
        await recordActs(client, [
          { at: now, by, act: 'add_deployment', pipeline, subject: deployment.id, before: null, after },
        ]);
        return deployment;
      }),

    /** Records a change that recalld itself brought about or saw, with what changed. */
    async detect(
      { pipeline, kind, version, note, occurredAt }: NewDeployment,
      changes: readonly TraitChange[],
    ): Promise<Deployment> {
      const values = [pipeline, kind, version, note, 'detected', occurredAt, JSON.stringify(changes)];
      return inserted(pool, values);
    },

    /**
     * Notes what a part is made of. When that is not what was noted before, a deployment of the part's kind is recorded,
     * once however many replicas look, and given back. The first look at a part is no deployment.
     */
    observe: (observation: Observation): Promise<Deployment | null> =>
      inTransaction(pool, (client) => observe(client, observation)),

    /** What every part was last seen to be made of. */
    fingerprints: (): Promise<readonly Fingerprint[]> =>
      queryRows(pool, `select ${fingerprintColumns} from fingerprints order by pipeline, part`),

    /** Newest first; `before` is the id of a deployment that was listed, to go on behind it. */
    list: ({
      pipeline,
      before,
      since,
      limit,
    }: {
      readonly pipeline?: string;
      readonly before?: string;
      readonly since?: Date;
      readonly limit: number;
    }): Promise<readonly Deployment[]> =>
      queryRows(
        pool,
        `select ${columns} from deployments d
          where ($1::text is null or pipeline = $1::text)
            and ($2::bigint is null or (occurred_at, id) < (select occurred_at, id from deployments where id = $2::bigint))
            and ($3::timestamptz is null or occurred_at >= $3::timestamptz)
          order by occurred_at desc, id desc
          limit $4::integer`,
        [pipeline, before, since, limit],
      ),
  };
}

/** The row of the part is locked, so that of many replicas that see a change one records it. */
async function observe(client: PoolClient, observation: Observation): Promise<Deployment | null> {
  const { pipeline, part, fingerprint, traits, at } = observation;
  const first = await client.query(
    `insert into fingerprints (pipeline, part, fingerprint, traits, since, seen_at)
     values ($1::text, $2::text, $3::text, $4::jsonb, $5::timestamptz, $5::timestamptz)
     on conflict do nothing`,
    [pipeline, part, fingerprint, JSON.stringify(traits), at],
  );
  if (first.rowCount === 1) return null;
  const known = await queryRow<Fingerprint>(
    client,
    `select ${fingerprintColumns} from fingerprints where pipeline = $1::text and part = $2::text for update`,
    [pipeline, part],
  );
  if (known === null) throw new Error('a fingerprint was not given back by the database');
  // A look that took long may come after a newer one.
  if (known.seenAt > at) return null;
  const isChanged = known.fingerprint !== fingerprint;
  await client.query(
    `update fingerprints set fingerprint = $3::text, traits = $4::jsonb, seen_at = $5::timestamptz, since = $6::timestamptz
      where pipeline = $1::text and part = $2::text`,
    [pipeline, part, fingerprint, JSON.stringify(traits), at, isChanged ? at : known.since],
  );
  if (!isChanged) return null;
  const changes = JSON.stringify(traitChanges(known.traits, traits));
  return inserted(client, [pipeline, part, fingerprint, null, 'detected', at, changes]);
}

async function inserted(db: Pool | PoolClient, values: readonly unknown[]): Promise<Deployment> {
  const deployment = await queryRow<Deployment>(db, insert, values);
  if (deployment === null) throw new Error('a deployment was not given back by the database');
  return deployment;
}

/** What a look at a part of a pipeline found. */
export interface Observation extends Pick<Fingerprint, 'pipeline' | 'part' | 'fingerprint' | 'traits'> {
  readonly at: Date;
}

/** Changes of what pipelines are made of. */
export type Deployments = ReturnType<typeof createDeployments>;

export const annotationSubjects = ['run', 'deployment'] as const;

export type AnnotationSubject = (typeof annotationSubjects)[number];

/** What a person noted about a golden run or a deployment. */
export interface Annotation {
  readonly id: string;
  readonly subject: AnnotationSubject;
  readonly subjectId: string;
  readonly text: string;
  /** Name of the API key; null where none is needed. */
  readonly author: string | null;
  readonly createdAt: Date;
}

export type Annotations = ReturnType<typeof createAnnotations>;

const existing: Record<AnnotationSubject, string> = {
  run: 'select pipeline from golden_runs where id = $2::text',
  deployment: 'select pipeline from deployments where id::text = $2::text',
};

export function createAnnotations(pool: Pool) {
  return {
    /**
     * @param by who does it, for the audit log
     * @returns false when there is no such run or deployment
     */
    add: ({ subject, subjectId, text, author, createdAt }: Omit<Annotation, 'id'>, by: string): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const { rows } = await client.query<{ id: string; pipeline: string }>(
          `with found as (${existing[subject]}), noted as (
             insert into annotations (subject, subject_id, text, author, created_at)
             select $1::text, $2::text, $3::text, $4::text, $5::timestamptz from found
             returning id)
           select noted.id, found.pipeline from noted, found`,
          [subject, subjectId, text, author, createdAt],
        );
        const [noted] = rows;
        if (noted === undefined) return false;
        const { id, pipeline } = noted;
        const named = `${subject} ${subjectId}`;
        await recordActs(client, [
          { at: createdAt, by, act: 'add_note', pipeline, subject: named, before: null, after: { note_id: id } },
        ]);
        return true;
      }),

    /** Of some runs or deployments, by their id, oldest first. */
    async of(subject: AnnotationSubject, ids: readonly string[]): Promise<ReadonlyMap<string, readonly Annotation[]>> {
      const notes = await queryRows<Annotation>(
        pool,
        `select id, subject, subject_id, text, author, created_at from annotations
          where subject = $1::text and subject_id = any ($2::text[]) order by id`,
        [subject, ids],
      );
      const found = new Map<string, Annotation[]>();
      for (const note of notes) found.set(note.subjectId, [...(found.get(note.subjectId) ?? []), note]);
      return found;
    },
  };
}
