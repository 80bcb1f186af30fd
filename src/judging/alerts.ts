/** Alerts on judges: one that is not reached, gives no grades, disagrees with people, or is no longer measured. */
import { type AlertRule, increaseBy, maxBy, type RuleGroup } from '../metrics/alert-rules.ts';

const pipeline = ['pipeline'] as const;
const name = '{{ $labels.pipeline }}';

/** Below it a judge says little of what people would (Landis and Koch 1977 call up to 0.4 fair). */
const LEAST_AGREEMENT = 0.4;

const alerts: readonly AlertRule[] = [
  {
    alert: 'RecalldJudgeNotReached',
    severity: 'warning',
    // A round gives up after three queries, and there is one an hour.
    expr: `${increaseBy(pipeline, 'recalld_judge_failures_total', '3h', { reason: ['unreachable'] })} >= 6`,
    for: '10m',
    keepFiringFor: '1h',
    by: pipeline,
    dashboard: 'live',
    summary: `The judge of ${name} is not reached.`,
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
    summary: `The judge of ${name} gives no grades.`,
    description: `{{ $value | humanize }} documents of ${name} got no grade within six hours: the judge refused, or answered twice with no grade. Each counts as grade 0 in what the model says.`,
  },
  {
    alert: 'RecalldJudgeDisagrees',
    severity: 'warning',
    expr: `${maxBy(pipeline, 'recalld_judge_agreement_ci_high')} < ${LEAST_AGREEMENT}`,
    for: '2h',
    keepFiringFor: '2h',
    by: pipeline,
    dashboard: 'live',
    summary: `The judge of ${name} does not grade as people do.`,
    description: `The agreement of the judge of ${name} with people (weighted kappa) is at most {{ $value | printf "%.2f" }} (upper 95 % bound). Judged live scores still hold, but are hardly better known than from people alone.`,
  },
  {
    alert: 'RecalldLiveRelevanceFell',
    severity: 'critical',
    expr: `${maxBy(pipeline, 'recalld_live_ndcg_drop')} and ${maxBy(pipeline, 'recalld_live_drop_state', { state: 'confirmed' })} == 1`,
    for: '10m',
    keepFiringFor: '2h',
    by: pipeline,
    dashboard: 'live',
    summary: `Live queries of ${name} are answered worse than before.`,
    description: `The nDCG of live queries of ${name} lies {{ $value | printf "%.2f" }} below that of the weeks before, by the grades of people and, beyond chance, by those of the model too. The judge is what it was.`,
  },
  {
    alert: 'RecalldLiveRelevanceFellTicket',
    severity: 'warning',
    expr: `${maxBy(pipeline, 'recalld_live_ndcg_drop')} and ${maxBy(pipeline, 'recalld_live_drop_state', { state: 'called' })} == 1`,
    for: '10m',
    keepFiringFor: '2h',
    by: pipeline,
    dashboard: 'live',
    summary: `The model says that live queries of ${name} are answered worse than before.`,
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

export function judgingGroup(): RuleGroup {
  return { name: 'recalld-judging', recordings: [], alerts };
}
