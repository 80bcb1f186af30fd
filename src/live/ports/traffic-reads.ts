import type { QueryOutcome } from '../../model.ts';

/** How many live queries arrived in a stretch of time, sampled or not. */
export interface TrafficBucket {
  readonly start: Date;
  readonly outcomes: Readonly<Record<QueryOutcome, number>>;
}

/** Weights of measured queries by how well the store covers them, in bins of one width from `low` to `high`. */
export interface CoverageHistogram {
  readonly low: number;
  readonly high: number;
  /** Of each bin; a query weighs the inverse of its chance to be sampled and measured. */
  readonly weights: readonly number[];
  /** Measured queries behind it. */
  readonly queries: number;
}

/** What people who look into live traffic ask beyond its measures. */
export interface TrafficReads {
  /** Buckets of a pipeline that hold a query, oldest first; the first starts at `from` or later. */
  buckets(request: {
    readonly pipeline: string;
    readonly from: Date;
    readonly until: Date;
    /** At least a minute. */
    readonly bucketSeconds: number;
  }): Promise<readonly TrafficBucket[]>;
  /**
   * Coverage of the queries that occurred within a time; null without any.
   *
   * @param within scores that must lie between `low` and `high`, beside those of the queries
   */
  coverage(request: {
    readonly pipeline: string;
    readonly from: Date;
    readonly until: Date;
    readonly within: readonly [number, number] | null;
    readonly bins: number;
  }): Promise<CoverageHistogram | null>;
}
