/** The sentence of an alarm is the same whether recalld says it or Prometheus makes it of the metrics. */
import { describe, expect, it } from 'vitest';
import { defaultRuleSettings, ruleFile } from '../../../../src/app/alerts/rule-file.ts';
import { gaugesOf } from '../../../../src/checks/check-store.ts';
import { alertText } from '../../../../src/checks/rules/alert-text.ts';
import type { CheckState } from '../../../../src/checks/rules/check-state.ts';
import { aCheckState } from '../../../support/check-states.ts';
import { missing } from '../../../support/missing.ts';
import { inputSeries, type RuleTest, rulesOfAlert, runPromtool } from '../../../support/promtool.ts';
import { asOfMinute } from './fixture.ts';
import { always } from './signals.ts';

const live = { kind: 'threshold', goldenSet: null } as const;
const bare = { ciLow: null, ciHigh: null, n: null, before: null } as const;
const seconds = { ...live, ...bare, measure: 'retriever_latency_p95_seconds', name: 'slow' } as const;

const states: readonly [string, Partial<CheckState>][] = [
  ['a floor', {}],
  ['a floor that was never held', { before: null }],
  ['a value without bounds', { ciLow: null, ciHigh: null }],
  ['a value by itself', bare],
  ['values that lie between two roundings', { value: 0.03125, ciLow: 0.15625, ciHigh: 0.34375, before: -0.03125 }],
  ['a fall', { kind: 'regression', value: -0.05, ciLow: -0.08, ciHigh: -0.02, threshold: -0.02, before: 0.0004 }],
  ['a segment', { ...live, measure: 'error_ratio', segment: 'tenant="a\\b"', threshold: 0.05, value: 0.2 }],
  ['a name with everything in it', { name: 'a "quoted" \\ name on faq' }],
  ['milliseconds', { ...seconds, value: 0.35123, threshold: 0.25, before: 0.0999 }],
  ['a second and a half', { ...seconds, value: 1.5, threshold: 1, before: 12.3456 }],
  ['minutes', { ...seconds, value: 125.9, threshold: 60, before: 59.99 }],
  ['hours and days', { ...seconds, value: 11_200, threshold: 259_200, before: 90_061 }],
  ['labels that are gone', { kind: 'stale_labels', measure: 'stale_labels', value: 0.14, ...bare, n: 50 }],
  ['the midnight before', { breachedSince: new Date('2026-11-20T00:00:00.999Z') }],
];

describe.skipIf(missing('promtool'))('Prometheus says', () => {
  const rules = ruleFile(defaultRuleSettings);
  const timeline = { minutes: 90, step: 1 };

  const verdictOn = (alertname: string, name: string, state: CheckState, description: string): string =>
    runPromtool(rulesOfAlert(rules, alertname), [played(name, alertname, state, description)]);

  function played(name: string, alertname: string, state: CheckState, description: string): RuleTest {
    const { pipeline, name: check } = state;
    const severity = alertname === 'RecalldCheckCritical' ? 'critical' : 'warning';
    return {
      name,
      interval: '1m',
      input_series: gaugesOf(state).flatMap((sample) =>
        ['a:8321', 'b:8321'].map((instance) =>
          inputSeries(
            { ...sample, labels: { ...sample.labels }, isCounter: false, at: always(sample.value) },
            instance,
            timeline,
          ),
        ),
      ),
      alert_rule_test: [
        {
          eval_time: '90m',
          alertname,
          exp_alerts: [
            {
              exp_labels: { severity, job: 'recalld', pipeline, check },
              exp_annotations: { ...annotations[alertname], description: `${description} ${asOfMinute(90)}` },
            },
          ],
        },
      ],
    };
  }

  const annotations: Readonly<Record<string, object>> = {
    RecalldCheckCritical: {
      summary: 'Retrieval of docs breached a critical threshold.',
      diagnosis: 'Cause not yet known.',
    },
    RecalldCheckNoData: {
      summary: 'A check of docs had no data.',
      diagnosis: 'Cause not yet known.',
    },
  };

  it.each(states)('of %s what recalld says', (name, parts) => {
    const state = aCheckState(parts);
    const description = `${alertText(state)}. The check "${state.name}" of docs became critical; sampling noise does not explain it.`;
    expect(verdictOn('RecalldCheckCritical', name, state, description)).toBe('');
  });

  it('of a check without data since when, and how it was', () => {
    const state = aCheckState({ verdict: 'no_data', ...bare, value: null, before: 0.9 });
    const description = `${alertText(state)}. The check "${state.name}" of docs has had nothing to be judged by for 30 minutes, and a check without data can breach nothing.`;
    expect(verdictOn('RecalldCheckNoData', 'no data', state, description)).toBe('');
  });
});
