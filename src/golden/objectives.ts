/** Recording and burn-rate rules for the objectives of each pipeline. */
import { percentage } from '../core/format.ts';
import {
  type AlertRule,
  increaseBy,
  type Objective,
  observedBy,
  type RecordingRule,
  type RuleGroup,
  type RulePipeline,
  type RuleSettings,
  rateBy,
  ratio,
} from '../platform/metrics/alert-rules.ts';

/**
 * Pairs of a long and a short window. An alert fires if more than `budgetShare` of the error budget is spent within the
 * long window.
 */
const pairs = [
  { budgetShare: 0.02, short: '5m', long: '1h', longHours: 1, severity: 'critical' },
  { budgetShare: 0.05, short: '30m', long: '6h', longHours: 6, severity: 'critical' },
  { budgetShare: 0.1, short: '2h', long: '1d', longHours: 24, severity: 'warning' },
  { budgetShare: 0.1, short: '6h', long: '3d', longHours: 72, severity: 'warning' },
] as const;

/**
 * Returns the pairs of windows whose alerts can fire for an objective. If all queries are bad, the burn rate is at its
 * maximum, 1 / (1 - target), so an alert that requires this burn rate or more can never fire.
 *
 * @param target share of good queries, in (0, 1)
 * @param windowDays number of days that the budget covers
 */
export function burnRates(target: number, windowDays: number) {
  const rates = pairs.map(({ budgetShare, longHours, ...pair }) => {
    const factor = round((budgetShare * windowDays * 24) / longHours);
    return { ...pair, factor, ratio: round(factor * (1 - target)) };
  });
  return {
    /** Burn rates with their windows. A burn rate is a multiple of the rate that spends exactly the error budget. */
    possible: rates.flatMap(({ ratio, ...rate }) => (ratio < 1 ? [rate] : [])),
    /** One sentence for each pair of windows whose alert can never fire. */
    refused: rates
      .filter(({ ratio }) => ratio >= 1)
      .map(({ factor, long, ratio }) => {
        const needed = Math.ceil((1 - 1 / factor) * 1000) / 10;
        return `The objective of ${target} cannot be monitored at a burn rate of ${factor} over ${long}: ${round(ratio * 100)} % of the queries would have to be bad. A burn rate alert requires an objective above ${needed} %.`;
      }),
  };
}

/** Removes binary rounding errors, as in 14.399999999999999. */
function round(value: number): number {
  return Number(value.toPrecision(10));
}

const by = ['pipeline'] as const;
/** Minimum number of queries in the short window; with fewer queries, no alert fires. */
const MIN_QUERIES = 20;

export function objectivesGroup({ pipelines }: RuleSettings): RuleGroup {
  const objectives = pipelines.flatMap((pipeline) => pipeline.objectives.map((objective) => ({ pipeline, objective })));
  return {
    name: 'recalld-objectives',
    recordings: objectives.flatMap(({ pipeline, objective }) => recordingsOf(pipeline, objective)),
    alerts: objectives.flatMap(({ pipeline, objective }) => alertsOf(pipeline, objective)),
  };
}

/**
 * Returns one sentence per problem. `omitted`: burn rates that no alert rule can monitor, although a critical alert
 * monitors the same objective at another burn rate. `impossible`: burn rates of objectives that no critical alert can
 * monitor, and latency objectives whose limit is not a histogram bucket.
 */
export function objectiveProblems({ pipelines, latencyBuckets }: Pick<RuleSettings, 'pipelines' | 'latencyBuckets'>) {
  const impossible: string[] = [];
  const omitted: string[] = [];
  for (const { name, objectives } of pipelines) {
    for (const objective of objectives) {
      const where = `The objective ${objective.slo} of ${name}`;
      const { possible, refused } = burnRates(objective.target, objective.windowDays);
      const notes = refused.map((reason) => `${where}: ${reason}`);
      if (possible.some(({ severity }) => severity === 'critical')) omitted.push(...notes);
      else impossible.push(...notes.map((sentence) => `${sentence} Raise the objective, or remove it from slo.`));
      if (objective.slo === 'latency' && !latencyBuckets.includes(objective.withinSeconds)) {
        impossible.push(
          `${where} counts queries within ${objective.withinSeconds} s, but the histogram recalld_query_latency_seconds has no such bucket. Use one of ${latencyBuckets.join(', ')}, or add the bucket to metrics.latency_buckets.`,
        );
      }
    }
  }
  return { impossible, omitted };
}

