import { parser } from '@prometheus-io/lezer-promql';
import { describe, expect, it } from 'vitest';
import { dashboardUids } from '../../../../src/platform/metrics/alert-rules.ts';
import { type MetricName, metricCatalogue } from '../../../../src/platform/metrics/catalogue.ts';
import type { MetricDefinition } from '../../../../src/platform/metrics/definition.ts';
import { expressions, fillIn, type PlacedPanel, readDashboards, statements } from '../../../support/dashboards.ts';

const dashboards = readDashboards();
const catalogue: Readonly<Record<string, MetricDefinition>> = metricCatalogue;

/** Tables that contain user texts, or data that identifies users. */
const withText = new Set([
  'live_queries',
  'feedback',
  'trace_fragments',
  'api_keys',
  'hash_keys',
  'erasures',
  'erased_subjects',
]);

const OPTIONAL = 'Exported only if `golden[].gains` is configured.';
const IN_ALERTS = 'Used in alert descriptions; the measures have their own panels.';
const STACKED =
  'The graph of losses by stage is stacked, so it has no confidence bands; the graph of recall by stage has them.';

const SHARES_OF_TEXTS = 'The graph shows three shares, so it has no confidence bands; the console shows the intervals.';

/** Reasons why metrics have no panel, keyed by metric name. */
const excusedMetrics: Readonly<Partial<Record<MetricName, string>>> = {
  recalld_golden_cg: OPTIONAL,
  recalld_golden_cg_ci_low: OPTIONAL,
  recalld_golden_cg_ci_high: OPTIONAL,
  recalld_golden_dcg: OPTIONAL,
  recalld_golden_dcg_ci_low: OPTIONAL,
  recalld_golden_dcg_ci_high: OPTIONAL,
  recalld_check_info: IN_ALERTS,
  recalld_check_value: IN_ALERTS,
  recalld_check_value_ci_low: IN_ALERTS,
  recalld_check_value_ci_high: IN_ALERTS,
  recalld_check_value_seconds: IN_ALERTS,
  recalld_check_value_seconds_ci_low: IN_ALERTS,
  recalld_check_value_seconds_ci_high: IN_ALERTS,
  recalld_check_before_seconds: IN_ALERTS,
  recalld_check_n: IN_ALERTS,
  recalld_check_since_timestamp_seconds: IN_ALERTS,
  recalld_check_before: IN_ALERTS,
  recalld_check_smallest_detectable_drop: IN_ALERTS,
  recalld_golden_stage_lost_ratio_ci_low: STACKED,
  recalld_golden_stage_lost_ratio_ci_high: STACKED,
  recalld_query_malformed_ratio_ci_low: SHARES_OF_TEXTS,
  recalld_query_malformed_ratio_ci_high: SHARES_OF_TEXTS,
  recalld_query_repeated_ratio_ci_low: SHARES_OF_TEXTS,
  recalld_query_repeated_ratio_ci_high: SHARES_OF_TEXTS,
  recalld_query_plain_ratio_ci_low: SHARES_OF_TEXTS,
  recalld_query_plain_ratio_ci_high: SHARES_OF_TEXTS,
  recalld_check_outage: "Suppresses an alert during a retriever outage; the retriever's own alert is shown.",
};

const isRow = ({ type }: PlacedPanel): boolean => type === 'row';
const values = {
  cluster: '.*',
  namespace: '.*',
  job: 'recalld',
  instance: '.+',
  pipeline: 'docs',
  golden_set: 'faq',
  segment: 'all',
  k: '10',
};

/** Returns the metric to which a histogram series belongs. */
function metricOf(series: string): string {
  return Object.hasOwn(catalogue, series) ? series : series.replace(/_(bucket|sum|count)$/, '');
}

