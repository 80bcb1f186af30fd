/** Panels of shadows, on the dashboard of live traffic. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { graph } from '../dashboards/panels.ts';
import { increaseBy, maxBy, type PromQuery } from '../dashboards/promql.ts';
import { metricCatalogue } from '../metrics/catalogue.ts';

/** The dashboard chooses no golden set. */
const anySet = { golden_set: { like: '.+' } } as const;

const onSet = ['shadow', 'golden_set'] as const;

/** A value with its bounds, of each shadow. */
function bounded(
  name:
    | 'recalld_shadow_difference'
    | 'recalld_shadow_live_difference'
    | 'recalld_shadow_overlap'
    | 'recalld_shadow_changed_ratio',
): PromQuery[] {
  return (['', '_ci_low', '_ci_high'] as const).map((suffix) => {
    const words = { '': '', _ci_low: ', lower bound', _ci_high: ', upper bound' }[suffix];
    return name === 'recalld_shadow_difference'
      ? { expr: maxBy(onSet, `${name}${suffix}`, anySet), legend: `{{shadow}}, {{golden_set}}${words}` }
      : { expr: maxBy(['shadow'], `${name}${suffix}`), legend: `{{shadow}}${words}` };
  });
}

export function shadowPanels(): Builder<Panel>[] {
  return [
    graph({
      title: 'Shadow less pipeline, nDCG',
      description: metricCatalogue.recalld_shadow_difference.help,
      unit: 'none',
      width: 12,
      queries: bounded('recalld_shadow_difference'),
    }),
    graph({
      title: 'What is said of shadows',
      description: metricCatalogue.recalld_shadow_verdict.help,
      unit: 'none',
      min: 0,
      max: 1,
      width: 6,
      queries: [
        {
          expr: maxBy([...onSet, 'verdict'], 'recalld_shadow_verdict', anySet),
          legend: '{{shadow}}, {{golden_set}}: {{verdict}}',
        },
      ],
    }),
    graph({
      title: 'Questions behind shadows (n)',
      description: 'Golden questions of the test, and live queries of seven days that both sides answered.',
      unit: 'short',
      min: 0,
      width: 6,
      queries: [
        { expr: maxBy(onSet, 'recalld_shadow_questions', anySet), legend: '{{shadow}}, {{golden_set}}' },
        { expr: maxBy(['shadow'], 'recalld_shadow_live_questions'), legend: '{{shadow}}, live' },
      ],
    }),
    graph({
      title: 'Shadow less what users got, judged nDCG',
      description: metricCatalogue.recalld_shadow_live_difference.help,
      unit: 'none',
      width: 12,
      queries: bounded('recalld_shadow_live_difference'),
    }),
    graph({
      title: 'What judged live queries say of shadows',
      description: metricCatalogue.recalld_shadow_live_verdict.help,
      unit: 'none',
      min: 0,
      max: 1,
      width: 6,
      queries: [
        { expr: maxBy(['shadow', 'verdict'], 'recalld_shadow_live_verdict'), legend: '{{shadow}}: {{verdict}}' },
      ],
    }),
    graph({
      title: 'Judged live queries behind shadows (n)',
      description: metricCatalogue.recalld_shadow_live_judged_queries.help,
      unit: 'short',
      min: 0,
      width: 6,
      queries: [{ expr: maxBy(['shadow'], 'recalld_shadow_live_judged_queries'), legend: '{{shadow}}' }],
    }),
    graph({
      title: 'Overlap of shadows with what users got',
      description: `${metricCatalogue.recalld_shadow_overlap.help} 1 is the same list.`,
      unit: 'none',
      min: 0,
      max: 1,
      width: 8,
      queries: bounded('recalld_shadow_overlap'),
    }),
    graph({
      title: 'Lists that differ',
      description: metricCatalogue.recalld_shadow_changed_ratio.help,
      unit: 'percentunit',
      min: 0,
      max: 1,
      width: 8,
      queries: bounded('recalld_shadow_changed_ratio'),
    }),
    graph({
      title: 'Live queries asked of shadows',
      description: 'After users have their answers, within max_calls_per_day.',
      unit: 'short',
      min: 0,
      width: 8,
      queries: [
        {
          expr: increaseBy(['shadow', 'outcome'], 'recalld_shadow_live_questions_total'),
          legend: '{{shadow}} {{outcome}}',
        },
      ],
    }),
  ];
}
