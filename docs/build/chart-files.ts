/** What the Helm chart holds beside its templates: a chart reads no file outside of its folder. */
import { stringify } from 'yaml';
import { defaultRuleSettings, ruleFile } from '../../src/app/alerts/rule-file.ts';
import { createDashboards, dashboardText } from '../../src/app/dashboards/catalogue.ts';
import { defaultDashboardSettings } from '../../src/platform/dashboards/promql.ts';
import type { Page } from './page.ts';

/** The name of the job is that of the program, the same in every namespace. */
export const kubernetesRules = { ...defaultRuleSettings, groupLabels: ['namespace', 'job'] };

/** @returns paths from the folder of the chart */
export function chartFiles(): readonly Page[] {
  return [
    // What the chart puts under `spec` as it stands: it is no template, whatever braces it has.
    { path: 'files/rules.yaml', text: yaml(ruleFile(kubernetesRules)) },
    // The same with links, of whose address the chart puts that of the config in the place.
    {
      path: 'files/rules-with-links.yaml',
      text: yaml(ruleFile({ ...kubernetesRules, consoleBaseUrl: 'https://console.invalid' })),
    },
    ...createDashboards(defaultDashboardSettings).map(({ name, dashboard }) => ({
      path: `files/dashboards/${name}`,
      text: dashboardText(dashboard),
    })),
  ];
}

function yaml(document: object): string {
  return stringify(document, { lineWidth: 0 });
}
