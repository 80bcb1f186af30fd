/** The Grafana dashboards, which work with any config. */

import { defaultRuleSettings } from '../../src/app/alerts/rule-file.ts';
import { createDashboards, dashboardText } from '../../src/app/dashboards/catalogue.ts';
import type { Page } from './page.ts';

export function dashboardFiles(): readonly Page[] {
  return createDashboards(defaultRuleSettings).map(({ name, dashboard }) => ({
    path: `grafana/dashboards/${name}`,
    text: dashboardText(dashboard),
  }));
}
