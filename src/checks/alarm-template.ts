/**
 * The sentence of an alarm as Prometheus writes it into an annotation: what `alarmText` (rules/alarm-text.ts) makes of the
 * state of a check, made of its metrics. test/integration/app/alerts/sentences.test.ts holds the two equal.
 */
import { asked, ofAlert } from '../metrics/alert-rules.ts';

const number =
  '{{ define "n" }}{{ if eq .arg0 "seconds" }}{{ humanizeDuration .arg1 }}{{ else }}{{ printf "%.4f" .arg1 }}{{ end }}{{ end }}';
const written = '{{ template "n" (args $unit (. | first | value)) }}';
const moment = String.raw`{{ . | first | value | humanizeTimestamp | reReplaceAll "^(\\S+) (\\d\\d:\\d\\d).*$" "$2 UTC on $1" }}`;

/** Of the check that the labels `pipeline` and `check` of the alert name. */
export function alarmTemplate(groupLabels: readonly string[]): string {
  const count = 'n = {{ . | first | value | printf "%.0f" }}';
  const bounds = `(95 % ${written} to ${asked('$in "_ci_high" $of', 'recalld_check_value', written)}${asked('$of', 'recalld_check_n', `, ${count}`)})`;
  return [
    `${number}{{ $unit := "" }}{{ $in := "" }}${ofAlert('$of', groupLabels, ['pipeline', 'check'])}`,
    asked(
      '$of',
      'recalld_check_info',
      '{{ $unit = . | first | label "unit" }}{{ if eq $unit "seconds" }}{{ $in = "_seconds" }}{{ end }}{{ . | first | label "what" }}',
      'What "{{ $labels.check }}" watches',
    ),
    asked('$in $of', 'recalld_check_value', ` is ${written}`, ' is not known'),
    asked('$in "_ci_low" $of', 'recalld_check_value', ` ${bounds}`, asked('$of', 'recalld_check_n', ` (${count})`)),
    asked('$of', 'recalld_check_info', ', {{ . | first | label "limit" }} '),
    asked('$in $of', 'recalld_threshold', written),
    asked('$of', 'recalld_check_since_timestamp_seconds', `, since ${moment}`),
    asked('$in $of', 'recalld_check_before', `; ${written} before`),
  ].join('');
}
