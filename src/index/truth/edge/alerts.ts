import { type AlertRule, maxBy, type RuleGroup } from '../../../platform/metrics/alert-rules.ts';
import { MIN_WRONG_SHARE } from '../rules/findings.ts';

const pipeline = ['pipeline'] as const;
const name = '{{ $labels.pipeline }}';

function above(measure: string) {
  return {
    severity: 'warning',
    expr: `${maxBy(pipeline, `recalld_index_${measure}_ratio_ci_low` as Parameters<typeof maxBy>[1], { segment: 'all' })} > ${MIN_WRONG_SHARE}`,
    for: '0m',
    keepFiringFor: '30m',
    by: pipeline,
    dashboard: 'store',
  } as const;
}

/** The lower bound of the lag; the lag itself if it has no confidence interval. */
const late = `(${maxBy(pipeline, 'recalld_index_lag_seconds_ci_low', { segment: 'all' })} or ${maxBy(pipeline, 'recalld_index_lag_seconds', { segment: 'all' })})`;

const alerts: readonly AlertRule[] = [
  {
    alert: 'RecalldIndexMissing',
    ...above('missing'),
    summary: `${name}: documents missing from the index`,
    description: `At least {{ $value | humanizePercentage }} (lower bound of the 95 % CI) of the documents in the manifest of ${name} are missing from its vector store.`,
  },
  {
    alert: 'RecalldIndexOrphaned',
    ...above('orphaned'),
    summary: `${name}: orphaned documents in the index`,
    description: `At least {{ $value | humanizePercentage }} (lower bound of the 95 % CI) of the documents in the vector store of ${name} are not in its manifest, or are listed as deleted.`,
  },
  {
    alert: 'RecalldIndexSuperseded',
    ...above('superseded'),
    summary: `${name}: outdated document versions in the index`,
    description: `At least {{ $value | humanizePercentage }} (lower bound of the 95 % CI) of the documents of ${name} have chunks from more than one version in the vector store.`,
  },
  {
    alert: 'RecalldIndexModelsMixed',
    ...above('other_model'),
    summary: `${name}: vectors from another model in the index`,
    description: `At least {{ $value | humanizePercentage }} (lower bound of the 95 % CI) of the stored vectors of ${name} differ from what its embedder returns for the stored texts.`,
  },
  {
    alert: 'RecalldIndexLate',
    severity: 'warning',
    expr: `${late}\n> on (pipeline) group_left ()\n${maxBy(pipeline, 'recalld_index_late_after_seconds')}\nand on (pipeline)\n${maxBy(pipeline, 'recalld_index_changes_overdue')} > 0`,
    for: '0m',
    keepFiringFor: '30m',
    by: pipeline,
    dashboard: 'store',
    summary: `${name}: index updates are late`,
    description: `In the last day, 5 % of the changes took at least {{ $value | humanizeDuration }} (lower bound of the 95 % CI) to reach the vector store of ${name}. This lag exceeds late_after, and some changes have not arrived yet.`,
  },
  {
    alert: 'RecalldIndexCheckStopped',
    severity: 'warning',
    expr: `time() - ${maxBy(pipeline, 'recalld_index_check_last_success_timestamp_seconds')} > 86400`,
    for: '10m',
    by: pipeline,
    dashboard: 'itself',
    summary: `${name}: index no longer checked`,
    description: `The last complete check of the index of ${name} ended {{ $value | humanizeDuration }} ago. recalld cannot read the manifest, or the store does not respond.`,
  },
];

export function indexGroup(): RuleGroup {
  return { name: 'recalld-index', recordings: [], alerts };
}
