import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { withBand } from '../../../platform/dashboards/graph-styles.ts';
import { graph } from '../../../platform/dashboards/panels.ts';
import { maxBy, maxOf, type PromQuery, storedIncreaseBy } from '../../../platform/dashboards/promql.ts';
import type { MetricName } from '../../../platform/metrics/catalogue.ts';
import { type GoldenMeasure, goldenMeasures } from '../../rules/score-run.ts';

export const measureTitles: Readonly<Record<GoldenMeasure, string>> = {
  hit_rate: 'Hit rate',
  mrr: 'MRR',
  ndcg: 'nDCG',
  ndcg_exp: 'nDCG with exponential gain',
  recall: 'Recall',
  precision: 'Precision',
  map: 'MAP',
  f1: 'F1',
  union_recall: 'Union recall of steps',
  all_found: 'All documents found by steps',
};

type ScoreMetric = `recalld_golden_${GoldenMeasure}${'' | '_ci_low' | '_ci_high'}`;

export const inSegment = { segment: '$segment', k: '$k' } as const;

type BandedMetric = {
  [Name in MetricName]: `${Name}_ci_low` extends MetricName ? Name : never;
}[MetricName];

export const axes = {
  score: { unit: 'none', min: 0, max: 1 },
  share: { unit: 'percentunit', min: 0, max: 1 },
  count: { unit: 'short', min: 0 },
  seconds: { unit: 's', min: 0 },
} as const;

/** Returns a graph that is a third of the dashboard wide. */
export function third(spec: Omit<Parameters<typeof graph>[0], 'width'>): Builder<Panel> {
  return graph({ ...spec, width: 8 });
}

/** Returns a query for the thresholds of the checks whose names match a pattern. */
export function thresholds(like: string): PromQuery {
  return {
    expr: maxBy(['check', 'severity'], 'recalld_threshold', { check: { like } }),
    legend: 'threshold: {{check}} ({{severity}})',
  };
}

/** Returns the PromQL queries for a gauge and for the band of its 95 % confidence interval. */
export function banded(
  metric: BandedMetric,
  legend: string,
  where: Readonly<Partial<Record<'segment' | 'measure' | 'k', string>>> = {},
  by: readonly 'stage'[] = [],
): PromQuery[] {
  const [low, high] = [`${metric}_ci_low`, `${metric}_ci_high`] as [MetricName, MetricName];
  return withBand({ expr: maxOf(by, metric, where), legend }, maxOf(by, low, where), maxOf(by, high, where));
}

function ofWorstSet(name: ScoreMetric): string {
  return `min(${maxBy(['pipeline', 'golden_set'], name, { segment: 'all', k: '$k' })})`;
}

/** Returns a query for the score thresholds of a measure at the selected cutoff, by check name. */
function floors(measure: GoldenMeasure): PromQuery {
  return thresholds(`${measure}@$k below .* on $golden_set`);
}

/**
 * Maps a measure to its counterpart over the union of all steps. For a query with one step, the measure and its
 * counterpart have the same value.
 */
const unionOf: Readonly<Partial<Record<GoldenMeasure, GoldenMeasure>>> = {
  recall: 'union_recall',
  hit_rate: 'all_found',
};

/** Returns graphs of all measures; a measure over the union of steps is in the graph of its related measure. */
export function scoreGraphs(width: number): Builder<Panel>[] {
  const shared = new Set(Object.values(unionOf));
  return goldenMeasures.filter((measure) => !shared.has(measure)).map((measure) => scoreGraph(measure, width));
}

