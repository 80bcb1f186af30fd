/** What a row of the measure table says. */

/** What a value is of, and so how it is written. */
export type MeasureScale = 'count' | 'share' | 'score' | 'seconds' | 'other';

/** How a threshold on a measure is judged. */
export interface JudgedMeasure {
  readonly worse: 'below' | 'above';
  /** `share` lies in [0, 1]; `seconds` is any time; `multiple` is 1 as in the baseline. */
  readonly unit: 'share' | 'seconds' | 'multiple';
  /** A value of fewer queries, opinions or sessions is not judged, unless the config says otherwise. */
  readonly minN: number;
  /** New measurements in a row that must show the same before the verdict changes. */
  readonly confirm: number;
  /** What it is known for: all traffic and its segments, each golden set by itself, or the pipeline as a whole. */
  readonly of: 'traffic' | 'golden_sets' | 'pipeline';
}

export interface Measure {
  /** Heads a row or a chart. */
  readonly title: string;
  /** Subject of a sentence: `<this> is <value>`. */
  readonly means: string;
  /** One line for people who see it for the first time. */
  readonly note: string;
  readonly scale: MeasureScale;
  /** Seconds between two of its measurements; `live`: as often as live traffic; left out: its window is as long. */
  readonly every?: number | 'live';
  /** Whether it tells at a glance how a pipeline is; the rest stands on its own page. */
  readonly isGlance?: true;
  /** The gauge of its latest value; left out for what is exported in another form, or only judged. */
  readonly gauge?: MeasureGauge;
  /** Left out: no threshold may be set on it. */
  readonly judged?: JudgedMeasure;
}

export interface MeasureGauge {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly ('pipeline' | 'segment' | 'k')[];
  /** With the gauges `_ci_low` and `_ci_high` of its 95 % bounds; a text names their method in the help. */
  readonly bounds: boolean | string;
}

/** Of all traffic and its segments, with bounds. */
export function ofTraffic<const Name extends string>(name: Name, help: string) {
  return { name, help, labels: ['pipeline', 'segment'], bounds: true } as const;
}

/** Of a part of the pipeline as a whole. */
export function ofPart<const Name extends string>(name: Name, help: string) {
  return { name, help, labels: ['pipeline'], bounds: false } as const;
}
