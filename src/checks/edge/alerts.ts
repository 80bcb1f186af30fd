/** Alerts on check verdicts. The config sets the thresholds; these rules only report the verdicts. */

import type { Verdict } from '../../core/model.ts';
import {
  type AlertRule,
  duration,
  ifSeries,
  maxBy,
  type RuleGroup,
  type RuleSettings,
  selectorVariable,
  utcTime,
} from '../../platform/metrics/alert-rules.ts';
import type { CheckKind } from '../rules/check-state.ts';

const check = ['pipeline', 'check'] as const;
const rule = ['pipeline', 'rule'] as const;
const onCheck = 'on (pipeline, check)';
const name = '{{ $labels.pipeline }}';
const theCheck = `The check "{{ $labels.check }}" of ${name}`;

function inState(state: Verdict): string {
  return `${maxBy(check, 'recalld_check_state', { state })} == 1`;
}

function isOneOf(...kinds: readonly CheckKind[]): string {
  return `and ${onCheck} ${maxBy(check, 'recalld_check_info', { kind: kinds })}`;
}

/** Excludes checks that fail only because of a retriever outage, which has a separate alert. */
const unlessOutage = `unless ${onCheck} ${maxBy(check, 'recalld_check_outage')} == 1`;

const silentWhileCritical = { alerts: ['RecalldCheckCritical'], on: check };

/** Alerts that already explain why no check of a pipeline has data. */
const unmeasured = {
  alerts: ['RecalldGoldenNotRunning', 'RecalldGoldenNotSucceeding', 'RecalldRetrieverNotAnswering'],
  on: ['pipeline'],
};

export function checksGroup({ holdSeconds, groupLabels }: RuleSettings): RuleGroup {
  const hold = duration(holdSeconds);
  const numbers = numbersTemplate(groupLabels);
  const coverage = coverageTemplate(groupLabels);
  const alerts: AlertRule[] = [
    {
      alert: 'RecalldCheckCritical',
      severity: 'critical',
      expr: `${inState('critical')}\n${isOneOf('floor', 'regression', 'threshold', 'stale_labels', 'forbidden_results')}\n${unlessOutage}`,
      for: '1m',
      keepFiringFor: hold,
      by: check,
      dashboard: 'health',
      summary: `${name}: a critical check fails`,
      description: `${numbers}. ${theCheck} is critical; sampling noise does not explain the failure.`,
    },
    {
      alert: 'RecalldCheckWarning',
      severity: 'warning',
      expr: `${inState('warning')}\n${isOneOf('floor', 'regression', 'threshold', 'forbidden_results')}\n${unlessOutage}`,
      for: '5m',
      keepFiringFor: hold,
      by: check,
      silentWhile: silentWhileCritical,
      dashboard: 'health',
      summary: `${name}: a check is in the warning state`,
      description: `${numbers}. ${theCheck} is in the warning state.`,
    },
    {
      alert: 'RecalldCheckNoData',
      severity: 'warning',
      expr: `${inState('no_data')}\nunless ${onCheck} ${maxBy(check, 'recalld_check_quiet')} == 1`,
      for: '30m',
      by: check,
      silentWhile: unmeasured,
      dashboard: 'health',
      summary: `${name}: a check has no data`,
      description: `${numbers}. ${theCheck} has had no data for 30 minutes. Without data, a check cannot detect a failure.`,
    },
    {
      alert: 'RecalldCheckBlind',
      severity: 'warning',
      expr: `${maxBy(check, 'recalld_check_blind')} == 1`,
      for: '1h',
      by: check,
      dashboard: 'golden',
      summary: `${name}: a check cannot detect its configured drop`,
      description: `${selectorVariable('$of', groupLabels, check)}${theCheck} passes, but it detects only drops of ${ifSeries('$of', 'recalld_check_smallest_detectable_drop', '{{ . | first | value | printf "%.3g" }}', 'unknown size')} or more${ifSeries('$of', 'recalld_threshold', '; its threshold is a drop of {{ . | first | value | printf "%.3g" | reReplaceAll "^-" "" }}')}. Pin a baseline with reruns, add queries to the golden set, or raise the drop that the check is configured to detect.`,
    },
    {
      alert: 'RecalldIsolationViolated',
      severity: 'critical',
      expr: `${maxBy(rule, 'recalld_live_isolation_violations')} > 0`,
      by: rule,
      dashboard: 'live',
      summary: `${name}: live results violated an isolation rule`,
      description: `In the last hour, {{ $value | printf "%.0f" }} live queries of ${name} returned documents that violate the isolation rule "{{ $labels.rule }}". Check the tenant or permission filter of the search; the console lists the documents and queries.`,
    },
    {
      alert: 'RecalldStaleLabels',
      severity: 'warning',
      expr: `${inState('warning')}\n${isOneOf('stale_labels')}`,
      for: '5m',
      keepFiringFor: hold,
      by: check,
      silentWhile: silentWhileCritical,
      dashboard: 'runs',
      summary: `${name}: judgments are out of date`,
      description: `${numbers}. Judged documents are deleted in the manifest, or have new ids because they were re-chunked or renamed. recalld no longer compares the queries of these documents with the baseline. Update the judgments with \`recalld golden check\`, then pin a new baseline.`,
    },
    {
      alert: 'RecalldDensityDrift',
      severity: 'critical',
      expr: `${inState('critical')}\n${isOneOf('density_drift')}`,
      for: '1m',
      by: check,
      dashboard: 'density',
      summary: `${name}: live queries are poorly covered`,
      description: `${coverage}: drift is confirmed. Restore lost content, or add documents for the uncovered topics.`,
    },
    {
      alert: 'RecalldDensityDriftTicket',
      severity: 'warning',
      // Density alerts fire even if no check is configured.
      expr: `max by (pipeline) (${inState('warning')} ${isOneOf('density_drift')})
or ${maxBy(['pipeline'], 'recalld_density_incident')} == 1
unless on (pipeline) ${maxBy(['pipeline'], 'recalld_check_info', { kind: 'density_drift' })}`,
      for: '5m',
      by: ['pipeline'],
      silentWhile: { alerts: ['RecalldDensityDrift'], on: ['pipeline'] },
      dashboard: 'density',
      summary: `${name}: live queries are less well covered than in the baseline`,
      description: `${coverage}: drift is confirmed. The alert does not page, because the drift is too weak or no critical check is configured.`,
    },
  ];
  return { name: 'recalld-checks', recordings: [], alerts };
}

