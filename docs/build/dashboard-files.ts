/** The dashboards for Grafana and for the chart, made for no config in particular. */
import { createDashboards, dashboardText } from '../../src/app/dashboards/catalogue.ts';
import { defaultDashboardSettings } from '../../src/dashboards/promql.ts';
import type { Page } from './page.ts';

export function dashboardFiles(): readonly Page[] {
  // A chart reads no file outside of its folder.
  return createDashboards(defaultDashboardSettings).flatMap(({ name, dashboard }) =>
    ['grafana/dashboards', 'deploy/helm/recalld/files/dashboards'].map((folder) => ({
      path: `${folder}/${name}`,
      text: dashboardText(dashboard),
    })),
  );
}
