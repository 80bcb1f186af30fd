/** Tests every alert in promtool: when it fires, when it must not fire, and how it reacts to changes of its series. */
import { describe, expect, it } from 'vitest';
import { defaultRuleSettings, ruleFile, ruleGroups } from '../../../../src/app/alerts/rule-file.ts';
import { asOf, type RuleSettings } from '../../../../src/platform/metrics/alert-rules.ts';
import { missing } from '../../../support/missing.ts';
import {
  inputSeries,
  type RuleTest,
  rulesOfAlert,
  runPromtool,
  type Signal,
  signal,
  writtenRules,
} from '../../../support/promtool.ts';
import { type AlertUnderTest, aCase, type CaseName, caseNames, inapplicable } from './cases.ts';
import { type AlertFixture, asOfMinute, both } from './fixture.ts';
import { goldenFixtures } from './golden-fixtures.ts';
import { indexFixtures } from './index-fixtures.ts';
import { itselfFixtures } from './itself-fixtures.ts';
import { judgingFixtures } from './judging-fixtures.ts';
import { liveFixtures } from './live-fixtures.ts';
import { partsFixtures } from './parts-fixtures.ts';
import { alive, always, checkStates, floorCheck, traffic } from './signals.ts';

const settings: RuleSettings = {
  ...defaultRuleSettings,
  runbookBaseUrl: 'https://wiki.internal/runbooks/',
  dashboardBaseUrl: 'https://grafana.internal',
  consoleBaseUrl: 'https://recalld.internal/',
  holdSeconds: 600,
  pipelines: [
    {
      name: 'docs',
      goldenSets: ['faq'],
      objectives: [{ slo: 'success', target: 0.99, windowDays: 30 }],
    },
  ],
};

const document = ruleFile(settings);
const catalogued = ruleGroups(settings).flatMap(({ alerts }) => alerts);
const written = writtenRules(document);

const fixtures: readonly AlertFixture[] = [
  ...goldenFixtures,
  ...liveFixtures,
  ...indexFixtures,
  ...judgingFixtures,
  ...partsFixtures,
  ...itselfFixtures,
];

function underTest(fixture: AlertFixture): AlertUnderTest {
  const rule = written.find(({ alert }) => alert === fixture.alert);
  if (rule === undefined) throw new Error(`there is no rule ${fixture.alert}`);
  const labels = fixture.alert === 'RecalldWatchdog' ? {} : { job: 'recalld', ...fixture.labels };
  const fill = (text: string) =>
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => ({ ...labels })[label] ?? '');
  const { summary = '', runbook_url = '', dashboard_url = '', console_url = '', diagnosis } = rule.annotations;
  return {
    ...fixture,
    labels,
    severity: rule.labels['severity'] ?? '',
    silentWhile: catalogued.find(({ alert }) => alert === fixture.alert)?.silentWhile,
    annotations: {
      summary: fill(summary),
      description: `${fixture.says} ${asOfMinute(fixture.minutes ?? 60)}`,
      runbook_url,
      dashboard_url: fill(dashboard_url),
      console_url: fill(console_url),
      ...(diagnosis === undefined ? {} : { diagnosis: 'Cause not yet known.' }),
    },
  };
}

/** True if the case applies to the alert: only some alerts are silent while a page is firing. */
function isFor(name: CaseName, fixture: AlertFixture): boolean {
  return !name.includes('page') || underTest(fixture).silentWhile !== undefined;
}

it('every alert has a fixture', () => {
  const alerts = new Set(written.flatMap(({ alert }) => alert ?? []));
  expect(new Set(fixtures.map(({ alert }) => alert))).toEqual(alerts);
});

describe.skipIf(missing('promtool'))('an alert', () => {
  it.each(fixtures)('$alert', (fixture) => {
    const excused = inapplicable[fixture.alert] ?? {};
    const tests = caseNames
      .filter((name) => excused[name] === undefined && isFor(name, fixture))
      .map((name) => aCase(underTest(fixture), name));
    expect(runPromtool(rulesOfAlert(document, fixture.alert), tests, `${fixture.step ?? 1}m`)).toBe('');
  });
});

