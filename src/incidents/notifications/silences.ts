/** Silences in PostgreSQL: periods in which the messages and alerts of a pipeline are suppressed. */
import type { Pool } from 'pg';
import type { Context, Scope } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { DAY_MS } from '../../core/time.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
import { recordActs } from '../../platform/access/audit-log.ts';
import { type GaugesAt, sample } from '../../platform/metrics/meter.ts';
import { queryRow, queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction } from '../../platform/postgres/transaction.ts';
import { visible } from '../../platform/postgres/visible.ts';
import type { Actor } from '../diagnosis/incident-acts.ts';
import { isSilenced, type NewSilence, type Silence } from './rules/silence.ts';

const columns = 'id, pipeline, starts_at, ends_at, reason, created_at, created_by';

export type Silences = ReturnType<typeof createSilences>;

export function createSilences(pool: Pool, scope: Scope = null) {
  const seen = scope?.pipelines ?? null;
  return {
    add: ({ pipeline, startsAt, endsAt, reason }: NewSilence, { name, by }: Actor, now: Date): Promise<Silence> =>
      inTransaction(pool, async (client) => {
        const added = await queryRow<Silence>(
          client,
          `insert into silences (pipeline, starts_at, ends_at, reason, created_at, created_by)
           values ($1::text, $2::timestamptz, $3::timestamptz, $4::text, $5::timestamptz, $6::text) returning ${columns}`,
          [pipeline, startsAt, endsAt, reason, now, name ?? by],
        );
        if (added === null) throw new Error('an insert returned no row');
        const after = { starts_at: startsAt.toISOString(), ends_at: endsAt.toISOString(), reason };
        await recordActs(client, [
          { at: now, by, act: 'add_silence', pipeline, subject: `silence ${added.id}`, before: null, after },
        ]);
        return added;
      }),

    /**
     * Ends a current silence now, or cancels a planned one. Does not change a silence that has ended. Returns null for
     * an unknown id.
     */
    end: (id: string, { by }: Actor, now: Date): Promise<Silence | null> =>
      inTransaction(pool, async (client) => {
        const known = await queryRow<Silence>(
          client,
          `select ${columns} from silences where id = $1::bigint and ${visible('pipeline', 2)} for update`,
          [id, seen],
        );
        if (known === null || known.endsAt <= now) return known;
        const ended = await queryRow<Silence>(
          client,
          `update silences set ends_at = greatest(starts_at, $2::timestamptz) where id = $1::bigint returning ${columns}`,
          [id, now],
        );
        const before = { ends_at: known.endsAt.toISOString() };
        const after = { ends_at: (ended ?? known).endsAt.toISOString() };
        const { pipeline } = known;
        await recordActs(client, [
          { at: now, by, act: 'end_silence', pipeline, subject: `silence ${id}`, before, after },
        ]);
        return ended;
      }),

    /** Returns silences that end after the given time, including future silences, sorted by start. */
    endingAfter: (at: Date, pipeline: string | null = null): Promise<readonly Silence[]> =>
      queryRows<Silence>(
        pool,
        `select ${columns} from silences
          where ends_at > $1::timestamptz and ends_at > starts_at and ($2::text is null or pipeline = $2::text)
            and ${visible('pipeline', 3)}
          order by starts_at, id`,
        [at, pipeline, seen],
      ),

    /** Deletes silences that ended before the given time. */
    async prune(before: Date): Promise<void> {
      await pool.query('delete from silences where ends_at < $1::timestamptz', [before]);
    },
  };
}

/** Maximum length of a silence. Users would probably forget a longer silence. */
const MAX_LENGTH_MS = 90 * DAY_MS;

/**
 * Adds a silence after checking it.
 *
 * @throws RecalldError pipeline_unknown, and silence_invalid with the reason
 */
export async function addSilence(
  { db, pipelines, clock }: Context,
  { pipeline, startsAt, endsAt, reason }: NewSilence,
  actor: Actor,
): Promise<Silence> {
  const now = clock.now();
  const refuse = (problem: string): never => {
    throw new RecalldError('silence_invalid', `The silence for ${pipeline} ${problem}`);
  };
  findPipeline(pipelines, pipeline);
  if (endsAt <= startsAt) refuse('ends before it starts: choose a later end.');
  if (endsAt <= now) refuse(`would have ended at ${endsAt.toISOString()}: choose a time in the future.`);
  if (endsAt.getTime() - startsAt.getTime() > MAX_LENGTH_MS) refuse('is longer than 90 days: choose an earlier end.');
  if (reason.trim() === '') refuse('needs a reason: say why you are silencing the pipeline.');
  return db.silences.add({ pipeline, startsAt, endsAt, reason: reason.trim().slice(0, 500) }, actor, now);
}

/** @throws RecalldError silence_unknown */
export async function endSilence({ db, clock }: Context, id: string, actor: Actor): Promise<Silence> {
  const ended = /^\d{1,18}$/.test(id) ? await db.silences.end(id, actor, clock.now()) : null;
  if (ended === null)
    throw new RecalldError('silence_unknown', `There is no silence ${id}; see \`recalld silence list\`.`);
  return ended;
}

/** Returns the gauge `recalld_silenced`, which suppresses the alert rules of a pipeline. */
export async function readSilenceGauges({ db, pipelines, clock }: Context): Promise<GaugesAt> {
  const silences = await db.silences.endingAfter(clock.now());
  return (now) =>
    pipelines.map(({ name }) =>
      sample('recalld_silenced', { pipeline: name }, isSilenced(silences, name, now) ? 1 : 0),
    );
}
