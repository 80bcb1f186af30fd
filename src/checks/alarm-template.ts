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
  const bounds = `(95 % ${written} to ${asked('$of', 'recalld_check_value_ci_high', written)}${asked('$of', 'recalld_check_n', `, ${count}`)})`;
  return [
    `${number}{{ $unit := "" }}${ofAlert('$of', groupLabels, ['pipeline', 'check'])}`,
    asked(
      '$of',
      'recalld_check_info',
      '{{ $unit = . | first | label "unit" }}{{ . | first | label "what" }}',
      'What "{{ $labels.check }}" watches',
    ),
    asked('$of', 'recalld_check_value', ` is ${written}`, ' is not known'),
    asked('$of', 'recalld_check_value_ci_low', ` ${bounds}`, asked('$of', 'recalld_check_n', ` (${count})`)),
    asked('$of', 'recalld_check_info', ', {{ . | first | label "limit" }} '),
    asked('$of', 'recalld_threshold', written),
    asked('$of', 'recalld_check_since_timestamp_seconds', `, since ${moment}`),
    asked('$of', 'recalld_check_before', `; ${written} before`),
  ].join('');
}
