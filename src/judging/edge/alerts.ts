import {
  type AlertRule,
  ifSeries,
  increaseBy,
  maxBy,
  type RuleGroup,
  type RuleSettings,
  selectorVariable,
} from '../../platform/metrics/alert-rules.ts';
import { MIN_AGREEMENT_SESSIONS } from '../rules/agreement.ts';

const pipeline = ['pipeline'] as const;
const name = '{{ $labels.pipeline }}';

const limit = maxBy(pipeline, 'recalld_judge_min_agreement');
const disagrees = [
  `${maxBy(pipeline, 'recalld_judge_agreement_ci_low')} < on (pipeline) ${limit}`,
  `and on (pipeline) (${maxBy(pipeline, 'recalld_judge_agreement_sessions')} >= ${MIN_AGREEMENT_SESSIONS}`,
  `or on (pipeline) ${maxBy(pipeline, 'recalld_judge_agreement_ci_high')} < on (pipeline) ${limit})`,
].join('\n');

/** Settings of most alerts on judges. */
const ofJudge = { severity: 'warning', by: pipeline, dashboard: 'judge' } as const;

const alertsFor = (groupLabels: readonly string[]): readonly AlertRule[] => [
  {
    alert: 'RecalldJudgeNotReached',
    ...ofJudge,
    // An hourly round ends after three consecutive queries that could not be graded because a service was unreachable.
    expr: `${increaseBy(pipeline, 'recalld_judge_failures_total', '3h', { reason: ['unreachable'] })} >= 6`,
    for: '10m',
    keepFiringFor: '1h',
    summary: `${name}: judge unreachable`,
    description: `While recalld was grading live queries of ${name}, the judge, the retriever or the store failed to respond {{ $value | humanize }} times within 3 hours. The queries are retried every hour and expire after a day.`,
  },
  {
    alert: 'RecalldJudgeFailing',
    ...ofJudge,
    expr: `${increaseBy(pipeline, 'recalld_judge_failures_total', '6h', { reason: ['malformed', 'refused'] })} >= 20`,
    for: '10m',
    keepFiringFor: '1h',
    summary: `${name}: judge returns no grades`,
    description: `The judge returned no valid grade for {{ $value | humanize }} documents of ${name} within 6 hours. Each of these documents counts as grade 0 in uncorrected scores.`,
  },
  {
    alert: 'RecalldJudgeDisagrees',
    ...ofJudge,
    expr: disagrees,
    for: '2h',
    keepFiringFor: '2h',
    summary: `${name}: judge disagrees with people`,
    description: agreementText(groupLabels),
  },
  {
    alert: 'RecalldLiveRelevanceFell',
    severity: 'critical',
    expr: `${maxBy(pipeline, 'recalld_live_ndcg_drop')} and ${maxBy(pipeline, 'recalld_live_drop_state', { state: 'confirmed' })} == 1`,
    for: '10m',
    keepFiringFor: '2h',
    by: pipeline,
    dashboard: 'judged',
    summary: `${name}: judged live nDCG dropped`,
    description: `Judged nDCG of live queries of ${name} is {{ $value | printf "%.2g" }} lower than in the preceding weeks. Model grades show a drop that is not due to chance, and human judgments confirm it. The judge itself has not changed.`,
  },
  {
    alert: 'RecalldLiveRelevanceFellTicket',
    severity: 'warning',
    expr: `${maxBy(pipeline, 'recalld_live_ndcg_drop')} and ${maxBy(pipeline, 'recalld_live_drop_state', { state: 'detected' })} == 1`,
    for: '10m',
    keepFiringFor: '2h',
    by: pipeline,
    dashboard: 'judged',
    summary: `${name}: judged live nDCG dropped, not yet confirmed by people`,
    description: `Judged nDCG of live queries of ${name} is {{ $value | printf "%.2g" }} lower than in the preceding weeks, according to model grades. The judge itself has not changed. People have graded too few of these queries to confirm the drop.`,
  },
  {
    alert: 'RecalldJudgeChanged',
    ...ofJudge,
    expr: `time() - ${maxBy(pipeline, 'recalld_judge_changed_timestamp_seconds')} < 86400`,
    summary: `${name}: judge changed`,
    description: `The judge of ${name} changed {{ $value | humanizeDuration }} ago: its grades for a fixed set of query-document pairs differ from its earlier grades by more than chance explains. Uncorrected scores start a new series; human-corrected scores remain valid.`,
  },
  {
    alert: 'RecalldJudgedMeasuresStopped',
    severity: 'warning',
    expr: `time() - ${maxBy(pipeline, 'recalld_live_judged_last_success_timestamp_seconds')} > 10800`,
    for: '10m',
    by: pipeline,
    dashboard: 'itself',
    summary: `${name}: judged live relevance is no longer measured`,
    description: `Judged live relevance of ${name} was last measured {{ $value | humanizeDuration }} ago, so its scores are no longer exported.`,
  },
];

const read = (metric: string, places: number): string =>
  ifSeries('$of', metric, `{{ . | first | value | printf "%.${places}f" }}`, 'unknown');

function agreementText(groupLabels: readonly string[]): string {
  const kappa = read('recalld_judge_agreement', 2);
  const interval = `95 % CI ${read('recalld_judge_agreement_ci_low', 2)}-${read('recalld_judge_agreement_ci_high', 2)}`;
  const sessions = `n = ${read('recalld_judge_agreement_sessions', 0)} sessions`;
  return `${selectorVariable('$of', groupLabels, pipeline)}The agreement (weighted kappa) between the judge of ${name} and people is ${kappa} (${interval}, ${sessions}); the lower bound is below the minimum of ${read('recalld_judge_min_agreement', 2)}. Corrected scores remain valid, but their confidence intervals are wider than necessary.`;
}

export function judgingGroup({ groupLabels }: RuleSettings): RuleGroup {
  return { name: 'recalld-judging', recordings: [], alerts: alertsFor(groupLabels) };
}
