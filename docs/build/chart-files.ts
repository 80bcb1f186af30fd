/** Files of the Helm chart that are not templates. A chart cannot read files outside its folder. */
import { stringify } from 'yaml';
import { defaultRuleSettings, ruleFile } from '../../src/app/alerts/rule-file.ts';
import { createDashboards, dashboardText } from '../../src/app/dashboards/catalogue.ts';
import type { Page } from './page.ts';

/** The label `job` is the program's name in every namespace, so only the namespace distinguishes deployments. */
export const kubernetesRules = { ...defaultRuleSettings, groupLabels: ['namespace', 'job'] };

/** Returns the files by their path in the chart's folder. */
export function chartFiles(): readonly Page[] {
  return [
    // The chart copies this file under `spec` unchanged: the braces in it are not template syntax.
    { path: 'files/rules.yaml', text: yaml(ruleFile(kubernetesRules)) },
    // The same rules with links. The chart replaces the base URL of the links with the configured URL.
    {
      path: 'files/rules-with-links.yaml',
      text: yaml(ruleFile({ ...kubernetesRules, consoleBaseUrl: 'https://console.invalid' })),
    },
    ...createDashboards(defaultRuleSettings).map(({ name, dashboard }) => ({
      path: `files/dashboards/${name}`,
      text: dashboardText(dashboard),
    })),
  ];
}

function yaml(document: object): string {
  return stringify(document, { lineWidth: 0 });
}
