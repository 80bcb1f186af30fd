/** The rule file in deploy/, which works with any config. */
import { defaultRuleSettings, ruleFile } from '../../src/app/alerts/rule-file.ts';
import type { Page } from './page.ts';

/** JSON, which Prometheus reads as YAML and jsonnet can import. */
export function deployFiles(): readonly Page[] {
  const text = `${JSON.stringify(ruleFile(defaultRuleSettings), null, 2)}\n`;
  return [{ path: 'deploy/prometheus/recalld.rules.json', text }];
}
