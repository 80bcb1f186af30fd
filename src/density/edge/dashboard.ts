import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { indexPanels } from '../../index/truth/edge/panels.ts';
import { type MeasurePanel, measureGraphs } from '../../measures/edge/panels.ts';
import { frame, onePipeline, segmentOf } from '../../platform/dashboards/frame.ts';
import { ageGraph, graph, metricTable } from '../../platform/dashboards/panels.ts';
import { type DashboardSettings, maxBy, orNone, rateBy } from '../../platform/dashboards/promql.ts';
import { dashboardUids } from '../../platform/metrics/alert-rules.ts';
import { metricCatalogue } from '../../platform/metrics/catalogue.ts';

const coverage: readonly MeasurePanel[] = [
  { metric: 'recalld_query_density', min: 0 },
  { metric: 'recalld_query_uncovered_ratio', min: 0 },
  'recalld_query_uncovered_excess_ratio',
  { metric: 'recalld_topics_uncovered', title: 'Uncovered topics', unit: 'short', min: 0 },
  { metric: 'recalld_density_sessions', title: 'Measured sessions', unit: 'short', min: 0 },
  {
    metric: 'recalld_density_unmeasured_queries',
    title: 'Queries that could not be measured',
    unit: 'short',
    min: 0,
  },
  {
    metric: 'recalld_density_admission_ratio',
    title: 'Share of samples measured',
    unit: 'percentunit',
    min: 0,
    max: 1,
    note: 'A value below 1 means that there are more live queries than the search budget allows. Each query is weighted by its inverse sampling probability.',
  },
];

const drift: readonly MeasurePanel[] = [
  {
    metric: 'recalld_density_drift_evidence_ratio',
    title: 'Drift, relative to the alert threshold',
    unit: 'none',
    isLog: true,
    floor: 0.01,
    limit: 1,
    note: 'At 1 or above, drift is confirmed and the check fails. Values below 0.01 are shown as 0.01.',
  },
  { metric: 'recalld_density_incident', title: 'Density alert is firing', unit: 'none', min: 0, max: 1 },
  { metric: 'recalld_density_baseline_age_seconds', title: 'Baseline age', unit: 's', min: 0 },
  { metric: 'recalld_density_baseline_sessions', title: 'Baseline sessions', unit: 'short', min: 0 },
  { metric: 'recalld_density_baseline_span_seconds', title: 'Baseline length', unit: 's', min: 0 },
];

const replayed: readonly MeasurePanel[] = [
  { metric: 'recalld_repeat_density', min: 0, width: 12 },
  { metric: 'recalld_repeat_density_queries', title: 'Replayed queries (n)', unit: 'short', min: 0, width: 12 },
];

const content: readonly MeasurePanel[] = [
  'recalld_query_characters',
  'recalld_store_query_divergence',
  'recalld_store_queries_apart_ratio',
  'recalld_store_chunks_unqueried_ratio',
  'recalld_store_centroid_shift',
  'recalld_store_length_ratio',
  'recalld_store_duplicates_ratio',
];

const store: readonly MeasurePanel[] = [
  { metric: 'recalld_store_vectors', min: 0 },
  { metric: 'recalld_store_sample_age_seconds', title: 'Age of the store sample', unit: 's', min: 0 },
  { metric: 'recalld_ann_recall_ratio', max: 1, without: ['k'] },
  {
    metric: 'recalld_ann_recall_queries',
    title: 'Queries used to measure index recall (n)',
    unit: 'short',
    min: 0,
  },
  { metric: 'recalld_store_agreement_ratio', max: 1 },
  { metric: 'recalld_missed_documents_foreign_ratio', max: 1 },
  { metric: 'recalld_embedding_canary_median_similarity', max: 1 },
  { metric: 'recalld_embedding_canary_min_similarity', max: 1 },
];