describe('the dashboards', () => {
  it('are exactly those that alerts link to', () => {
    expect(dashboards.map(({ uid }) => uid).toSorted()).toEqual(Object.values(dashboardUids).toSorted());
  });

  it('show every metric of the catalogue, except those with a stated reason', () => {
    const text = dashboards.flatMap((one) => expressions(one).map((asked) => asked.text)).join('\n');
    const shown = new Set([...text.matchAll(/\brecalld_\w+/g)].map(([name]) => metricOf(name)));
    const excused = Object.keys(excusedMetrics);
    const missing = Object.keys(catalogue).filter((name) => !shown.has(name) && !excused.includes(name));
    expect(missing.map((name) => `put ${name} on a panel of src/platform/dashboards`)).toEqual([]);
    expect(excused.filter((name) => shown.has(name))).toEqual([]);
    expect([...shown].filter((name) => !Object.hasOwn(catalogue, name))).toEqual([]);
  });
});

describe.each(dashboards)('$name', (dashboard) => {
  const { panels, variables } = dashboard;
  const drawn = panels.filter((panel) => !isRow(panel));

  it('places its panels on a grid of 24 columns without overlaps', () => {
    expect(panels.length).toBeGreaterThan(1);
    for (const { gridPos } of panels) {
      expect(gridPos.x).toBeGreaterThanOrEqual(0);
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    }
    // When a collapsed row is expanded, its panels move everything below the row down.
    const closed = new Set(panels.flatMap((panel) => panel.panels ?? []).map(({ id }) => id));
    const open = panels.filter(({ id }) => !closed.has(id));
    const cells = open.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  it('has at most 24 panels', () => {
    expect(drawn.length).toBeLessThanOrEqual(24);
  });

  it('opens with two expanded rows, and runs the queries of other rows only when they are expanded', () => {
    const rows = panels.filter(isRow);
    expect(rows.map((row) => row.collapsed ?? false)).toEqual(rows.map((_, index) => index > 1));
    for (const row of rows)
      expect({ row: row.title, holds: (row.panels ?? []).length > 0 }).toEqual({
        row: row.title,
        holds: row.collapsed ?? false,
      });
  });

  it('has a unique id for each panel, so that links to single panels work', () => {
    const ids = panels.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
    expect(ids.every((id) => id > 0)).toBe(true);
  });

  it('has a title, a description and a unit for each panel', () => {
    for (const { title, description, fieldConfig, targets } of drawn) {
      expect({ title, description }).toEqual({
        title: expect.stringMatching(/\S/),
        description: expect.stringMatching(/\.$/),
      });
      expect({ title, unit: fieldConfig?.defaults.unit }).toEqual({ title, unit: expect.any(String) });
      expect({ title, targets: targets?.length }).not.toEqual({ title, targets: 0 });
    }
  });

  it('has a unique title for each panel', () => {
    const titles = drawn.map(({ title }) => title);
    expect(titles).toEqual([...new Set(titles)]);
  });

  it('cannot be edited in place, since its file is generated', () => {
    expect(dashboard.editable).toBe(false);
  });

  it('links to the other dashboards, and to the console and its runbooks if their address is configured', () => {
    expect(dashboard.links.map(({ title }) => title)).toEqual(['recalld dashboards']);
    const linked = readDashboards({ consoleBaseUrl: 'https://recalld.internal' }).find(
      ({ uid }) => uid === dashboard.uid,
    );
    expect(linked?.links.map(({ title }) => title)).toEqual(['recalld dashboards', 'Console', 'Runbooks']);
  });

  it('shows one deployment at a time, and selects it by the configured labels in every query', () => {
    const apart = readDashboards({ groupLabels: ['cluster', 'namespace'] }).find(({ uid }) => uid === dashboard.uid);
    const chosen = apart?.variables.slice(2, 4) ?? [];
    expect(chosen.map(({ name, multi }) => ({ name, multi: multi ?? false }))).toEqual([
      { name: 'cluster', multi: false },
      { name: 'namespace', multi: false },
    ]);
    const queries = apart === undefined ? [] : expressions(apart).map(({ text }) => text);
    const open = queries.flatMap((text) =>
      [...text.matchAll(/\b[a-z]\w+\{[^}]*\}|ALERTS\{[^}]*\}/g)]
        .map(([selector]) => selector)
        // Selectors with an empty alternative also match the watchdog, which belongs to no deployment.
        .filter((selector) => !/cluster=~"\$cluster\|?", namespace=~"\$namespace\|?"/.test(selector)),
    );
    expect(open).toEqual([]);
  });

  it('uses variables as data sources', () => {
    const uids = drawn.flatMap(({ targets = [] }) => targets.map(({ datasource }) => datasource.uid));
    expect([...new Set(uids)].filter((uid) => !['${datasource}', '${postgres}'].includes(uid))).toEqual([]);
    const first = ['datasource', 'postgres', 'cluster', 'namespace', 'job', 'instance'];
    expect(variables.map(({ name }) => name).slice(0, first.length)).toEqual(first);
  });

  it('refreshes variables when the time range changes', () => {
    const queried = variables.filter(({ type }) => type === 'query');
    expect(queried.map(({ name, refresh }) => ({ name, refresh }))).toEqual(
      queried.map(({ name }) => ({ name, refresh: 2 })),
    );
  });

  it('uses only variables that it defines', () => {
    const known = new Set(variables.map(({ name }) => name));
    const used = [...expressions(dashboard), ...statements(dashboard)].flatMap(({ text }) =>
      [...text.matchAll(/\$\{?([a-z]\w*)/g)].map(([, name]) => name),
    );
    const queried = variables.flatMap(({ query = '' }) => [...query.matchAll(/\$([a-z]\w*)/g)].map(([, name]) => name));
    const repeated = panels.flatMap(({ repeat }) => (repeat === undefined ? [] : [repeat]));
    expect([...new Set([...used, ...queried, ...repeated])].filter((name) => !known.has(name ?? ''))).toEqual([]);
  });

  it.each(expressions(dashboard))('has valid PromQL: $where', ({ text }) => {
    expect(syntaxErrors(fillIn(text, values))).toEqual([]);
  });

  it.each(expressions(dashboard))('selects the chosen job and instances: $where', ({ text }) => {
    // Alerts have the labels of their subject, not those of a scrape target.
    const selectors = [...text.matchAll(/\b(?!ALERTS)[a-z]\w+\{([^}]*)\}/g)].map(([whole, inside]) => ({
      whole,
      inside,
    }));
    for (const { whole, inside } of selectors) {
      const labels = catalogue[metricOf(whole.replace(/\{.*/s, ''))]?.labels ?? [];
      expect(whole).toContain('job=~"$job"');
      expect(inside).toContain('instance=~"$instance"');
      if (labels.includes('pipeline') && !/pipeline[=~]/.test(inside ?? '')) expect(whole).toContain('$pipeline');
    }
    const naked = [...text.matchAll(/\brecalld_\w+(?![\w{])/g)].map(([name]) => name);
    expect(naked).toEqual([]);
  });

  it.each(expressions(dashboard))(
    'applies a rate to counters and aggregates gauges over replicas: $where',
    ({ text }) => {
      for (const [, before = '', name = ''] of text.matchAll(/(\w*\(?)(recalld_\w+)\{/g)) {
        const { type } = catalogue[metricOf(name)] ?? { type: 'gauge' };
        expect({ name, before }).toEqual({
          name,
          before: type === 'gauge' ? expect.stringMatching(/^\($/) : expect.stringMatching(/^(rate|increase)\($/),
        });
      }
      expect(text).not.toMatch(/(rate|increase)\([^[]*\[(?!\$__rate_interval|\$__range)/);
    },
  );

  it.each(statements(dashboard))('reads no query texts or user data from PostgreSQL: $where', ({ text }) => {
    const tables = [...text.matchAll(/\b(?:from|join)\s+([a-z_]+)\b(?!\s*\()/g)].map(([, table]) => table);
    expect(tables.length).toBeGreaterThan(0);
    expect(tables.filter((table) => withText.has(table ?? ''))).toEqual([]);
    expect(text).not.toMatch(/\b(text_hash|comment|error_message|user_hash|session_hash|q\.text|tags)\b(?!")/);
  });
});

/** Returns the text around each syntax error in a PromQL expression: up to 20 characters on each side. */
function syntaxErrors(expression: string): string[] {
  const errors: string[] = [];
  parser.parse(expression).iterate({
    enter: ({ type, from }) => {
      if (type.isError) errors.push(expression.slice(Math.max(0, from - 20), from + 20));
    },
  });
  return errors;
}
