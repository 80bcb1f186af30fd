/** Alerts that only a config can give: what it names must be there. */
import { type RuleGroup, type RuleSettings, series } from '../../metrics/alert-rules.ts';

export function configuredGroup({ pipelines }: RuleSettings): RuleGroup {
  const alerts = pipelines.flatMap(({ name, goldenSets }) =>
    goldenSets.map((goldenSet) => ({
      alert: 'RecalldPipelineMissing',
      severity: 'critical' as const,
      expr: `absent(${series('recalld_golden_run_interval_seconds', { pipeline: name, golden_set: goldenSet })})
and on () group(${series('recalld_build_info')})`,
      for: '10m',
      by: ['pipeline', 'golden_set'],
      labels: { pipeline: name, golden_set: goldenSet },
      dashboard: 'health' as const,
      summary: 'No recalld watches {{ $labels.golden_set }} on {{ $labels.pipeline }}.',
      description:
        'recalld runs, but for 10 minutes none of its replicas has known the golden set {{ $labels.golden_set }} of {{ $labels.pipeline }} (absent = {{ $value }}), which these rules were made for.',
    })),
  );
  return { name: 'recalld-configured', recordings: [], alerts };
}