function scoreGraph(measure: GoldenMeasure, width: number): Builder<Panel> {
  const union = unionOf[measure];
  return graph({
    title: `${measureTitles[measure]} at $k`,
    description: `Mean over all judged queries of the segment, with its 95 % CI; queries that failed or returned no results count as 0.${union === undefined ? '' : ` ${union}@$k exists only if queries of the set have steps.`} Dashed lines: check thresholds, which apply to the mean over all queries.`,
    ...axes.score,
    width,
    queries: [
      ...banded(`recalld_golden_${measure}`, `${measure}@$k`, inSegment),
      floors(measure),
      ...(union === undefined
        ? []
        : [
            { expr: maxBy([], `recalld_golden_${union}`, inSegment), legend: `${union}@$k` },
            { expr: maxBy([], `recalld_golden_${union}_ci_low`, inSegment), legend: `${union}@$k, 95 % CI low` },
            { expr: maxBy([], `recalld_golden_${union}_ci_high`, inSegment), legend: `${union}@$k, 95 % CI high` },
            floors(union),
          ]),
    ],
  });
}

/**
 * Draws the lowest score among a pipeline's golden sets, in one graph per pipeline: the lowest mean, the lowest lower
 * bound of any set's CI, and the lowest upper bound. The upper bound is shown because it decides whether a check is
 * critical.
 */
export function worstSetGraph(measure: GoldenMeasure): Builder<Panel> {
  return graph({
    title: `${measureTitles[measure]} at $k of $pipeline`,
    description:
      'The lowest score among the selected golden sets, with the lowest lower bound and the lowest upper bound of their 95 % CIs. Dashed lines: check thresholds. The verdict of a check is critical only if its severity is critical and even the upper bound is below the threshold.',
    ...axes.score,
    width: 24,
    repeat: 'pipeline',
    queries: [
      ...withBand(
        { expr: ofWorstSet(`recalld_golden_${measure}`), legend: `${measure}@$k` },
        ofWorstSet(`recalld_golden_${measure}_ci_low`),
        ofWorstSet(`recalld_golden_${measure}_ci_high`),
      ),
      floors(measure),
    ],
  });
}

/**
 * Returns queries for the distance of each latest score from the highest threshold for its measure, if there is one.
 */
export function floorMargins(): PromQuery[] {
  return goldenMeasures.map((measure) => {
    const on = ['pipeline', 'golden_set', 'k'] as const;
    const named = maxBy(['pipeline', 'check'], 'recalld_threshold', {
      check: { like: `${measure}@.* below .*` },
    });
    const withSet = `label_replace(${named}, "golden_set", "$1", "check", ".* on (.+)")`;
    const withCutoff = `label_replace(${withSet}, "k", "$1", "check", "${measure}@([0-9]+) .*")`;
    const score = maxBy(on, `recalld_golden_${measure}`, { segment: 'all' });
    return {
      expr: `${score} - on (${on.join(', ')}) max by (${on.join(', ')}) (${withCutoff})`,
      legend: `${measure}@{{k}} of {{golden_set}} on {{pipeline}}`,
    };
  });
}

export function differenceGraph(measure: GoldenMeasure, width: number): Builder<Panel> {
  return graph({
    title: `${measureTitles[measure]} at $k: difference from the baseline`,
    description:
      'Mean per-query difference from the pinned run, over queries without stale labels, with its 95 % CI. Dashed line: the smallest drop for which a check fails. A check fails if the drop is at least this large, is significant, and is confirmed by the required number of consecutive runs.',
    unit: 'none',
    width,
    queries: [
      ...banded('recalld_golden_baseline_difference', `${measure}@$k minus baseline`, {
        segment: '$segment',
        measure,
        k: '$k',
      }),
      thresholds(`${measure}@$k regression by .* on $golden_set`),
    ],
  });
}

export function stabilityGraph(): Builder<Panel> {
  return graph({
    title: 'Stability of results',
    description:
      'Rank-biased overlap with the results of the pinned baseline, with its 95 % CI: 1 means the same documents in the same order. Needs no judgments. A drop means that results changed, not that they became worse.',
    ...axes.score,
    width: 12,
    queries: banded('recalld_golden_rbo', 'rank-biased overlap'),
  });
}

