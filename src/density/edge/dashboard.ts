/** Density and topics: how well the store covers what is asked, and whether the store and the model are what they were. */

import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { deploymentsTable } from '../../golden/edge/panels/drill-down.ts';
import { indexPanels } from '../../index/truth/edge/panels.ts';
import { type MeasurePanel, measureGraphs } from '../../measures/edge/panels.ts';
import { frame, onePipeline, segmentOf } from '../../platform/dashboards/frame.ts';
import { graph, metricTable } from '../../platform/dashboards/panels.ts';
import { type DashboardSettings, maxBy, orNone, rateBy } from '../../platform/dashboards/promql.ts';
import { dashboardUids } from '../../platform/metrics/alert-rules.ts';
import { metricCatalogue } from '../../platform/metrics/catalogue.ts';

const coverage: readonly MeasurePanel[] = [
  { metric: 'recalld_query_density', min: 0 },
  { metric: 'recalld_query_uncovered_ratio', min: 0 },
  'recalld_query_uncovered_excess_ratio',
  { metric: 'recalld_topics_uncovered', title: 'Uncovered topics', unit: 'short', min: 0 },
  { metric: 'recalld_density_sessions', title: 'Sessions measured', unit: 'short', min: 0 },
  {
    metric: 'recalld_density_unmeasured_queries',
    title: 'Queries that could not be measured',
    unit: 'short',
    min: 0,
  },
  {
    metric: 'recalld_density_admission_ratio',
    title: 'Share of samples admitted',
    unit: 'percentunit',
    min: 0,
    max: 1,
    note: 'Below 1 more live queries come than the budget of searches can measure; the chance is kept with each.',
  },
];

const drift: readonly MeasurePanel[] = [
  {
    metric: 'recalld_density_drift_evidence_ratio',
    title: 'Evidence of drift',
    unit: 'none',
    min: 0,
    note: 'Evidence over what it takes to alarm: from 1 on the check fires.',
  },
  { metric: 'recalld_density_incident', title: 'Open incidents', unit: 'none', min: 0, max: 1 },
  { metric: 'recalld_density_baseline_age_seconds', title: 'Age of the baseline', unit: 's', min: 0 },
  { metric: 'recalld_density_baseline_sessions', title: 'Sessions of the baseline', unit: 'short', min: 0 },
  { metric: 'recalld_density_baseline_span_seconds', title: 'Span of the baseline', unit: 's', min: 0 },
];

const content: readonly MeasurePanel[] = [
  'recalld_store_query_divergence',
  'recalld_store_queries_apart_ratio',
  'recalld_store_chunks_unqueried_ratio',
  'recalld_store_centroid_shift',
  'recalld_store_length_ratio',
  'recalld_store_duplicates_ratio',
];

const store: readonly MeasurePanel[] = [
  { metric: 'recalld_store_vectors', min: 0 },
  { metric: 'recalld_store_sample_age_seconds', title: 'Age of the sample of the store', unit: 's', min: 0 },
  { metric: 'recalld_repeat_density', min: 0 },
  {
    metric: 'recalld_repeat_density_queries',
    title: 'Queries behind the density, asked again (n)',
    unit: 'short',
    min: 0,
  },
  { metric: 'recalld_ann_recall_ratio', max: 1, without: ['k'] },
  {
    metric: 'recalld_ann_recall_queries',
    title: 'Queries behind the recall of the index (n)',
    unit: 'short',
    min: 0,
  },
  { metric: 'recalld_store_agreement_ratio', max: 1 },
  { metric: 'recalld_missed_documents_foreign_ratio', max: 1 },
  { metric: 'recalld_embedding_canary_median_similarity', max: 1 },
  { metric: 'recalld_embedding_canary_min_similarity', max: 1 },
];

function sinceWindow(): Builder<Panel> {
  return graph({
    title: 'Since the latest window',
    description: metricCatalogue.recalld_density_window_end_timestamp_seconds.help,
    unit: 's',
    min: 0,
    width: 8,
    queries: [
      {
        expr: `time() - ${maxBy([], 'recalld_density_window_end_timestamp_seconds')}`,
        legend: 'age',
      },
    ],
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
    description: `${metricCatalogue[metric].help} Another fingerprint is noted as a deployment.`,
    width: 12,
    height: 4,
    queries: [{ expr: maxBy(['pipeline', 'fingerprint'], metric) }],
    show: { pipeline: 'Pipeline', fingerprint: 'Fingerprint' },
  });
}

function probes(): Builder<Panel>[] {
  return [
    fingerprints('recalld_index_info', 'What the store is made of'),
    fingerprints('recalld_embedder_info', 'What the embedder is'),
    graph({
      title: 'Since each probe last came to a value',
      description: metricCatalogue.recalld_probe_last_success_timestamp_seconds.help,
      unit: 's',
      min: 0,
      width: 12,
      queries: [
        {
          expr: `time() - ${maxBy(['measure'], 'recalld_probe_last_success_timestamp_seconds')}`,
          legend: '{{measure}}',
        },
      ],
    }),
    graph({
      title: 'Probes without data, and why',
      description: metricCatalogue.recalld_probe_no_data.help,
      unit: 'none',
      min: 0,
      width: 12,
      queries: [
        {
          expr: orNone(maxBy(['measure', 'reason'], 'recalld_probe_no_data'), 'reason'),
          legend: '{{measure}}: {{reason}}',
        },
      ],
    }),
  ];
}

export function densityDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.density,
      title: 'recalld: density and topics',
      description: 'How well the store covers what is asked, and whether the store and the model are what they were.',
      variables: [onePipeline(), segmentOf('{__name__=~"recalld_query_.+", job=~"$job", pipeline=~"$pipeline"}')],
      hasDeployments: true,
      from: 'now-7d',
      sections: [
        { title: 'Coverage', panels: [...measureGraphs(coverage), leftOut()] },
        { title: 'Drift', panels: [...measureGraphs(drift), sinceWindow(), baselineTable()] },
        { title: 'What the store holds', panels: measureGraphs(content, { min: 0 }) },
        { title: 'Store, index and model', panels: [...measureGraphs(store), ...probes()] },
        { title: 'The index against its manifest', panels: indexPanels() },
        { title: 'What changed', panels: [deploymentsTable(24)] },
      ],
    },
    settings,
  );
}

function leftOut(): Builder<Panel> {
  return graph({
    title: 'Samples left out',
    description: 'Sampled live queries a second whose coverage is not measured, since more came than can be searched.',
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
