/** The Grafana dashboards for any config. */
import { createDashboards, dashboardText } from '../../src/app/dashboards/catalogue.ts';
import { defaultDashboardSettings } from '../../src/platform/dashboards/promql.ts';
import type { Page } from './page.ts';

export function dashboardFiles(): readonly Page[] {
  return createDashboards(defaultDashboardSettings).map(({ name, dashboard }) => ({
    path: `grafana/dashboards/${name}`,
    text: dashboardText(dashboard),
  }));
}
