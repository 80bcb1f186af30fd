/** Alert for measures outside their normal range. */

import {
  ifSeries,
  maxBy,
  type RuleGroup,
  type RuleSettings,
  selectorVariable,
} from '../platform/metrics/alert-rules.ts';
import { MEASURE_CHANGED } from './rules/measure-change.ts';

const by = ['pipeline', 'measure', 'segment'] as const;

export function measuresGroup({ groupLabels }: RuleSettings): RuleGroup {
  return {
    name: 'recalld-measures',
    recordings: [],
    alerts: [
      {
        alert: MEASURE_CHANGED,
        severity: 'warning',
        expr: `${maxBy(by, 'recalld_measure_value')}
and on (pipeline, measure, segment) ${maxBy(by, 'recalld_measure_changed')} == 1`,
        for: '15m',
        keepFiringFor: '15m',
        by,
        dashboard: 'feedback',
        summary: '{{ $labels.pipeline }}: a measure left its normal range',
        description: `${selectorVariable('$of', groupLabels, by)}{{ $labels.measure }} ({{ $labels.segment }}) of {{ $labels.pipeline }} is {{ $value | printf "%.3g" }}; its usual value is ${ifSeries('$of', 'recalld_measure_normal', '{{ . | first | value | printf "%.3g" }}', 'unknown')}.`,
      },
    ],
  };
}