/**
 * Returns panels that show the coverage of live traffic, and scores weighted by live traffic. Both are measured every
 * six hours; the panels are empty for a pipeline without an embedder.
 */
export function liveMixPanels(): Builder<Panel>[] {
  return [
    third({
      title: 'Coverage of live traffic',
      description:
        'Share of live queries in the last week that have a similar golden query, with its 95 % CI, and the share of live queries on topics with at least one golden query. `recalld golden check` lists the topics without a golden query.',
      ...axes.share,
      queries: [
        ...banded('recalld_golden_live_covered_ratio', 'covered'),
        { expr: maxBy([], 'recalld_golden_live_represented_ratio'), legend: 'topic has a golden query' },
      ],
    }),
    third({
      title: 'nDCG weighted by live traffic',
      description:
        'nDCG of the latest run at its largest cutoff, with its 95 % CI. Queries are weighted by the traffic on their topics. If this score is far below the unweighted score, a large share of the traffic is on topics with below-average results.',
      ...axes.score,
      queries: banded('recalld_golden_live_mix_score', 'ndcg', { measure: 'ndcg' }),
    }),
    third({
      title: 'Effective number of weighted queries',
      description:
        'Effective sample size: with this many equally weighted queries, the score would be equally precise. If this number is far below the size of the set, most golden queries are on topics that few users ask about.',
      ...axes.count,
      queries: [{ expr: maxBy([], 'recalld_golden_live_mix_effective_queries'), legend: 'queries' }],
    }),
  ];
}

/** The sentinel panels are empty for a set without a sentinel. */
export function schedulePanels(): Builder<Panel>[] {
  return [
    third({
      title: 'Planned runs that did not start',
      description: 'Number of skipped runs per graph interval, by reason.',
      ...axes.count,
      queries: [
        {
          expr: storedIncreaseBy(['purpose', 'reason'], 'recalld_golden_ticks_skipped_total'),
          legend: '{{purpose}}: {{reason}}',
        },
      ],
    }),
    third({
      title: 'Time until a run is overdue',
      description:
        'A value below 0 means that no run has completed in time. Computed only from the schedule and the latest completed run, so the value is correct even if no scheduler is running.',
      unit: 's',
      queries: [
        { expr: `${maxBy([], 'recalld_golden_run_expected_by_timestamp_seconds')} - time()`, legend: 'full run' },
        { expr: `${maxBy([], 'recalld_golden_sentinel_expected_by_timestamp_seconds')} - time()`, legend: 'sentinel' },
      ],
    }),
    third({
      title: 'Remaining runs before a version change',
      description: 'Scheduled runs that must still complete on both versions of the set; 0 if there is no new version.',
      ...axes.count,
      queries: [{ expr: maxBy([], 'recalld_golden_rotation_runs_remaining'), legend: 'runs' }],
    }),
    graph({
      title: 'Sentinel',
      description:
        'Status of the sentinel runs: exactly one of the states is 1. If a sentinel run fails, a full run starts.',
      ...axes.score,
      width: 12,
      queries: [{ expr: maxBy(['state'], 'recalld_golden_sentinel_state'), legend: '{{state}}' }],
    }),
    graph({
      title: 'Time since the latest sentinel run',
      description:
        'If no sentinel run completes within 3 times the longest scheduled gap between sentinel runs, the sentinel status is no_data.',
      ...axes.seconds,
      width: 12,
      queries: [
        {
          expr: `time() - ${maxBy([], 'recalld_golden_sentinel_last_success_timestamp_seconds')}`,
          legend: 'retriever responded',
        },
        {
          expr: `time() - ${maxBy([], 'recalld_golden_sentinel_last_attempt_timestamp_seconds')}`,
          legend: 'attempt',
        },
        { expr: maxBy([], 'recalld_golden_sentinel_interval_seconds'), legend: 'interval' },
      ],
    }),
  ];
}
