/** Alerts on the verdicts of the daemon: the config states the thresholds, these rules only carry the verdict on. */

import type { Verdict } from '../../core/model.ts';
import {
  type AlertRule,
  asked,
  duration,
  maxBy,
  moment,
  ofAlert,
  type RuleGroup,
  type RuleSettings,
} from '../../platform/metrics/alert-rules.ts';
import type { CheckKind } from '../rules/check-state.ts';

const check = ['pipeline', 'check'] as const;
const onCheck = 'on (pipeline, check)';
const theCheck = 'The check "{{ $labels.check }}" of {{ $labels.pipeline }}';

function inState(state: Verdict): string {
  return `${maxBy(check, 'recalld_check_state', { state })} == 1`;
}

function isOneOf(...kinds: readonly CheckKind[]): string {
  return `and ${onCheck} ${maxBy(check, 'recalld_check_info', { kind: kinds })}`;
}

/** That the retriever does not answer is an alarm of its own; a check that only says the same is no second one. */
const unlessOutage = `unless ${onCheck} ${maxBy(check, 'recalld_check_outage')} == 1`;

const silentWhileCritical = { alerts: ['RecalldCheckCritical'], on: check };

/** Where nobody measures, or nothing answers, no check has data. */
const unmeasured = {
  alerts: ['RecalldGoldenNotRunning', 'RecalldGoldenNotSucceeding', 'RecalldRetrieverNotAnswering'],
  on: ['pipeline'],
};

const drifting = 'What people ask of {{ $labels.pipeline }} was covered worse than in the baseline';

export function checksGroup({ holdSeconds, groupLabels }: RuleSettings): RuleGroup {
  const hold = duration(holdSeconds);
  const alert = alertTemplate(groupLabels);
  const ticket = `${ofAlert('$of', groupLabels, ['pipeline'])}${asked(
    '$of',
    'recalld_density_drift_evidence_ratio',
    '; the evidence is{{ range . }} {{ . | value | printf "%.4f" }} of what a {{ . | label "level" }} takes,{{ end }} of which one is open',
  )}`;
  const alerts: AlertRule[] = [
    {
      alert: 'RecalldCheckCritical',
      severity: 'critical',
      expr: `${inState('critical')}\n${isOneOf('floor', 'regression', 'threshold', 'stale_labels', 'forbidden_results')}\n${unlessOutage}`,
      for: '1m',
      keepFiringFor: hold,
      by: check,
      dashboard: 'health',
      summary: 'Retrieval of {{ $labels.pipeline }} breached a critical threshold.',
      description: `${alert}. ${theCheck} became critical; sampling noise does not explain it.`,
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
      summary: 'Retrieval of {{ $labels.pipeline }} breached a warning threshold.',
      description: `${alert}. ${theCheck} came to warning.`,
    },
    {
      alert: 'RecalldCheckNoData',
      severity: 'warning',
      expr: `${inState('no_data')}\nunless ${onCheck} ${maxBy(check, 'recalld_check_quiet')} == 1`,
      for: '30m',
      by: check,
      silentWhile: unmeasured,
      dashboard: 'health',
      summary: 'A check of {{ $labels.pipeline }} had no data.',
      description: `${alert}. ${theCheck} has had nothing to be judged by for 30 minutes, and a check without data can breach nothing.`,
    },
    {
      alert: 'RecalldCheckBlind',
      severity: 'warning',
      expr: `${maxBy(check, 'recalld_check_blind')} == 1`,
      for: '1h',
      by: check,
      dashboard: 'golden',
      summary: '{{ $labels.pipeline }}: a check cannot see the drop that it watches for.',
      description: `${ofAlert('$of', groupLabels, check)}${theCheck} passes, but it would only find a drop of ${asked('$of', 'recalld_check_smallest_detectable_drop', '{{ . | first | value | printf "%.3f" }}', 'unknown size')} or more${asked('$of', 'recalld_threshold', '; its threshold is {{ . | first | value | printf "%.3f" }}')}. Pin a baseline with reruns, add queries to the golden set, or raise its drop.`,
    },
    {
      alert: 'RecalldStaleLabels',
      severity: 'warning',
      expr: `${inState('warning')}\n${isOneOf('stale_labels')}`,
      for: '5m',
      keepFiringFor: hold,
      by: check,
      silentWhile: silentWhileCritical,
      dashboard: 'golden',
      summary: '{{ $labels.pipeline }}: judgments went out of date, since their documents were superseded.',
      description: `${alert}. ${theCheck} came to warning: judged documents got other ids or were deleted on purpose, so that their queries left the comparison with the baseline.`,
    },
    {
      alert: 'RecalldDensityDrift',
      severity: 'critical',
      expr: `${inState('critical')}\n${isOneOf('density_drift')}`,
      for: '1m',
      by: check,
      dashboard: 'density',
      summary: 'Live queries of {{ $labels.pipeline }} were covered much worse than before.',
      description: `${alert}. ${drifting}, by more than chance and by enough to matter: a page-level alarm opened.`,
    },
    {
      alert: 'RecalldDensityDriftTicket',
      severity: 'warning',
      // Without a check in the config the alarms are raised all the same.
      expr: `max by (pipeline) (${inState('warning')} ${isOneOf('density_drift')})
or ${maxBy(['pipeline'], 'recalld_density_incident')} == 1
unless on (pipeline) ${maxBy(['pipeline'], 'recalld_check_info', { kind: 'density_drift' })}`,
      for: '5m',
      by: ['pipeline'],
      silentWhile: { alerts: ['RecalldDensityDrift'], on: ['pipeline'] },
      dashboard: 'density',
      summary: 'Live queries of {{ $labels.pipeline }} were covered worse than before.',
      description: `${drifting}: a ticket, or an alarm that the config does not page for${ticket}.`,
    },
  ];
  return { name: 'recalld-checks', recordings: [], alerts };
}

