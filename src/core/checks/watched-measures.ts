/** The measures that thresholds may be set on beside golden scores: which way is worse, and what it takes to judge. */

export interface WatchedMeasure {
  readonly worse: 'below' | 'above';
  /** `share` lies in [0, 1]; `seconds` is any time; `multiple` is 1 as in the baseline. */
  readonly unit: 'share' | 'seconds' | 'multiple';
  /** Whether it is the share of n things with a property. Its bounds are then never narrower than those of n draws. */
  readonly isProportion: boolean;
  /** A value of fewer queries, opinions or sessions is not judged, unless the config says otherwise. */
  readonly leastN: number;
  /** New measurements in a row that must show the same before the verdict changes. */
  readonly confirm: number;
  /** What it is known for: all traffic and its segments, each golden set by itself, or the pipeline as a whole. */
  readonly of: 'traffic' | 'golden_sets' | 'pipeline';
}

export const watchedMeasures = {
  feedback_positive_ratio: {
    worse: 'below',
    unit: 'share',
    isProportion: true,
    leastN: 30,
    confirm: 3,
    of: 'traffic',
  },
  zero_results_ratio: {
    worse: 'above',
    unit: 'share',
    isProportion: true,
    leastN: 100,
    confirm: 3,
    of: 'traffic',
  },
  error_ratio: {
    worse: 'above',
    unit: 'share',
    isProportion: true,
    leastN: 100,
    confirm: 3,
    of: 'traffic',
  },
  clicked_query_ratio: {
    worse: 'below',
    unit: 'share',
    isProportion: true,
    leastN: 100,
    confirm: 3,
    of: 'traffic',
  },
  query_density: {
    worse: 'below',
    unit: 'multiple',
    isProportion: false,
    leastN: 200,
    confirm: 2,
    of: 'traffic',
  },
  query_uncovered_excess_ratio: {
    worse: 'above',
    unit: 'share',
    isProportion: false,
    leastN: 200,
    confirm: 2,
    of: 'traffic',
  },
  retriever_error_ratio: {
    worse: 'above',
    unit: 'share',
    isProportion: true,
    leastN: 20,
    confirm: 1,
    of: 'golden_sets',
  },
  retriever_latency_p95_seconds: {
    worse: 'above',
    unit: 'seconds',
    isProportion: false,
    leastN: 20,
    confirm: 2,
    of: 'golden_sets',
  },
  golden_representativeness: {
    worse: 'below',
    unit: 'share',
    isProportion: false,
    leastN: 100,
    confirm: 1,
    of: 'golden_sets',
  },
  golden_run_age_seconds: {
    worse: 'above',
    unit: 'seconds',
    isProportion: false,
    leastN: 0,
    confirm: 2,
    of: 'golden_sets',
  },
  ann_recall: {
    worse: 'below',
    unit: 'share',
    isProportion: false,
    leastN: 10,
    confirm: 2,
    of: 'pipeline',
  },
  store_sample_age_seconds: {
    worse: 'above',
    unit: 'seconds',
    isProportion: false,
    leastN: 0,
    confirm: 2,
    of: 'pipeline',
  },
} as const satisfies Record<string, WatchedMeasure>;

export type WatchedMeasureName = keyof typeof watchedMeasures;

export const watchedMeasureNames = Object.keys(watchedMeasures) as WatchedMeasureName[];

export function isWatchedMeasure(measure: string): measure is WatchedMeasureName {
  return Object.hasOwn(watchedMeasures, measure);
}
