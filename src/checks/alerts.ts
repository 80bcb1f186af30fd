/** Alerts on the verdicts of the daemon: the config states the thresholds, these rules only carry the verdict on. */
import { DENSITY_CHECK_NAME } from '../density/rules/density-check.ts';
import {
  type AlertRule,
  duration,
  maxBy,
  type Pattern,
  type RuleGroup,
  type RuleSettings,
} from '../metrics/alert-rules.ts';
import type { Verdict } from '../model.ts';

const check = ['pipeline', 'check'] as const;

/** Stale labels have an owner of their own: who keeps the golden set. */
const staleLabels = 'stale labels .*';
/** Checks whose breaches have alerts of their own. */
const apart = [staleLabels, DENSITY_CHECK_NAME];

const densityDrift: Pattern = { matches: DENSITY_CHECK_NAME };
const drifting = 'What people ask of {{ $labels.pipeline }} is covered worse than in the baseline';

function inState(state: Verdict, checks?: Pattern): string {
  const matchers = checks === undefined ? { state } : { state, check: checks };
  return `${maxBy(check, 'recalld_check_state', matchers)} == 1`;
}

export function checksGroup({ holdSeconds }: RuleSettings): RuleGroup {
  const hold = duration(holdSeconds);
  const alerts: AlertRule[] = [
    {
      alert: 'RecalldCheckCritical',
      severity: 'critical',
      expr: inState('critical', { differsFrom: DENSITY_CHECK_NAME }),
      for: '1m',
      keepFiringFor: hold,
      by: check,
      dashboard: 'health',
      summary: `Retrieval of {{ $labels.pipeline }} is broken: {{ $labels.check }}.`,
      description: `The check "{{ $labels.check }}" of {{ $labels.pipeline }} is critical (state = {{ $value }}): what it watches is beyond its threshold, and the luck of the draw of queries does not explain it.`,
    },
    {
      alert: 'RecalldCheckWarning',
      severity: 'warning',
      expr: inState('warning', { differsFrom: apart.join('|') }),
      for: '5m',
      keepFiringFor: hold,
      by: check,
      dashboard: 'health',
      summary: `Retrieval of {{ $labels.pipeline }} got worse: {{ $labels.check }}.`,
      description: `The check "{{ $labels.check }}" of {{ $labels.pipeline }} is at warning (state = {{ $value }}).`,
    },
    {
      alert: 'RecalldCheckNoData',
      severity: 'warning',
      expr: `${inState('no_data')}\nunless on (pipeline, check) ${maxBy(check, 'recalld_check_quiet')} == 1`,
      for: '30m',
      by: check,
      dashboard: 'health',
      summary: `Nobody knows whether {{ $labels.check }} on {{ $labels.pipeline }}.`,
      description: `The check "{{ $labels.check }}" of {{ $labels.pipeline }} has had nothing to be judged by for 30 minutes (no_data = {{ $value }}). A check without data can breach nothing.`,
    },
    {
      alert: 'RecalldStaleLabels',
      severity: 'warning',
      expr: inState('warning', { matches: staleLabels }),
      for: '5m',
      keepFiringFor: hold,
      by: check,
      dashboard: 'golden',
      summary: `Judged documents of {{ $labels.pipeline }} are gone from the store.`,
      description: `The check "{{ $labels.check }}" of {{ $labels.pipeline }} is at warning (state = {{ $value }}): scores fall because the labels are out of date, whatever the retriever does.`,
    },
    {
      alert: 'RecalldDensityDrift',
      severity: 'critical',
      expr: inState('critical', densityDrift),
      for: '1m',
      by: check,
      dashboard: 'density',
      summary: `Live queries of {{ $labels.pipeline }} are covered much worse than before.`,
      description: `${drifting}, by more than chance and by enough to matter: a page-level alarm is open (state = {{ $value }}).`,
    },
    {
      alert: 'RecalldDensityDriftTicket',
      severity: 'warning',
      // Without a check in the config the alarms are raised all the same.
      expr: `${maxBy(['pipeline'], 'recalld_check_state', { state: 'warning', check: densityDrift })} == 1
or ${maxBy(['pipeline'], 'recalld_density_incident')} == 1
unless on (pipeline) ${maxBy(['pipeline'], 'recalld_check_state', { check: densityDrift })}`,
      for: '5m',
      by: ['pipeline'],
      dashboard: 'density',
      summary: `Live queries of {{ $labels.pipeline }} are covered worse than before.`,
      description: `${drifting} (open = {{ $value }}): a ticket, or an alarm that the config does not page for.`,
    },
  ];
  return { name: 'recalld-checks', recordings: [], alerts };
}