const number =
  '{{ define "n" }}{{ if eq .arg0 "seconds" }}{{ humanizeDuration .arg1 }}{{ else }}{{ printf "%.4f" .arg1 }}{{ end }}{{ end }}';
const written = '{{ template "n" (args $unit (. | first | value)) }}';

/**
 * Of the check that the labels `pipeline` and `check` of the alert name, as the replicas have it that see it breached: one
 * that knows already that it recovered does not put its value into the text. In the past tense, since Alertmanager may
 * send the text again when the check has recovered.
 */
function alertTemplate(groupLabels: readonly string[]): string {
  const count = 'n = {{ . | first | value | printf "%.0f" }}';
  const bounds = `(95 % ${written} to ${asked('$in "_ci_high" $of', 'recalld_check_value', written)}${asked('$of', 'recalld_check_n', `, ${count}`)})`;
  const notOk = ofAlert('$notOk', groupLabels, check).replace('}"', `,state!='ok'}"`);
  return [
    `${number}{{ $unit := "" }}{{ $in := "" }}${ofAlert('$series', groupLabels, check)}`,
    `${notOk}{{ $of := print $series " and on (instance) recalld_check_state" $notOk " == 1" }}`,
    asked(
      '$of',
      'recalld_check_info',
      '{{ $unit = . | first | label "unit" }}{{ if eq $unit "seconds" }}{{ $in = "_seconds" }}{{ end }}{{ . | first | label "what" }}',
      'What "{{ $labels.check }}" watches',
    ),
    asked(
      '$in $of',
      'recalld_check_value',
      `${asked('$of', 'recalld_check_info', '{{ if eq (. | first | label "limit") "floor" }} fell{{ else }} rose{{ end }}')} to ${written}`,
      ' was not known',
    ),
    asked('$in "_ci_low" $of', 'recalld_check_value', ` ${bounds}`, asked('$of', 'recalld_check_n', ` (${count})`)),
    asked('$of', 'recalld_check_info', ', {{ . | first | label "limit" }} '),
    asked('$in $of', 'recalld_threshold', written),
    asked('$of', 'recalld_check_since_timestamp_seconds', `, from ${moment}`),
    asked('$in $of', 'recalld_check_before', `; ${written} before`),
  ].join('');
}
