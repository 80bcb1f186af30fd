/** An entry in the metric catalog. */
export interface MetricDefinition {
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** `stored`: computed from the latest database rows. `process`: recorded by this process. */
  readonly source: 'stored' | 'process';
  /** True if API keys limited to certain pipelines may read the metric, because it contains no pipeline data. */
  readonly isShared?: boolean;
  /** Upper bounds of histogram buckets. */
  readonly buckets?: readonly number[];
}

export interface StoredGauge<Labels extends readonly string[] = readonly string[]> extends MetricDefinition {
  readonly type: 'gauge';
  readonly labels: Labels;
  readonly source: 'stored';
}

export function storedGauge<const Labels extends readonly string[]>(help: string, labels: Labels): StoredGauge<Labels> {
  return { type: 'gauge', help, labels, source: 'stored' };
}

/** Defines a counter that this process increments. */
export function counter<const Labels extends readonly string[]>(help: string, labels: Labels) {
  return { type: 'counter', help, labels, source: 'process' } as const;
}

/** Defines a gauge that this process sets. */
export function processGauge<const Labels extends readonly string[]>(help: string, labels: Labels) {
  return { type: 'gauge', help, labels, source: 'process' } as const;
}

/** @param buckets upper bounds */
export function histogram<const Labels extends readonly string[], const Buckets extends readonly number[]>(
  help: string,
  labels: Labels,
  buckets: Buckets,
) {
  return { type: 'histogram', help, labels, source: 'process', buckets } as const;
}

type Bounded<Name extends string> = `${Name}${'' | '_ci_low' | '_ci_high'}`;

/**
 * Returns gauges with their 95 % confidence bounds: the metrics `name`, `name_ci_low` and `name_ci_high`.
 *
 * @param method name of the method that computes the bounds, for their help text; omitted if the method varies
 */
export function boundedGauges<Name extends string, const Labels extends readonly string[]>(
  helps: Readonly<Record<Name, string>>,
  labels: Labels,
  method?: string,
  confidence = '95 %',
): Readonly<Record<Bounded<Name>, StoredGauge<Labels>>> {
  const by = method === undefined ? '' : ` (${method})`;
  const gauges = Object.entries<string>(helps).flatMap(([name, help]) => [
    [name, storedGauge(help, labels)],
    [`${name}_ci_low`, storedGauge(`Lower ${confidence} confidence bound${by} of ${name}.`, labels)],
    [`${name}_ci_high`, storedGauge(`Upper ${confidence} confidence bound${by} of ${name}.`, labels)],
  ]);
  return Object.fromEntries(gauges) as Record<Bounded<Name>, StoredGauge<Labels>>;
}
