import type { Pool } from 'pg';
import { ALL_SEGMENT } from '../../core/model.ts';
import type { Measure } from '../../math/ir/metric-key.ts';

/** Score of a run over all queries at its largest cutoff. */
export type ScorePoint = ReturnType<typeof pointOf>;

export interface ScoreTrendRequest {
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly from: Date;
  /** Exclusive end. */
  readonly until: Date;
  readonly measures: readonly Measure[];
  /** Cutoff of the scores; default: the largest cutoff of each run. */
  readonly k?: number | null;
}

/** Number of time buckets. The lowest and the highest score of each bucket are returned. */
const BUCKETS = 96;

const ofRun = (k = 'null') => `
  select mean, ci_low, ci_high from golden_run_scores s
   where s.run_id = r.id and s.segment = '${ALL_SEGMENT}' and s.measure = m.measure
     and (${k}::integer is null or s.k = ${k}::integer) order by s.k desc limit 1`;

/** Selects scores as arrays that begin with the mean, because PostgreSQL compares arrays by their first element. */
const trendSql = `
  select measure, min(score) as lowest, max(score) as highest
    from (select m.measure, array[s.mean, extract(epoch from r.started_at)::double precision, s.ci_low, s.ci_high] as score
            from golden_runs r
           cross join unnest($5::text[]) as m (measure)
           cross join lateral (${ofRun('$7')}) s
           where r.pipeline = $1::text and r.golden_set = $2::text and r.purpose = 'full' and r.status = 'completed'
             and r.started_at >= $3::timestamptz and r.started_at < $4::timestamptz) found
   group by measure, floor((score[2] - extract(epoch from $3::timestamptz)::double precision) / $6::double precision)
   order by measure, min(score[2])`;

/** Returns completed full runs by measure, oldest first: all runs, or the worst and the best of each time bucket. */
export async function readScoreTrends(
  pool: Pool,
  { pipeline, goldenSet, from, until, measures, k }: ScoreTrendRequest,
): Promise<ReadonlyMap<string, readonly ScorePoint[]>> {
  const { rows } = await pool.query<{ measure: Measure; lowest: number[]; highest: number[] }>(trendSql, [
    pipeline,
    goldenSet,
    from,
    until,
    measures,
    (until.getTime() - from.getTime()) / 1000 / BUCKETS,
    k ?? null,
  ]);
  const trends = new Map<string, ScorePoint[]>(measures.map((measure) => [measure, []]));
  for (const { measure, lowest, highest } of rows) {
    const points = [lowest, highest].map(pointOf).toSorted((a, b) => a.at.getTime() - b.at.getTime());
    // If a bucket has a single run, it is both the worst and the best run.
    trends.get(measure)?.push(...(lowest[1] === highest[1] ? points.slice(1) : points));
  }
  return trends;
}

function pointOf([value = 0, epoch = 0, low = 0, high = 0]: readonly number[]) {
  return {
    /** Start time of the run. */
    at: new Date(epoch * 1000),
    value,
    low,
    high,
  };
}