function sinceWindow(): Builder<Panel> {
  return ageGraph({
    title: 'Time since the latest window',
    description: metricCatalogue.recalld_density_window_end_timestamp_seconds.help,
    width: 8,
    metric: 'recalld_density_window_end_timestamp_seconds',
  });
}

function baselineTable(): Builder<Panel> {
  return metricTable({
    title: 'Baseline',
    description: metricCatalogue.recalld_density_baseline_info.help,
    width: 8,
    queries: [{ expr: maxBy(['pipeline', 'version', 'grade'], 'recalld_density_baseline_info') }],
    show: { pipeline: 'Pipeline', version: 'Version', grade: 'Grade' },
  });
}

function fingerprints(metric: 'recalld_index_info' | 'recalld_embedder_info', title: string): Builder<Panel> {
  return metricTable({
    title,
    description: `${metricCatalogue[metric].help} A new fingerprint is recorded as a deployment.`,
    width: 12,
    height: 4,
    queries: [{ expr: maxBy(['pipeline', 'fingerprint'], metric) }],
    show: { pipeline: 'Pipeline', fingerprint: 'Fingerprint' },
  });
}

function probes(): Builder<Panel>[] {
  return [
    fingerprints('recalld_index_info', 'Store fingerprint'),
    fingerprints('recalld_embedder_info', 'Embedder fingerprint'),
    ageGraph({
      title: 'Time since the last successful probe',
      description: metricCatalogue.recalld_probe_last_success_timestamp_seconds.help,
      width: 12,
      metric: 'recalld_probe_last_success_timestamp_seconds',
      by: ['measure'],
      legend: '{{measure}}',
    }),
    metricTable({
      title: 'Probes without data',
      description: `${metricCatalogue.recalld_probe_no_data.help} Shows the probes that have no data now.`,
      width: 12,
      queries: [{ expr: `${maxBy(['measure', 'reason'], 'recalld_probe_no_data')} == 1` }],
      show: { measure: 'Measure', reason: 'Reason' },
      noData: 'All probes have data',
    }),
  ];
}

const segmentOfQueries = () => segmentOf('{__name__=~"recalld_query_.+", job=~"$job", pipeline=~"$pipeline"}');

export function densityDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.density,
      title: 'recalld: density and topics',
      description: 'Does the store cover what users ask about? Query density, uncovered topics, drift.',
      variables: [onePipeline(), segmentOfQueries()],
      hasDeployments: true,
      from: 'now-7d',
      sections: [
        { title: 'Coverage', panels: [...measureGraphs(coverage), unmeasuredSamples()] },
        { title: 'Drift', panels: [...measureGraphs(drift), sinceWindow(), baselineTable()] },
        { title: 'Replayed queries', panels: measureGraphs(replayed), noData: 'No queries have been replayed yet' },
        {
          title: 'Queries and chunks',
          panels: measureGraphs(content, { min: 0 }),
          noData: 'Not measured yet: needs a sample of the store',
        },
      ],
    },
    settings,
  );
}

export function storeDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.store,
      title: 'recalld: store and index',
      description: 'Did the store, the index or the embedder change? Probes, index truth and fingerprints.',
      variables: [onePipeline(), segmentOf('{__name__=~"recalld_index_.+", job=~"$job", pipeline=~"$pipeline"}')],
      hasDeployments: true,
      from: 'now-7d',
      sections: [
        { title: 'Store and embedder', panels: [...measureGraphs(store), ...probes()] },
        { title: 'Index compared with its manifest', panels: indexPanels(), noData: 'No manifest is configured' },
      ],
    },
    settings,
  );
}

function unmeasuredSamples(): Builder<Panel> {
  return graph({
    title: 'Samples beyond the budget',
    description: 'Sampled live queries per second that were not measured because they exceeded the search budget.',
    unit: 'ops',
    min: 0,
    width: 8,
    queries: [
      {
        expr: orNone(rateBy(['pipeline'], 'recalld_density_left_out_total'), 'pipeline'),
        legend: '{{pipeline}}',
      },
    ],
  });
}
