/** Prometheus and recalld write the same sentence about an alert, although their number formats differ. */
import { describe, expect, it } from 'vitest';
import { defaultRuleSettings, ruleFile } from '../../../../src/app/alerts/rule-file.ts';
import { gaugesOf } from '../../../../src/checks/check-store.ts';
import { alertText, type NumberStyle } from '../../../../src/checks/rules/alert-text.ts';
import type { CheckState } from '../../../../src/checks/rules/check-state.ts';
import { aCheckState } from '../../../support/check-states.ts';
import { missing } from '../../../support/missing.ts';
import { inputSeries, type RuleTest, rulesOfAlert, runPromtool } from '../../../support/promtool.ts';
import { asOfMinute } from './fixture.ts';
import { always } from './signals.ts';

/** Numbers as the template functions `humanizeDuration`, `humanizePercentage` and `printf "%.3g"` format them. */
const byPrometheus: NumberStyle = {
  value: (value, unit) =>
    unit === 'seconds' ? humanDuration(value) : unit === 'share' ? `${digits(100 * value, 4)}%` : digits(value, 3),
  interval: (low, high, unit) => `95 % CI ${byPrometheus.value(low, unit)} to ${byPrometheus.value(high, unit)}`,
};

const digits = (value: number, count: number): string => String(Number(value.toPrecision(count)));

function humanDuration(seconds: number): string {
  if (seconds < 1) return `${digits(1000 * seconds, 4)}ms`;
  if (seconds < 60) return `${digits(seconds, 4)}s`;
  const whole = Math.trunc(seconds);
  const parts = [
    `${Math.trunc(whole / 86_400)}d`,
    `${Math.trunc(whole / 3600) % 24}h`,
    `${Math.trunc(whole / 60) % 60}m`,
    `${whole % 60}s`,
  ];
  return parts.slice(parts.findIndex((part) => !part.startsWith('0'))).join(' ');
}

const live = { kind: 'threshold', goldenSet: null } as const;
const bare = { ciLow: null, ciHigh: null, n: null, before: null } as const;
const seconds = { ...live, ...bare, measure: 'retriever_latency_p95_seconds', name: 'slow' } as const;

const states: readonly [string, Partial<CheckState>][] = [
  ['a threshold', {}],
  ['a threshold that the check never passed', { before: null }],
  ['a value without a confidence interval', { ciLow: null, ciHigh: null }],
  ['a value without interval, count or earlier value', bare],
  ['values with more than three digits', { value: 0.03127, ciLow: 0.15628, ciHigh: 0.34371, before: -0.03129 }],
  ['a drop', { kind: 'regression', value: -0.05, ciLow: -0.08, ciHigh: -0.02, threshold: -0.02, before: 0.0004 }],
  ['a segment', { ...live, measure: 'error_ratio', segment: 'tenant="a\\b"', threshold: 0.05, value: 0.2 }],
  ['a name with quotes and a backslash', { name: 'a "quoted" \\ name on faq' }],
  ['milliseconds', { ...seconds, value: 0.35123, threshold: 0.25, before: 0.0999 }],
  ['a second and a half', { ...seconds, value: 1.5, threshold: 1, before: 12.3456 }],
  ['minutes', { ...seconds, value: 125.9, threshold: 60, before: 59.99 }],
  ['hours and days', { ...seconds, value: 11_200, threshold: 259_200, before: 90_061 }],
  ['stale labels', { kind: 'stale_labels', measure: 'stale_labels', value: 0.14, ...bare, n: 50 }],
  ['a breach since midnight', { breachedSince: new Date('2026-11-20T00:00:00.999Z') }],
];

describe.skipIf(missing('promtool'))('Prometheus reports', () => {
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
      summary: 'docs: a critical check fails',
      diagnosis: 'Cause not yet known.',
    },
    RecalldCheckNoData: {
      summary: 'docs: a check has no data',
      diagnosis: 'Cause not yet known.',
    },
  };

  it.each(states)('the same as recalld for %s', (name, parts) => {
    const state = aCheckState(parts);
    const description = `${alertText(state, byPrometheus)}. The check "${state.name}" of docs is critical; sampling noise does not explain the failure.`;
    expect(verdictOn('RecalldCheckCritical', name, state, description)).toBe('');
  });

  it('since when a check has had no data, and its last passing value', () => {
    const state = aCheckState({ verdict: 'no_data', ...bare, value: null, before: 0.9 });
    const description = `${alertText(state, byPrometheus)}. The check "${state.name}" of docs has had no data for 30 minutes. Without data, a check cannot detect a failure.`;
    expect(verdictOn('RecalldCheckNoData', 'no data', state, description)).toBe('');
  });
});
