/** The two ends of a confidence interval; `low <= high`, neither is NaN. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}