function recorded(window: string): string {
  return `pipeline:recalld_slo_errors:ratio_rate${window}`;
}

function recordingsOf({ name }: RulePipeline, objective: Objective): RecordingRule[] {
  const { possible } = burnRates(objective.target, objective.windowDays);
  const windows = new Set(possible.flatMap(({ short, long }) => [short, long]));
  return [...windows].map((window) => ({
    record: recorded(window),
    expr: badShare(name, objective, window),
    labels: { pipeline: name, slo: objective.slo },
  }));
}

function badShare(pipeline: string, objective: Objective, window: string): string {
  const all = rateBy(by, 'recalld_queries_total', window, { pipeline });
  switch (objective.slo) {
    case 'success':
      return ratio(rateBy(by, 'recalld_queries_total', window, { pipeline, outcome: ['error', 'timeout'] }), all);
    case 'results':
      return ratio(rateBy(by, 'recalld_query_zero_results_total', window, { pipeline }), all);
    case 'latency': {
      const timed = observedBy(by, 'recalld_query_latency_seconds', window, { pipeline }, null);
      const quick = observedBy(by, 'recalld_query_latency_seconds', window, { pipeline }, objective.withinSeconds);
      return `1 - ${ratio(quick, timed)}`;
    }
  }
}

const meaning: Readonly<Record<Objective['slo'], string>> = {
  success: 'failed or timed out',
  results: 'returned no documents',
  latency: 'were too slow',
};

function alertsOf({ name }: RulePipeline, objective: Objective): AlertRule[] {
  const { possible } = burnRates(objective.target, objective.windowDays);
  return (['critical', 'warning'] as const).flatMap((severity) => {
    const rates = possible.filter((rate) => rate.severity === severity);
    if (rates.length === 0) return [];
    const isFast = severity === 'critical';
    return [
      {
        alert: isFast ? 'RecalldErrorBudgetFastBurn' : 'RecalldErrorBudgetSlowBurn',
        severity,
        expr: rates.map((rate) => spending(name, objective, rate)).join('\nor\n'),
        for: isFast ? '2m' : '15m',
        keepFiringFor: isFast ? '10m' : '1h',
        by,
        ...(isFast ? {} : { silentWhile: { alerts: ['RecalldErrorBudgetFastBurn'], on: ['pipeline', 'slo'] } }),
        labels: { pipeline: name, slo: objective.slo },
        dashboard: 'live' as const,
        summary: `{{ $labels.pipeline }}: error budget is burning ${isFast ? 'fast' : 'too fast'}`,
        description: `{{ $value | humanizePercentage }} of the live queries of {{ $labels.pipeline }} ${meaning[objective.slo]} in the last ${rates.map(({ long }) => long).join(' or ')}. At this rate, the objective of ${percentage(objective.target)} over ${objective.windowDays} days will be missed.`,
      },
    ];
  });
}

function spending(
  pipeline: string,
  { slo, target }: Objective,
  { factor, short, long }: ReturnType<typeof burnRates>['possible'][number],
): string {
  const limit = Number((factor * (1 - target)).toPrecision(6));
  const of = `{pipeline=${JSON.stringify(pipeline)}, slo=${JSON.stringify(slo)}}`;
  return `(
  ${recorded(long)}${of} > ${limit}
  and on (pipeline) ${recorded(short)}${of} > ${limit}
  and on (pipeline) ${increaseBy(by, 'recalld_queries_total', short, { pipeline })} >= ${MIN_QUERIES}
)`;
}
