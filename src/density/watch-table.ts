import type { Pool, PoolClient } from 'pg';
import { DAY_MS } from '../core/time.ts';
import { type Act, recordActs } from '../platform/access/audit-log.ts';
import { queryRows } from '../platform/postgres/rows.ts';
import { inTransaction } from '../platform/postgres/transaction.ts';
import type { ClosedWindow, DensityState, NewDensityEvent } from './rules/watch-state.ts';

export interface StoredDensityState {
  readonly state: DensityState;
  /** Revision of the state; 0 if it is not stored yet. */
  readonly revision: number;
  readonly updatedAt: Date;
}

export interface DensityEvent extends NewDensityEvent {
  readonly id: string;
  readonly pipeline: string;
}

export interface NextState {
  readonly pipeline: string;
  /** Revision that the step started from. */
  readonly revision: number;
  readonly state: DensityState;
  /** The closing window, preceded by earlier windows that received late samples; empty if no window closes. */
  readonly windows: readonly ClosedWindow[];
  readonly events: readonly NewDensityEvent[];
  readonly acts?: readonly Act[];
  readonly at: Date;
}

/** Retention of windows. A density uses at most one week of windows; older windows are stored only for reference. */
const KEPT_MS = 30 * DAY_MS;

export function watchTable(pool: Pool) {
  const read = async (pipeline: string | null): Promise<Map<string, StoredDensityState>> => {
    const rows = await queryRows<StoredDensityState & { readonly pipeline: string }>(
      pool,
      `select pipeline, revision::double precision, state, updated_at from density_states where $1::text is null or pipeline = $1::text`,
      [pipeline],
    );
    return new Map(rows.map(({ pipeline: name, ...stored }) => [name, stored]));
  };
  return {
    all: (): Promise<ReadonlyMap<string, StoredDensityState>> => read(null),

    find: async (pipeline: string): Promise<StoredDensityState | null> => (await read(pipeline)).get(pipeline) ?? null,

    /**
     * Stores one step atomically: state, windows and events.
     *
     * @returns false, without storing anything, if another worker has already advanced this revision
     */
    advance: (step: NextState): Promise<boolean> => inTransaction(pool, (client) => advance(client, step)),

    /** Returns the closed windows that started at `from` or later, in order. */
    async windows(pipeline: string, from: Date): Promise<readonly ClosedWindow[]> {
      const rows = await queryRows<{ totals: ClosedWindow }>(
        pool,
        `select totals from density_windows
          where pipeline = $1::text and window_start >= $2::timestamptz order by window_end`,
        [pipeline, from],
      );
      return rows.map(({ totals }) => totals);
    },

    /** Returns the latest events of a pipeline, newest first. */
    events: ({ pipeline, limit }: { readonly pipeline: string; readonly limit: number }) =>
      queryRows<DensityEvent>(
        pool,
        `select id, pipeline, kind, occurred_at, sentence, details from density_events
          where pipeline = $1::text order by occurred_at desc, id desc limit $2::integer`,
        [pipeline, limit],
      ),
  };
}

export type WatchTable = ReturnType<typeof watchTable>;

/** Writes the state row first: a second worker waits for the row lock, and then sees that the revision has advanced. */
async function advance(client: PoolClient, step: NextState): Promise<boolean> {
  const { pipeline, revision, state, windows, events, acts = [], at } = step;
  const { rowCount } = await client.query(
    revision === 0
      ? `insert into density_states (pipeline, revision, state, updated_at)
         values ($1::text, $2::bigint + 1, $3::jsonb, $4::timestamptz) on conflict do nothing`
      : `update density_states set revision = revision + 1, state = $3::jsonb, updated_at = $4::timestamptz
          where pipeline = $1::text and revision = $2::bigint`,
    [pipeline, revision, JSON.stringify(state), at],
  );
  if (rowCount !== 1) return false;
  for (const window of windows) {
    await client.query(
      `insert into density_windows (pipeline, window_end, window_start, totals)
       values ($1::text, $2::timestamptz, $3::timestamptz, $4::jsonb)
       on conflict (pipeline, window_end) do update set window_start = excluded.window_start, totals = excluded.totals`,
      [pipeline, new Date(window.endMs), new Date(window.startMs), JSON.stringify(window)],
    );
    await client.query(`delete from density_windows where pipeline = $1::text and window_end < $2::timestamptz`, [
      pipeline,
      new Date(window.endMs - KEPT_MS),
    ]);
  }
  for (const { kind, occurredAt, sentence, details } of events) {
    await client.query(
      `insert into density_events (pipeline, kind, occurred_at, sentence, details)
       values ($1::text, $2::text, $3::timestamptz, $4::text, $5::jsonb)`,
      [pipeline, kind, occurredAt, sentence, JSON.stringify(details)],
    );
  }
  await recordActs(client, acts);
  return true;
}
