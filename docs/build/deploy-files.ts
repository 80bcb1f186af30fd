/** The rule file in deploy/, made for no config in particular. */
import { defaultRuleSettings, ruleFile } from '../../src/app/alerts/rule-file.ts';
import type { Page } from './page.ts';

/** In JSON, which is YAML to Prometheus and an import to jsonnet. */
export function deployFiles(): readonly Page[] {
  const text = `${JSON.stringify(ruleFile(defaultRuleSettings), null, 2)}\n`;
  return [{ path: 'deploy/prometheus/recalld.rules.json', text }];
}
