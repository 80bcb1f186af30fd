/** Every dashboard of recalld, and the metrics that are on none of them. */
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import type { DashboardSettings } from '../../dashboards/settings.ts';
import { densityDashboard } from '../../density/dashboard.ts';
import { goldenSetDashboard } from '../../golden/panels/golden-set.ts';
import { liveTrafficDashboard } from '../../live/dashboard.ts';
import type { MetricName } from '../../metrics/catalogue.ts';
import { healthDashboard } from '../../status/dashboard.ts';
import { recalldServiceDashboard } from './recalld-service.ts';

export interface DashboardFile {
  /** Name of the file, without a folder. */
  readonly name: string;
  readonly dashboard: Dashboard;
}

/** The dashboards, in the order in which one looks at them. */
export function createDashboards(settings: DashboardSettings): DashboardFile[] {
  return [
    { name: 'retrieval-health.json', dashboard: healthDashboard(settings) },
    { name: 'golden-set.json', dashboard: goldenSetDashboard(settings) },
    { name: 'density-and-topics.json', dashboard: densityDashboard(settings) },
    { name: 'live-traffic.json', dashboard: liveTrafficDashboard(settings) },
    { name: 'recalld-itself.json', dashboard: recalldServiceDashboard(settings) },
  ];
}

/** A dashboard as the text of its file. */
export function dashboardText(dashboard: Dashboard): string {
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

const asked = 'Exported only where `golden[].gains` of a config asks for it.';
const told = 'Alerts tell it in their descriptions; the measures themselves have panels.';

const stacked = 'Losses are stacked, which leaves no room for bands; the recall by stage has its own.';

/** Metrics that are on no panel, each with the reason why. */
export const excusedMetrics: Readonly<Partial<Record<MetricName, string>>> = {
  recalld_golden_cg: asked,
  recalld_golden_cg_ci_low: asked,
  recalld_golden_cg_ci_high: asked,
  recalld_golden_dcg: asked,
  recalld_golden_dcg_ci_low: asked,
  recalld_golden_dcg_ci_high: asked,
  recalld_check_info: told,
  recalld_check_value: told,
  recalld_check_value_ci_low: told,
  recalld_check_value_ci_high: told,
  recalld_threshold_seconds: told,
  recalld_check_value_seconds: told,
  recalld_check_value_seconds_ci_low: told,
  recalld_check_value_seconds_ci_high: told,
  recalld_check_before_seconds: told,
  recalld_check_n: told,
  recalld_check_since_timestamp_seconds: told,
  recalld_check_before: told,
  recalld_golden_stage_lost_ratio_ci_low: stacked,
  recalld_golden_stage_lost_ratio_ci_high: stacked,
  recalld_check_outage: 'It holds an alert back, and the alert on the retriever is shown.',
};
