import { describe, expect, it } from 'vitest';
import { gaugeGraphs } from '../../../../src/platform/dashboards/gauge-panels.ts';

interface Built {
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const build = (spec: Parameters<typeof gaugeGraphs>[0][number]): Built[] =>
  gaugeGraphs([spec]).map((panel) => JSON.parse(JSON.stringify(panel.build())) as Built);

describe('the graph of a gauge', () => {
  it('is omitted for a metric that this version does not export', () => {
    expect(build({ metric: 'recalld_of_tomorrow', title: 'Tomorrow', unit: 'none' })).toEqual([]);
  });

  it('shows the confidence interval if there is one series', () => {
    const [panel] = build({ metric: 'recalld_query_error_ratio', title: 'Failed', unit: 'percentunit' });
    expect(panel?.description).toMatch(/^Share of live queries .* Shown with the 95 % confidence interval\.$/);
    expect(panel?.targets?.map(({ legendFormat }) => legendFormat)).toEqual([
      'Failed',
      '95 % lower bound',
      '95 % upper bound',
    ]);
  });

  it('shows its own description, if there is one, instead of the help text of the metric', () => {
    const gauge = { metric: 'recalld_query_error_ratio', title: 'Failed', unit: 'percentunit' } as const;
    const [panel] = build({ ...gauge, description: 'Share of failed queries.', note: 'Lower is better.' });
    expect(panel?.description).toBe(
      'Share of failed queries. Shown with the 95 % confidence interval. Lower is better.',
    );
  });

  it('has a series for each value of unselected labels, and then no confidence interval', () => {
    const [panel] = build({
      metric: 'recalld_feedback_positive_ratio',
      title: 'Positive',
      unit: 'percentunit',
    });
    expect(panel?.targets).toMatchObject([
      {
        expr: 'max by (basis) (recalld_feedback_positive_ratio{job=~"$job", instance=~"$instance", pipeline="$pipeline", segment="$segment"})',
        legendFormat: '{{basis}}',
      },
    ]);
  });

  it('has one series if a label has the same value everywhere', () => {
    const spec = { metric: 'recalld_ann_recall_ratio', title: 'Recall', unit: 'percentunit', without: ['k'] };
    expect(build(spec)[0]?.targets).toHaveLength(3);
  });

  it('draws the thresholds of the checks on its measure, in the unit of the measure', () => {
    const thresholds = [
      { metric: 'recalld_query_error_ratio', title: 'Failed', unit: 'percentunit', checked: 'error_ratio' },
      { metric: 'recalld_query_latency_p95_seconds', title: 'Latency', unit: 's', checked: 'latency_p95_seconds' },
    ].map((spec) => build(spec)[0]?.targets?.at(-1));
    expect(thresholds).toMatchObject([
      {
        expr: 'max by (check, severity) (recalld_threshold{job=~"$job", instance=~"$instance", pipeline="$pipeline", check=~"error_ratio (above|below) [^ ]+"})',
        legendFormat: 'threshold: {{check}} ({{severity}})',
      },
      { expr: expect.stringMatching(/^max by \(check, severity\) \(recalld_threshold_seconds\{/) as string },
    ]);
  });

  it('draws no limit while there is no value, and raises values below the floor to the floor', () => {
    const shown = 'recalld_density_drift_evidence_ratio{job=~"$job", instance=~"$instance", pipeline="$pipeline"}';
    const metric = 'recalld_density_drift_evidence_ratio';
    const [panel] = build({ metric, title: 'Drift', unit: 'none', isLog: true, floor: 0.01, limit: 1 });
    expect(panel?.targets?.map(({ expr }) => expr)).toEqual([
      expect.stringMatching(/^clamp_min\(max by \(\w+\) .*, 0\.01\)$/),
      `0 * max (${shown}) + 1`,
    ]);
  });
});
