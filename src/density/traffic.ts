/** Reads measured queries that all have the same inclusion probability, as input for computations over vectors. */

import type { Context } from '../core/context.ts';
import { userIdHmac } from '../live/privacy/rules/redactor.ts';
import type { Matrix } from '../math/vector/matrix.ts';
import type { CoveragePeriod, CoveredQuery, PeriodTally } from './coverage-reads.ts';
import { coverageScore, type ScoredQuery } from './rules/query-score.ts';
import { equalChance } from './rules/sessions.ts';

export type Traffic = Awaited<ReturnType<typeof readTraffic>>;

/**
 * Reads the traffic of a period. The result is deterministic: the same stored rows always produce the same traffic.
 *
 * @param most upper limit for the expected number of queries that are read
 * @param storeMean mean direction of the chunks, see `coverageScore`; empty if unknown
 */
export async function readTraffic(
  context: Context,
  period: CoveragePeriod,
  most: number,
  storeMean: Float64Array,
  signal: AbortSignal,
) {
  const { coverage } = context.db.density;
  const tally = await coverage.tally(period);
  const chance = equalChance(tally.chances, most);
  const read: CoveredQuery[] = [];
  if (chance !== null) {
    for await (const batch of coverage.read(period, chance)) {
      signal.throwIfAborted();
      read.push(...batch);
    }
  }
  const columns =
    storeMean.length > 0 ? storeMean.length : (read.find(({ vector }) => vector !== null)?.vector?.length ?? 0);
  const usable = read.filter(({ vector }) => vector === null || vector.length === columns);
  const vectors = sharedMatrix(
    usable.flatMap(({ vector }) => vector ?? []),
    columns,
  );
  let row = 0;
  // The session hash of a query without a session is derived from the query's id.
  const queries = usable.map(({ id, occurredAt, similarity, vector, sessionHash, userHash }): ScoredQuery => {
    const named = sessionHash !== userIdHmac(id, context.hashKey);
    const user = userHash === null ? null : `user ${userHash}`;
    return {
      id,
      occurredAt,
      score: vector === null ? null : coverageScore(similarity, vector, storeMean),
      session: named ? sessionHash : user,
      row: vector === null ? null : row++,
    };
  });
  return {
    queries,
    vectors,
    /** Details of each query, without its vector, in the order of the queries. */
    covered: usable.map(({ vector: _vector, ...query }) => query),
    tally,
    /**
     * Number of queries skipped because their vectors have the wrong dimension. The right dimension is that of the
     * store or, if unknown, that of the first query vector.
     */
    otherDimension: read.length - usable.length,
  };
}

export function sessionsOf({ chances }: PeriodTally): number {
  return chances.reduce((sum, { sessions }) => sum + sessions, 0);
}

export function timeOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

/** Creates a matrix in shared memory, so that it need not be copied for worker threads. */
function sharedMatrix(rows: readonly Float32Array[], columns: number): Matrix {
  const data = new Float32Array(new SharedArrayBuffer(rows.length * columns * Float32Array.BYTES_PER_ELEMENT));
  for (const [index, vector] of rows.entries()) data.set(vector, index * columns);
  return { rows: rows.length, columns, data };
}
