/** Interim analyses of experiments. Each analysis is written once, so that later data does not change its verdict. */
import type { Pool } from 'pg';
import { DAY_MS } from '../../core/time.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import type { GoldenTest } from '../rules/golden-tests.ts';
import type { SummedDay } from '../rules/summed-days.ts';

export interface ExperimentKey {
  readonly pipeline: string;
  /** Name of the shadow or, for variants, of the tag. */
  readonly experiment: string;
  /**
   * Identifies the index, the model or the arms. A different fingerprint under the same name starts a new experiment.
   */
  readonly fingerprint: string;
}

/** A test and the time of its analysis. */
export type MadeTest = GoldenTest & { readonly analysedAt: Date };

const seriesOfSet = (goldenSet: string): string => `golden:${goldenSet}`;
/** Series with one entry per day, for the judged live queries whose top k documents are graded. */
export const judgedSeries = (k: number): string => `judged@${k}`;
/** Series with one entry per day, for live traffic that is split between arms. */
export const trafficSeries = 'traffic';

const placeOf = (day: string): number => Math.floor(Date.parse(day) / DAY_MS);

export function createInterimAnalyses(pool: Pool) {
  async function list<Result>({ pipeline, experiment, fingerprint }: ExperimentKey, series: string) {
    const rows = await queryRows<{ result: object; analysedAt: Date }>(
      pool,
      `select result, analysed_at from interim_analyses
        where pipeline = $1::text and experiment = $2::text and fingerprint = $3::text and series = $4::text order by place`,
      [pipeline, experiment, fingerprint, series],
    );
    return rows.map(({ result, analysedAt }) => ({ ...result, analysedAt }) as Result);
  }

  async function save(key: ExperimentKey, series: string, place: number, result: object, at: Date): Promise<void> {
    const { pipeline, experiment, fingerprint } = key;
    await pool.query(
      `insert into interim_analyses (pipeline, experiment, fingerprint, series, place, result, analysed_at)
       values ($1::text, $2::text, $3::text, $4::text, $5::integer, $6::jsonb, $7::timestamptz) on conflict do nothing`,
      [pipeline, experiment, fingerprint, series, place, JSON.stringify(result), at],
    );
  }

  return {
    /** Returns the tests of a golden set in order. */
    tests: (key: ExperimentKey, goldenSet: string) => list<MadeTest>(key, seriesOfSet(goldenSet)),
    /** Adds a test; an existing test with the same number stays unchanged. */
    saveTest: (key: ExperimentKey, goldenSet: string, test: GoldenTest, at: Date) =>
      save(key, seriesOfSet(goldenSet), test.number, test, at),

    /** Returns the days in order. */
    days: (key: ExperimentKey, series: string) => list<SummedDay>(key, series),
    /** Adds a day; an existing day stays unchanged. */
    saveDay: (key: ExperimentKey, series: string, day: SummedDay, at: Date) =>
      save(key, series, placeOf(day.day), day, at),

    /** Deletes the pipeline's sums of live traffic (of all arms) for days before the given day. */
    async forgetTraffic(pipeline: string, before: Date): Promise<void> {
      await pool.query(
        'delete from interim_analyses where pipeline = $1::text and series = $2::text and place < $3::integer',
        [pipeline, trafficSeries, Math.floor(before.getTime() / DAY_MS)],
      );
    },
  };
}
