/** Measured queries of a period, at an equal chance, as the passes over vectors take them. */

import type { Context } from '../core/context.ts';
import { userIdHmac } from '../live/privacy/rules/redactor.ts';
import type { Matrix } from '../math/vector/matrix.ts';
import type { CoveragePeriod, CoveredQuery, PeriodTally } from './coverage-reads.ts';
import { coverageScore, type ScoredQuery, type VectorisedQueries } from './rules/query-score.ts';
import { equalChance } from './rules/sessions.ts';

export interface Traffic extends VectorisedQueries {
  /** What is known of each query, in the order of the queries. */
  readonly covered: readonly Omit<CoveredQuery, 'vector'>[];
  readonly tally: PeriodTally;
  /** Queries with a vector of another length, which are left out. */
  readonly otherDimension: number;
}

interface ReadTrafficSettings {
  /** Queries that may be expected. */
  readonly most: number;
  /** Mean direction of the chunks that scores are less half of; empty when it is not known. */
  readonly storeMean: Float64Array;
}

/** Reads and measures nothing twice: the same rows give the same traffic. */
export async function readTraffic(
  context: Context,
  period: CoveragePeriod,
  { most, storeMean }: ReadTrafficSettings,
  signal: AbortSignal,
): Promise<Traffic> {
  const { coverage } = context.db.density;
  const tally = await coverage.tally(period);
  const equal = equalChance(tally.chances, most);
  const read: CoveredQuery[] = [];
  if (equal !== null) {
    for await (const batch of coverage.read(period, equal.chance)) {
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
  // As the session of a query without one is hashed at its arrival.
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
    covered: usable.map(withoutVector),
    tally,
    otherDimension: read.length - usable.length,
  };
}

/** Sessions that were measured in a period. */
export function sessionsOf({ chances }: PeriodTally): number {
  return chances.reduce((sum, { sessions }) => sum + sessions, 0);
}

/** A stored time, null for none. */
export function timeOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

/** So that the vectors of many queries are held once. */
function withoutVector(query: CoveredQuery): Omit<CoveredQuery, 'vector'> {
  const { id, occurredAt, sessionHash, userHash, segments, similarity, nearest } = query;
  return { id, occurredAt, sessionHash, userHash, segments, similarity, nearest };
}

/** In shared memory, so that a worker thread sees the vectors without a copy. */
function sharedMatrix(rows: readonly Float32Array[], columns: number): Matrix {
  const data = new Float32Array(new SharedArrayBuffer(rows.length * columns * Float32Array.BYTES_PER_ELEMENT));
  for (const [index, vector] of rows.entries()) data.set(vector, index * columns);
  return { rows: rows.length, columns, data };
}
