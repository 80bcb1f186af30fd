import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createAlertRules } from '../../../../src/app/commands/alert-rules.ts';
import { parseConfig } from '../../../../src/app/config/parse.ts';
import type { Config } from '../../../../src/app/config/schema.ts';

function aConfig(pipeline = '', rest = ''): Config {
  const text = `
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://rag.internal/search"}
    golden: [{set: faq, cron: "0 */4 * * *"}, {set: by-hand}]
${pipeline}
${rest}`;
  return parseConfig(text, 'recalld.yaml', {}, () => '');
}

const links =
  'alerts: {runbook_base_url: "https://wiki/r", dashboard_base_url: "https://grafana", console_base_url: "https://recalld", scrape_job: rag}';

describe('the alert rules of a config', () => {
  it('link to the configured runbooks, dashboards and console, and select the configured scrape job', () => {
    const { document, notes } = createAlertRules(aConfig('', links), 'rules');
    const text = stringify(document, { lineWidth: 0 });
    expect(notes).toEqual([]);
    expect(text).toContain('runbook_url: https://wiki/r/RecalldAbsent.md');
    expect(text).toContain('dashboard_url: https://grafana/d/recalld-itself');
    expect(text).toContain('console_url: https://recalld/pipelines/{{ $labels.pipeline }}');
    expect(text).toContain('max by (job, instance) (up{job="rag"}) == 0');
  });

  it('alert on missing scheduled runs, but not on missing manual runs', () => {
    const text = stringify(createAlertRules(aConfig(), 'rules').document, { lineWidth: 0 });
    expect(text).toContain(
      'unless on (job) group by (job) (recalld_golden_run_interval_seconds{pipeline="docs", golden_set="faq"})',
    );
    expect(text).not.toContain('golden_set="by-hand"');
  });

  it('keep an alert on scores firing until after the next scheduled run', () => {
    expect(createAlertRules(aConfig(), 'rules').document).toMatchObject({
      groups: expect.arrayContaining([
        expect.objectContaining({
          name: 'recalld-checks',
          rules: expect.arrayContaining([
            expect.objectContaining({ alert: 'RecalldCheckCritical', keep_firing_for: '6h' }),
          ]),
        }),
      ]),
    });
  });

  it('contain an alert for each objective', () => {
    const slo = '    slo: {success: 0.99, latency: {within_seconds: 1, target: 0.95}}';
    const text = stringify(createAlertRules(aConfig(slo), 'rules').document, { lineWidth: 0 });
    expect(text).toContain('pipeline:recalld_slo_errors:ratio_rate1h{pipeline="docs", slo="success"} > 0.144');
    expect(text).toContain('slo="latency"');
    expect(text).not.toContain('slo="results"');
  });

  it('omit links whose address is not configured, with a note for each missing address', () => {
    const { document, notes } = createAlertRules(aConfig(), 'crd');
    expect(notes).toEqual([
      'alerts.console_base_url is not set: alerts do not link to the console or its runbooks.',
      'alerts.dashboard_base_url is not set: alerts do not link to a dashboard.',
    ]);
    expect(stringify(document)).not.toMatch(/_url:|https?:/);
  });

  it('link to the runbooks of the console if only the address of the console is configured', () => {
    const console = 'alerts: {console_base_url: "https://recalld/"}';
    const text = stringify(createAlertRules(aConfig('', console), 'rules').document, { lineWidth: 0 });
    expect(text).toContain('runbook_url: https://recalld/runbooks/RecalldAbsent\n');
    expect(text).not.toContain('dashboard_url');
  });

  it('separate deployments by the configured labels in every expression', () => {
    const labels = 'alerts: {group_labels: [cluster, namespace]}';
    const { document } = createAlertRules(aConfig('', labels), 'rules');
    const { groups } = document as { groups: { rules: { expr: string }[] }[] };
    const text = groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)).join('\n');
    const grouped = [...text.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].map(([, inside]) => inside ?? '');
    expect(grouped.length).toBeGreaterThan(100);
    expect(grouped.filter((inside) => !inside.startsWith('cluster, namespace'))).toEqual([]);
  });

  it("cannot use a deployment label that recalld's own metrics have", () => {
    expect(() => aConfig('', 'alerts: {group_labels: [pipeline]}')).toThrow(
      "pipeline is a label of recalld's own metrics",
    );
  });

  it('cannot be generated for an objective that no alert can cover', () => {
    expect(() => createAlertRules(aConfig('    slo: {results: 0.8}'), 'rules')).toThrow(
      /The objective results of docs: .*93\.1 %/,
    );
  });
});
