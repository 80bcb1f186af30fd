/** Alerts on judges: one that is not reached, gives no grades, disagrees with people, or is no longer measured. */
import {
  type AlertRule,
  asked,
  increaseBy,
  maxBy,
  ofAlert,
  type RuleGroup,
  type RuleSettings,
} from '../../platform/metrics/alert-rules.ts';
import { ENOUGH_SESSIONS } from '../rules/agreement.ts';

const pipeline = ['pipeline'] as const;
const name = '{{ $labels.pipeline }}';

const limit = maxBy(pipeline, 'recalld_judge_min_agreement');
const disagrees = [
  `${maxBy(pipeline, 'recalld_judge_agreement_ci_low')} < on (pipeline) ${limit}`,
  `and on (pipeline) (${maxBy(pipeline, 'recalld_judge_agreement_sessions')} >= ${ENOUGH_SESSIONS}`,
  `or on (pipeline) ${maxBy(pipeline, 'recalld_judge_agreement_ci_high')} < on (pipeline) ${limit})`,
].join('\n');

const alertsFor = (groupLabels: readonly string[]): readonly AlertRule[] => [
  {
    alert: 'RecalldJudgeNotReached',
    severity: 'warning',
    // A round gives up after three queries, and there is one an hour.
    expr: `${increaseBy(pipeline, 'recalld_judge_failures_total', '3h', { reason: ['unreachable'] })} >= 6`,
    for: '10m',
    keepFiringFor: '1h',
    by: pipeline,
    dashboard: 'live',
    summary: `The judge of ${name} was not reached.`,
    description: `Live queries of ${name} could not be graded {{ $value | humanize }} times within three hours, because the judge, the retriever or the store did not answer. They wait, and are given up after a day.`,
  },
  {
    alert: 'RecalldJudgeFailing',
    severity: 'warning',
    expr: `${increaseBy(pipeline, 'recalld_judge_failures_total', '6h', { reason: ['malformed', 'refused'] })} >= 20`,
    for: '10m',
    keepFiringFor: '1h',
    by: pipeline,
    dashboard: 'live',
    summary: `The judge of ${name} gave no grades.`,
    description: `{{ $value | humanize }} documents of ${name} got no grade within six hours: the judge refused, or answered twice with no grade. Each counts as grade 0 in what the model says.`,
  },
  {
    alert: 'RecalldJudgeDisagrees',
    severity: 'warning',
    expr: disagrees,
    for: '2h',
    keepFiringFor: '2h',
    by: pipeline,
    dashboard: 'live',
    summary: `The judge of ${name} did not grade as people do.`,
    description: agreementText(groupLabels),
  },
  {
    alert: 'RecalldLiveRelevanceFell',
    severity: 'critical',
    expr: `${maxBy(pipeline, 'recalld_live_ndcg_drop')} and ${maxBy(pipeline, 'recalld_live_drop_state', { state: 'confirmed' })} == 1`,
    for: '10m',
    keepFiringFor: '2h',
    by: pipeline,
    dashboard: 'live',
    summary: `Live queries of ${name} were answered worse than before.`,
    description: `The nDCG of live queries of ${name} lies {{ $value | printf "%.2f" }} below that of the weeks before, by the grades of people and, beyond chance, by those of the model too. The judge is what it was.`,
  },
  {
    alert: 'RecalldLiveRelevanceFellTicket',
    severity: 'warning',
    expr: `${maxBy(pipeline, 'recalld_live_ndcg_drop')} and ${maxBy(pipeline, 'recalld_live_drop_state', { state: 'detected' })} == 1`,
    for: '10m',
    keepFiringFor: '2h',
    by: pipeline,
    dashboard: 'live',
    summary: `By the judge, live queries of ${name} were answered worse than before.`,
    description: `The nDCG of live queries of ${name} lies {{ $value | printf "%.2f" }} below that of the weeks before by the grades of the model, which is what it was. People have not graded enough of these days to say whether it is so.`,
  },
  {
    alert: 'RecalldJudgeChanged',
    severity: 'warning',
    expr: `time() - ${maxBy(pipeline, 'recalld_judge_changed_timestamp_seconds')} < 86400`,
    by: pipeline,
    dashboard: 'live',
    summary: `The judge of ${name} grades otherwise than it did.`,
    description: `Fixed pairs that the judge of ${name} graded again got other grades than at first, by more than chance, {{ $value | humanizeDuration }} ago. What the model says alone begins anew; scores that people correct still hold.`,
  },
  {
    alert: 'RecalldJudgedMeasuresStopped',
    severity: 'warning',
    expr: `time() - ${maxBy(pipeline, 'recalld_live_judged_last_success_timestamp_seconds')} > 10800`,
    for: '10m',
    by: pipeline,
    dashboard: 'itself',
    summary: `Judged live relevance of ${name} is no longer measured.`,
    description: `What was graded of the live traffic of ${name} was last measured {{ $value | humanizeDuration }} ago; its scores are withheld.`,
  },
];

const read = (metric: string, places: number): string =>
  asked('$of', metric, `{{ . | first | value | printf "%.${places}f" }}`, 'unknown');

function agreementText(groupLabels: readonly string[]): string {
  const kappa = read('recalld_judge_agreement', 2);
  const bounds = `95 % ${read('recalld_judge_agreement_ci_low', 2)} to ${read('recalld_judge_agreement_ci_high', 2)}`;
  const sessions = `n = ${read('recalld_judge_agreement_sessions', 0)} sessions`;
  return `${ofAlert('$of', groupLabels, pipeline)}The agreement of the judge of ${name} with people (weighted kappa) is ${kappa} (${bounds}, ${sessions}); its lower bound is to be at least ${read('recalld_judge_min_agreement', 2)}. Judged live scores still hold, but are less well known than they could be.`;
}

export function judgingGroup({ groupLabels }: Pick<RuleSettings, 'groupLabels'>): RuleGroup {
  return { name: 'recalld-judging', recordings: [], alerts: alertsFor(groupLabels) };
}
