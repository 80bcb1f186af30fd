/** Recording and burn-rate rules for the objectives of each pipeline. */
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
} from '../metrics/alert-rules.ts';
import { metricCatalogue } from '../metrics/catalogue.ts';
import { type BurnRate, burnRates } from './burn-rate.ts';

const by = ['pipeline'] as const;
/** Fewer queries within the short window say nothing. */
const LEAST_QUERIES = 20;

export function objectivesGroup({ pipelines }: RuleSettings): RuleGroup {
  const objectives = pipelines.flatMap((pipeline) =>
    pipeline.objectives.map((objective) => ({ pipeline, objective })),
  );
  return {
    name: 'recalld-objectives',
    recordings: objectives.flatMap(({ pipeline, objective }) => recordingsOf(pipeline, objective)),
    alerts: objectives.flatMap(({ pipeline, objective }) => alertsOf(pipeline, objective)),
  };
}

/** One sentence for each burn rate, or each whole objective, that no rule can watch. */
export function objectiveProblems(pipelines: readonly RulePipeline[]): {
  readonly impossible: readonly string[];
  readonly leftOut: readonly string[];
} {
  const impossible: string[] = [];
  const leftOut: string[] = [];
  for (const { name, objectives } of pipelines) {
    for (const objective of objectives) {
      const where = `The objective ${objective.slo} of ${name}`;
      const { possible, refused } = burnRates(objective.target, objective.windowDays);
      const notes = refused.map((reason) => `${where}: ${reason}`);
      if (possible.some(({ severity }) => severity === 'critical')) leftOut.push(...notes);
      else impossible.push(...notes.map((sentence) => `${sentence} Raise it, or leave it out of slo.`));
      if (objective.slo === 'latency' && !limits.includes(objective.withinSeconds)) {
        impossible.push(
          `${where} counts queries within ${objective.withinSeconds} s, which the histogram recalld_query_latency_seconds does not tell apart; use one of ${limits.join(', ')}.`,
        );
      }
    }
  }
  return { impossible, leftOut };
}

const limits: readonly number[] = metricCatalogue.recalld_query_latency_seconds.buckets;

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

/** Share of the queries within the window that do not meet the objective. */
function badShare(pipeline: string, objective: Objective, window: string): string {
  const all = rateBy(by, 'recalld_queries_total', window, { pipeline });
  switch (objective.slo) {
    case 'success':
      return ratio(
        rateBy(by, 'recalld_queries_total', window, { pipeline, outcome: ['error', 'timeout'] }),
        all,
      );
    case 'results':
      return ratio(rateBy(by, 'recalld_query_zero_results_total', window, { pipeline }), all);
    case 'latency': {
      const timed = observedBy(by, 'recalld_query_latency_seconds', window, { pipeline }, null);
      const quick = observedBy(
        by,
        'recalld_query_latency_seconds',
        window,
        { pipeline },
        objective.withinSeconds,
      );
      return `1 - ${ratio(quick, timed)}`;
    }
  }
}

const meaning: Readonly<Record<Objective['slo'], string>> = {
  success: 'failed or timed out',
  results: 'found no document',
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
        labels: { pipeline: name, slo: objective.slo },
        dashboard: 'live' as const,
        summary: `{{ $labels.pipeline }} spends its error budget ${isFast ? 'fast' : 'too fast'}: ${objective.slo}.`,
        description: `{{ $value | humanizePercentage }} of the live queries of {{ $labels.pipeline }} ${meaning[objective.slo]} within the longer window; the objective of ${objective.target} over ${objective.windowDays} days would soon be missed.`,
      },
    ];
  });
}

function spending(pipeline: string, { slo, target }: Objective, { factor, short, long }: BurnRate): string {
  const limit = Number((factor * (1 - target)).toPrecision(6));
  const of = `{pipeline=${JSON.stringify(pipeline)}, slo=${JSON.stringify(slo)}}`;
  return `(
  ${recorded(long)}${of} > ${limit}
  and on (pipeline) ${recorded(short)}${of} > ${limit}
  and on (pipeline) ${increaseBy(by, 'recalld_queries_total', short, { pipeline })} >= ${LEAST_QUERIES}
)`;
}
