import { describe, expect, it } from 'vitest';
import { documentedAlerts } from '../../../../docs/build/runbooks-page.ts';
import { defaultRuleSettings, prometheusRule, ruleFile, ruleGroups } from '../../../../src/app/alerts/rule-file.ts';
import { duration, type RuleSettings } from '../../../../src/platform/metrics/alert-rules.ts';
import { metricCatalogue } from '../../../../src/platform/metrics/catalogue.ts';

const settings: RuleSettings = {
  ...defaultRuleSettings,
  pipelines: ['docs', 'shop'].map((name) => ({
    name,
    goldenSets: ['faq', 'hard'],
    objectives: [
      { slo: 'success', target: 0.99, windowDays: 30 },
      { slo: 'results', target: 0.95, windowDays: 30 },
      { slo: 'latency', target: 0.95, withinSeconds: 1, windowDays: 30 },
    ],
  })),
};
const groups = ruleGroups(settings);
const alerts = groups.flatMap((group) => group.alerts);
const recordings = groups.flatMap((group) => group.recordings);

/** Alerts about absent series, which have no value to describe. */
const isAboutAbsence = new Set([
  'RecalldAbsent',
  'RecalldGoldenNeverRan',
  'RecalldPipelineMissing',
  'RecalldReplicaDown',
  'RecalldWatchdog',
]);

/** Metrics that Prometheus and its client library export. */
const foreign = new Set(['up', 'process_start_time_seconds']);

describe('the alert rules', () => {
  it('use only metrics of the catalogue, and series that they record themselves', () => {
    const recorded = new Set(recordings.map(({ record }) => record));
    const used = [...alerts, ...recordings].flatMap(({ expr }) => [
      ...expr.matchAll(/\b(?:pipeline:)?recalld_[a-z0-9_]+(?::\w+)?/g),
    ]);
    const unknown = used
      .map(([name]) => name)
      .filter((name) => !recorded.has(name) && !(name.replace(/_(bucket|count)$/, '') in metricCatalogue));
    expect(used.length).toBeGreaterThan(100);
    expect([...new Set(unknown)]).toEqual([]);
  });

  it('use metrics outside the catalogue only if Prometheus or the client library exports them', () => {
    const selected = alerts.flatMap(({ expr }) =>
      [...expr.matchAll(/(?<![:\w])([a-z_]+)(?=\{|\[)/g)].map(([, name]) => name ?? ''),
    );
    const others = selected.filter((name) => !name.startsWith('recalld_') && !foreign.has(name));
    expect(others.filter((name) => name !== '')).toEqual([]);
  });

  it('count stored gauges once, however many replicas export them', () => {
    const bare = [...alerts, ...recordings].flatMap(({ expr }) =>
      Object.entries(metricCatalogue)
        .filter(([, { source }]) => source === 'stored')
        .filter(([name]) =>
          new RegExp(`(?<!max by \\([\\w, ]+\\) \\()(?<!group by \\(\\) \\()(?<!:)\\b${name}\\b(?!_)`).test(expr),
        )
        .map(([name]) => `${name} in ${expr}`),
    );
    expect(bare).toEqual([]);
  });

  it('use one severity for each alert name, and the prefix Recalld for every name', () => {
    const severities = new Map<string, Set<string>>();
    for (const { alert, severity } of alerts) severities.set(alert, (severities.get(alert) ?? new Set()).add(severity));
    for (const [alert, seen] of severities) {
      expect(alert).toMatch(/^Recalld[A-Z][A-Za-z]+$/);
      expect(seen.size).toBe(1);
    }
  });

  it('have a title that fits a lock screen, and a description with numbers and only existing labels', () => {
    for (const { alert, summary, description, by, labels } of alerts) {
      expect(summary).toMatch(/^(?:\{\{ \$labels\.pipeline \}\}|recalld): .*[^.]$|^The alerting path works$/);
      expect(summary.length).toBeLessThan(100);
      expect(description).toMatch(/\.$/);
      if (!isAboutAbsence.has(alert)) expect(description).toMatch(/\$value|query/);
      expect(description).not.toMatch(/\((?:state|open|absent|up|value|withheld|no_data) = /);
      const named = [...`${summary}${description}`.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label ?? '');
      const carried = new Set([...settings.groupLabels, ...by, ...Object.keys(labels ?? {})]);
      expect(named.filter((label) => !carried.has(label))).toEqual([]);
    }
  });

  it('use no placeholder in a summary except the pipeline, so that grouped alerts share the summary', () => {
    const named = alerts.flatMap(({ alert, summary }) =>
      [...summary.matchAll(/\$(?:labels\.(\w+)|value)/g)].map(([whole, label]) => ({ alert, label: label ?? whole })),
    );
    expect(named.filter(({ label }) => label !== 'pipeline')).toEqual([]);
  });

  it('are inhibited only by existing alerts about the same subject', () => {
    for (const { by, labels, silentWhile } of alerts) {
      for (const page of silentWhile?.alerts ?? []) {
        const rule = alerts.find(({ alert }) => alert === page);
        expect(rule?.severity).toBe('critical');
        const carried = new Set([by, Object.keys(labels ?? {})].flat());
        const inhibitingLabels = new Set([rule?.by ?? [], Object.keys(rule?.labels ?? {})].flat());
        expect(silentWhile?.on.filter((label) => !carried.has(label) || !inhibitingLabels.has(label))).toEqual([]);
      }
    }
  });

  it('never differ only in their expression', () => {
    const identities = (
      ruleFile(settings).groups.flatMap(({ rules }) => rules) as {
        alert?: string;
        record?: string;
        labels?: object;
      }[]
    ).map(({ alert, record, labels }) => JSON.stringify([alert ?? record, labels]));
    expect(new Set(identities).size).toBe(identities.length);
  });

  it('are the same in the manifest of the Prometheus operator', () => {
    expect(prometheusRule(settings)).toMatchObject({
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PrometheusRule',
      spec: ruleFile(settings),
    });
  });

  it('are exactly those that the runbook index lists', () => {
    expect(new Set(documentedAlerts().map(({ alert }) => alert))).toEqual(new Set(alerts.map(({ alert }) => alert)));
  });
});

it('writes durations in the largest unit that divides them', () => {
  expect([30, 60, 90, 5400, 7200, 0.5].map(duration)).toEqual(['30s', '1m', '90s', '90m', '2h', '1s']);
});