describe.skipIf(missing('promtool'))('an alert', () => {
  /** Returns a promtool test that compares a query's result at the end of the simulated time with `expected`. */
  function playing(signals: readonly Signal[], minutes: number, step: number, expected: object): RuleTest {
    const series = [...alive, ...signals].map((one) => inputSeries(one, 'a:8321', { minutes, step }));
    const asked = { eval_time: `${minutes}m`, ...expected };
    return { name: 'played', interval: `${step}m`, input_series: series, promql_expr_test: [asked] };
  }

  it('on a check keeps firing while hourly runs alternate between failing and passing', () => {
    const hourly = rulesOfAlert(ruleFile({ ...settings, holdSeconds: 5400 }), 'RecalldCheckCritical');
    const noisy = checkStates(floorCheck, (m) => (Math.floor(m / 60) % 2 === 0 ? 'critical' : 'ok'));
    const firing = 'ALERTS{alertname="RecalldCheckCritical", alertstate="firing"}';
    const test = playing(noisy, 600, 1, {
      expr: `clamp_max(sum(count_over_time(${firing}[8h])), 480)`,
      exp_samples: [{ labels: '{}', value: 480 }],
    });
    expect(runPromtool(hourly, [test])).toBe('');
  });

  it('fires for an absent deployment while another in the same Prometheus is healthy, with configured group labels', () => {
    const apart = rulesOfAlert(ruleFile({ ...settings, groupLabels: ['cluster', 'namespace'] }), 'RecalldAbsent');
    const info = alive.find(({ name }) => name === 'recalld_build_info');
    const of = (namespace: string, end: number): Signal => ({
      name: 'recalld_build_info',
      labels: { ...info?.labels, cluster: 'eu', namespace },
      isCounter: false,
      at: (minute) => (minute < end ? 1 : 'stale'),
    });
    const test = playing([of('production', 30), of('staging', 90)], 60, 1, {
      expr: 'ALERTS{alertname="RecalldAbsent", alertstate="firing"}',
      exp_samples: [
        {
          labels:
            'ALERTS{alertname="RecalldAbsent", alertstate="firing", severity="critical", cluster="eu", namespace="production"}',
          value: 1,
        },
      ],
    });
    expect(runPromtool(apart, [test])).toBe('');
  });

  it('names the likely cause once if several replicas report it, and ignores the causes of other pipelines', () => {
    const fixture = fixtures.find(({ alert }) => alert === 'RecalldCheckCritical');
    if (fixture === undefined) throw new Error('there is no fixture of RecalldCheckCritical');
    const { alert, annotations, severity, labels } = underTest(fixture);
    const info = (pipeline: string, cause: 'retriever_outage' | 'unknown') =>
      signal('recalld_diagnosis_info', { pipeline, cause, confidence: 'high' }, always(1));
    const signals = [...alive, ...fixture.breaching, info('another', 'unknown'), info('docs', 'retriever_outage')];
    const test: RuleTest = {
      name: 'diagnosed',
      interval: '1m',
      input_series: both.flatMap((instance) =>
        signals.map((one) => inputSeries(one, instance, { minutes: 30, step: 1 })),
      ),
      alert_rule_test: [
        {
          eval_time: '30m',
          alertname: alert,
          exp_alerts: [
            {
              exp_labels: { severity, ...labels },
              exp_annotations: {
                ...annotations,
                description: `${fixture.says} ${asOfMinute(30)}`,
                diagnosis: 'Likely cause: retriever outage (high confidence).',
              },
            },
          ],
        },
      ],
    };
    expect(runPromtool(rulesOfAlert(document, alert), [test])).toBe('');
  });

  it('takes its text from the replica that sees the breach, and keeps it after the series of that replica end', () => {
    const fixture = fixtures.find(({ alert }) => alert === 'RecalldCheckCritical');
    if (fixture === undefined) throw new Error('there is no fixture of RecalldCheckCritical');
    const { alert, annotations, severity, labels } = underTest(fixture);
    const ok = [
      ...checkStates(floorCheck, () => 'ok'),
      signal('recalld_check_value', floorCheck, always(0.95)),
      signal('recalld_check_value_ci_low', floorCheck, always(0.93)),
      signal('recalld_check_value_ci_high', floorCheck, always(0.97)),
    ];
    const info = fixture.breaching.filter(({ name }) => name === 'recalld_check_info');
    // The first replica by name exports the recovered check from the start; the other replica exports the failing check
    // until its series end after 29 minutes.
    const series = [
      ...[...alive, ...info, ...ok].map((one) => inputSeries(one, both[0], { minutes: 35, step: 1 })),
      ...[...alive, ...fixture.breaching].map((one) =>
        inputSeries({ ...one, at: (minute) => (minute <= 29 ? one.at(minute) : 'stale') }, both[1], {
          minutes: 35,
          step: 1,
        }),
      ),
    ];
    const test: RuleTest = {
      name: 'kept firing',
      interval: '1m',
      input_series: series,
      alert_rule_test: [
        {
          eval_time: '35m',
          alertname: alert,
          exp_alerts: [
            {
              exp_labels: { severity, ...labels },
              exp_annotations: { ...annotations, description: `${fixture.says} ${asOfMinute(29)}` },
            },
          ],
        },
      ],
    };
    expect(runPromtool(rulesOfAlert(document, alert), [test])).toBe('');
  });

  it('ends its description with the time at which the description was last true', () => {
    for (const { alert, annotations } of written) {
      if (alert === undefined) continue;
      expect([alert, annotations['description']?.endsWith(asOf)]).toEqual([alert, true]);
    }
  });

  it.each([
    ['RecalldLiveZeroResults', traffic({ ok: 75, empty: 25 })],
    ['RecalldLiveLatency', traffic({ ok: 100 }, 2.5)],
  ])('%s does not fire after two days of unchanged traffic', (alert, signals) => {
    const test = playing(signals, 2880, 5, {
      expr: `ALERTS{alertname="${alert}", alertstate="firing"}`,
      exp_samples: [],
    });
    expect(runPromtool(rulesOfAlert(document, alert), [test], '5m')).toBe('');
  });
});