/**
 * Share of baseline queries that count as poorly covered. By definition, 5 % of the baseline queries exceed the limit
 * for poor coverage.
 */
const BASELINE_UNCOVERED = '5%';

function coverageTemplate(groupLabels: readonly string[]): string {
  const selector = selectorVariable('$of', groupLabels, ['pipeline']).replace('}"', `,segment='all'}"`);
  const shares = `: {{ . | first | value | humanizePercentage }} of traffic is poorly covered, ${BASELINE_UNCOVERED} in the baseline`;
  return `${selector}Live queries of ${name} are less well covered than in the baseline${ifSeries('$of', 'recalld_query_uncovered_ratio', shares)}`;
}

const numberTemplate =
  '{{ define "n" }}{{ if eq .arg0 "seconds" }}{{ humanizeDuration .arg1 }}{{ else if eq .arg0 "share" }}{{ humanizePercentage .arg1 }}{{ else }}{{ printf "%.3g" .arg1 }}{{ end }}{{ end }}';
const written = '{{ template "n" (args $unit (. | first | value)) }}';

const since = (word: string): string => ifSeries('$of', 'recalld_check_since_timestamp_seconds', `${word} ${utcTime}`);

/**
 * Builds a template for the sentence that `alertText` returns, with values from metrics. The labels `pipeline` and
 * `check` identify the check. Uses metrics only from replicas that report the check as failing, because another replica
 * may already export the recovered value. The past tense keeps the text true if Alertmanager sends it again after the
 * recovery.
 */
function numbersTemplate(groupLabels: readonly string[]): string {
  const count = ifSeries('$of', 'recalld_check_n', 'n = {{ . | first | value | printf "%.0f" }}');
  const notOk = selectorVariable('$notOk', groupLabels, check).replace('}"', `,state!='ok'}"`);
  const threshold = ifSeries('$in $of', 'recalld_threshold', written);
  const change = [
    ifSeries(
      '$of',
      'recalld_check_info',
      '{{ if eq (. | first | label "kind") "regression" }}:{{ else if eq (. | first | label "limit") "below" }} dropped{{ else }} rose{{ end }}',
    ),
    ifSeries('$in $of', 'recalld_check_before', ` from ${written}`),
    ifSeries('$of', 'recalld_check_info', '{{ if ne (. | first | label "kind") "regression" }} to{{ end }}'),
    ` ${written}`,
    ifSeries(
      '$in "_ci_low" $of',
      'recalld_check_value',
      ` (95 % CI ${written} to ${ifSeries('$in "_ci_high" $of', 'recalld_check_value', written)}${ifSeries('$of', 'recalld_check_n', `, ${count}`)})`,
      ifSeries('$of', 'recalld_check_n', ` (${count})`),
    ),
    ifSeries('$of', 'recalld_check_info', ', {{ . | first | label "limit" }} '),
    threshold,
    since(', at'),
  ].join('');
  const noValue = `: no data${since(' since')} (threshold ${threshold}${ifSeries('$in $of', 'recalld_check_before', `, last passing value ${written}`)})`;
  return [
    `${numberTemplate}{{ $unit := "" }}{{ $in := "" }}${selectorVariable('$series', groupLabels, check)}`,
    `${notOk}{{ $of := print $series " and on (instance) recalld_check_state" $notOk " == 1" }}`,
    ifSeries(
      '$of',
      'recalld_check_info',
      '{{ $unit = . | first | label "unit" }}{{ if eq $unit "seconds" }}{{ $in = "_seconds" }}{{ end }}{{ . | first | label "what" }}',
      'The value of "{{ $labels.check }}"',
    ),
    ifSeries('$in $of', 'recalld_check_value', change, noValue),
  ].join('');
}
