/** Alerts on what a store holds against what it should hold. */
import { type AlertRule, maxBy, type RuleGroup } from '../../../platform/metrics/alert-rules.ts';
import { WRONG_SHARE } from '../rules/findings.ts';

const pipeline = ['pipeline'] as const;
const name = '{{ $labels.pipeline }}';

function above(measure: string): Pick<AlertRule, 'expr' | 'for' | 'keepFiringFor' | 'by' | 'dashboard' | 'severity'> {
  return {
    severity: 'warning',
    expr: `${maxBy(pipeline, `recalld_index_${measure}_ratio_ci_low` as Parameters<typeof maxBy>[1], { segment: 'all' })} > ${WRONG_SHARE}`,
    for: '0m',
    keepFiringFor: '30m',
    by: pipeline,
    dashboard: 'density',
  };
}

/** By its lower bound, or by itself where no upper bound is known: then it is the lower one. */
const late = `(${maxBy(pipeline, 'recalld_index_lag_seconds_ci_low', { segment: 'all' })} or ${maxBy(pipeline, 'recalld_index_lag_seconds', { segment: 'all' })})`;

const alerts: readonly AlertRule[] = [
  {
    alert: 'RecalldIndexMissing',
    ...above('missing'),
    summary: `Documents were missing in the index of ${name}.`,
    description: `At least {{ $value | humanizePercentage }} (lower 95 % bound) of the documents that the manifest of ${name} names are not in its store.`,
  },
  {
    alert: 'RecalldIndexOrphaned',
    ...above('orphaned'),
    summary: `The index of ${name} held documents that it should no longer hold.`,
    description: `At least {{ $value | humanizePercentage }} (lower 95 % bound) of what the store of ${name} holds is not in its manifest, or deleted there.`,
  },
  {
    alert: 'RecalldIndexSuperseded',
    ...above('superseded'),
    summary: `Old versions of documents were live in the index of ${name}.`,
    description: `Of at least {{ $value | humanizePercentage }} (lower 95 % bound) of the documents of ${name}, chunks of more than one version are in the store.`,
  },
  {
    alert: 'RecalldIndexModelsMixed',
    ...above('other_model'),
    summary: `The index of ${name} held vectors of another model.`,
    description: `At least {{ $value | humanizePercentage }} (lower 95 % bound) of the stored vectors of ${name} are not those that its embedder makes of the stored texts.`,
  },
  {
    alert: 'RecalldIndexLate',
    severity: 'warning',
    expr: `${late}\n> on (pipeline) group_left ()\n${maxBy(pipeline, 'recalld_index_late_after_seconds')}\nand on (pipeline)\n${maxBy(pipeline, 'recalld_index_changes_overdue')} > 0`,
    for: '0m',
    keepFiringFor: '30m',
    by: pipeline,
    dashboard: 'density',
    summary: `Changes took too long to arrive in the index of ${name}.`,
    description: `One in twenty changes of the last day took at least {{ $value | humanizeDuration }} (lower 95 % bound of the 95th percentile) to arrive in the store of ${name}, longer than late_after of its config allows, and some still wait.`,
  },
  {
    alert: 'RecalldIndexCheckStopped',
    severity: 'warning',
    expr: `time() - ${maxBy(pipeline, 'recalld_index_check_last_success_timestamp_seconds')} > 86400`,
    for: '10m',
    by: pipeline,
    dashboard: 'itself',
    summary: `The index of ${name} is no longer held against its manifest.`,
    description: `The last whole round over the index of ${name} ended {{ $value | humanizeDuration }} ago: its manifest cannot be read, or its store does not answer.`,
  },
];

export function indexGroup(): RuleGroup {
  return { name: 'recalld-index', recordings: [], alerts };
}
