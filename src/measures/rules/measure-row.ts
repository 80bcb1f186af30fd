/** The type of a row of the measure table. */

/** The kind of a value, which decides how it is formatted. */
export type MeasureScale = 'count' | 'share' | 'score' | 'seconds' | 'other';

/** How a threshold on a measure is evaluated. */
export interface ThresholdPolicy {
  readonly worse: 'below' | 'above';
  /**
   * Range of values: `share` is a number in [0, 1]; `seconds` is a duration; `multiple` is relative to the baseline,
   * which is 1; `mean` is a mean of counts; `difference` is the difference between two scores, in [-1, 1].
   */
  readonly unit: 'share' | 'seconds' | 'multiple' | 'mean' | 'difference';
  /** Default minimum number of queries, feedback items or sessions; with fewer, there is no data. */
  readonly minN: number;
  /** Default number of consecutive measurements that must yield a new verdict before the verdict changes. */
  readonly confirm: number;
  /**
   * Scope of each value of the measure: live traffic (in total or in one segment), a golden set, or the whole
   * pipeline.
   */
  readonly scope: 'traffic' | 'golden_sets' | 'pipeline';
}

interface DescribedMeasure {
  /** Row or chart heading. */
  readonly title: string;
  /** Subject of the sentence `<subject> is <value>`. */
  readonly subject: string;
  /** One line that explains the measure to a newcomer. */
  readonly note: string;
  readonly scale: MeasureScale;
  /**
   * Interval between two measurements, in seconds. `live`: the interval of live measures. `incident`: measured only
   * during incidents. If absent, the interval is the window length.
   */
  readonly every?: number | 'live' | 'incident';
  /**
   * True if a change of the measure fires an alert, because no other alert covers the measure. A measure of golden runs
   * is watched separately for each golden set.
   */
  readonly isWatched?: true;
  /** Rules for evaluating a threshold on this measure; if absent, the config cannot set a threshold. */
  readonly thresholdPolicy?: ThresholdPolicy;
}

/** Gauge of the latest value; absent for a measure that is exported in another form or not at all. */
export interface MeasureGauge {
  /** Name of the metric. */
  readonly gauge: string;
  readonly help: string;
  readonly labels: readonly ('pipeline' | 'segment' | 'k')[];
  /**
   * False to export only the value; otherwise, the 95 % bounds `_ci_low` and `_ci_high` are exported too. A string is
   * the name of the method, which is added to the help text of the bounds.
   */
  readonly bounds: boolean | string;
}

export type Measure = DescribedMeasure & (MeasureGauge | { readonly gauge?: undefined });
