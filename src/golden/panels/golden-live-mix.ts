/** Panels of how well a golden set stands for live traffic. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { graph, withBand } from '../../dashboards/panels.ts';
import { maxBy } from '../../dashboards/promql.ts';

/** Measured every six hours; empty for a pipeline without an embedder. */
export function liveMixPanels(): Builder<Panel>[] {
  const covered = 'recalld_golden_live_covered_ratio';
  const ofNdcg = { measure: 'ndcg' } as const;
  const score = 'recalld_golden_live_mix_score';
  return [
    graph({
      title: 'Live traffic that the set covers',
      description:
        'Share of the live queries of the last week with a golden question near by, with its 95 % confidence interval, and the share on topics with any golden question. `recalld golden check` names the topics without one.',
      unit: 'percentunit',
      min: 0,
      max: 1,
      width: 8,
      queries: [
        ...withBand(
          { expr: maxBy([], covered), legend: 'covered' },
          maxBy([], `${covered}_ci_low`),
          maxBy([], `${covered}_ci_high`),
        ),
        { expr: maxBy([], 'recalld_golden_live_represented_ratio'), legend: 'topic has a golden question' },
      ],
    }),
    graph({
      title: 'nDCG with the mix of live traffic',
      description:
        'The latest run with its queries weighted as their topics are asked about, at its largest cut-off, with its 95 % confidence interval. Far below the plain score, users ask more of what is answered worse.',
      unit: 'none',
      min: 0,
      max: 1,
      width: 8,
      queries: withBand(
        { expr: maxBy([], score, ofNdcg), legend: 'ndcg' },
        maxBy([], `${score}_ci_low`, ofNdcg),
        maxBy([], `${score}_ci_high`, ofNdcg),
      ),
    }),
    graph({
      title: 'Effective queries of the live mix',
      description:
        'So many queries of equal weight would tell as much. Far below the size of the set, most of its questions are on topics that few users ask about.',
      unit: 'short',
      min: 0,
      width: 8,
      queries: [{ expr: maxBy([], 'recalld_golden_live_mix_effective_queries'), legend: 'queries' }],
    }),
  ];
}
