/** Alerts on golden runs. That they do not run and that they run and fail are different alerts with different owners. */
import {
  type AlertRule,
  duration,
  maxBy,
  ofAlert,
  type RuleGroup,
  type RuleSettings,
} from '../../platform/metrics/alert-rules.ts';
import { ERRORS_SHARE, OUTAGE_SHARE } from '../rules/run.ts';

const set = ['pipeline', 'golden_set'] as const;
const onSet = 'on (pipeline, golden_set)';
const name = '{{ $labels.pipeline }}';
const where = '{{ $labels.golden_set }} on {{ $labels.pipeline }}';

const lastAttempt = maxBy(set, 'recalld_golden_run_last_attempt_timestamp_seconds');
const lastSuccess = maxBy(set, 'recalld_golden_run_last_success_timestamp_seconds');
const threeIntervals = `3 * ${maxBy(set, 'recalld_golden_run_interval_seconds')}`;
const isRunning = `${maxBy(set, 'recalld_golden_runs', { status: 'running' })} > 0`;

const queries = [...set, 'outcome'] as const;
const failedShare = `sum by (pipeline, golden_set) (${maxBy(queries, 'recalld_golden_queries', { outcome: ['error', 'timeout'] })})
/ sum by (pipeline, golden_set) (${maxBy(queries, 'recalld_golden_queries')})`;

/** A smaller share of the judged documents may be lost without a ticket. */
const LOST_SHARE = 0.02;

/** Pages about a set, while which its warnings only repeat what they say. */
const told = {
  alerts: ['RecalldGoldenNotRunning', 'RecalldGoldenNotSucceeding', 'RecalldRetrieverNotAnswering'],
  on: set,
};

export function goldenGroup({ holdSeconds, groupLabels }: RuleSettings): RuleGroup {
  const hold = duration(holdSeconds);
  const count = `${ofAlert('$of', groupLabels, set)}{{ with query (print "sum(max by (outcome) (recalld_golden_queries" $of "))") }}{{ . | first | value }} {{ end }}`;
  const alerts: AlertRule[] = [
    {
      alert: 'RecalldGoldenNotRunning',
      severity: 'critical',
      expr: `time() - ${lastAttempt}\n> ${threeIntervals}`,
      for: '2m',
      by: set,
      dashboard: 'golden',
      summary: `A golden set of ${name} is no longer run.`,
      description: `The latest run of ${where} started {{ $value | humanizeDuration }} ago, more than three intervals of its schedule. Nobody measures this pipeline now.`,
    },
    {
      alert: 'RecalldGoldenNeverRan',
      severity: 'warning',
      expr: `${threeIntervals}\nunless ${onSet} ${lastAttempt}`,
      for: '30m',
      by: set,
      dashboard: 'golden',
      summary: `A golden set of ${name} has never been run.`,
      description: `${where} has a schedule, three intervals of which are {{ $value | humanizeDuration }}, and no run at all.`,
    },
    {
      alert: 'RecalldGoldenNotSucceeding',
      severity: 'critical',
      expr: `${threeIntervals}
unless ${onSet} ${lastSuccess} >= time() - ${threeIntervals}
unless ${onSet} (${isRunning} unless ${onSet} ${lastSuccess})
and ${onSet} ${lastAttempt} >= time() - ${threeIntervals}`,
      for: '2m',
      by: set,
      dashboard: 'golden',
      summary: `Runs of a golden set of ${name} start, but none completes.`,
      description: `No run of ${where} has completed for {{ $value | humanizeDuration }} (three intervals of its schedule) or longer, though runs were started.`,
    },
    {
      alert: 'RecalldGoldenRunFailed',
      severity: 'warning',
      expr: `time() - ${lastAttempt}
unless ${onSet} ${lastSuccess} >= ${lastAttempt}
unless ${onSet} ${isRunning}`,
      for: '2m',
      keepFiringFor: hold,
      by: set,
      silentWhile: told,
      dashboard: 'golden',
      summary: `The latest run of a golden set of ${name} did not complete.`,
      description: `The run of ${where} that started {{ $value | humanizeDuration }} ago is void, failed or cancelled. The scores shown are of a run before it.`,
    },
    {
      alert: 'RecalldRetrieverNotAnswering',
      severity: 'critical',
      expr: `${failedShare}\n>= ${OUTAGE_SHARE}`,
      for: '1m',
      keepFiringFor: '10m',
      by: set,
      dashboard: 'golden',
      summary: `The retriever of ${name} did not answer.`,
      description: `{{ $value | humanizePercentage }} of the ${count}queries of the latest run of ${where} failed or timed out; from 50 % on it counts as an outage.`,
    },
    {
      alert: 'RecalldRetrieverErrors',
      severity: 'warning',
      // A run that an outage cut in two is no second alarm beside the page of the outage.
      expr: `${failedShare}\n>= ${ERRORS_SHARE} < ${OUTAGE_SHARE}`,
      for: '1m',
      keepFiringFor: hold,
      by: set,
      silentWhile: told,
      dashboard: 'golden',
      summary: `The retriever of ${name} failed some queries.`,
      description: `{{ $value | humanizePercentage }} of the ${count}queries of the latest run of ${where} failed or timed out, 5 % or more; each counts 0 in its scores.`,
    },
    {
      alert: 'RecalldScoresWithheld',
      severity: 'warning',
      expr: `time() - ${lastSuccess}\nand ${onSet} ${maxBy(set, 'recalld_golden_scores_withheld')} == 1`,
      for: '5m',
      by: set,
      silentWhile: told,
      dashboard: 'golden',
      summary: `Scores of ${name} are too old to show.`,
      description: `The latest completed run of ${where} started {{ $value | humanizeDuration }} ago, more than three intervals (three days for a set that runs by hand), so that its scores are withheld and no threshold on them can be breached.`,
    },
    {
      alert: 'RecalldGoldenRunSlow',
      severity: 'warning',
      expr: `${maxBy(set, 'recalld_golden_run_duration_seconds')}\n> ${maxBy(set, 'recalld_golden_run_interval_seconds')}`,
      for: '5m',
      keepFiringFor: hold,
      by: set,
      silentWhile: told,
      dashboard: 'golden',
      summary: `A golden run of ${name} took longer than its interval.`,
      description: `The latest run of ${where} took {{ $value | humanizeDuration }}, longer than the time between two runs, so that runs are left out.`,
    },
    {
      alert: 'RecalldDocumentsLost',
      severity: 'warning',
      expr: `${maxBy(set, 'recalld_golden_lost_documents_ratio')} > ${LOST_SHARE}`,
      for: '1m',
      keepFiringFor: hold,
      by: set,
      dashboard: 'golden',
      summary: `${name}: judged documents were lost from the vector store.`,
      description: `{{ $value | humanizePercentage }} of the judged documents of ${where} are gone from the vector store, and nothing took their place. They count 0 in every score and comparison. Re-run the indexing job for the missing documents.`,
    },
    {
      alert: 'RecalldSentinelOverdue',
      severity: 'warning',
      expr: `time() - ${maxBy(set, 'recalld_golden_sentinel_expected_by_timestamp_seconds')} > 0`,
      for: '5m',
      by: set,
      silentWhile: told,
      dashboard: 'golden',
      summary: `A sentinel of ${name} is overdue.`,
      description: `The next sentinel of ${where} should have completed {{ $value | humanizeDuration }} ago by its schedule, with all the time that it may take. A fall is now seen only by the next full run.`,
    },
    {
      alert: 'RecalldSegmentsOverflow',
      severity: 'info',
      expr: `${maxBy(set, 'recalld_golden_segments_overflow')} > 0`,
      for: '1h',
      by: set,
      dashboard: 'golden',
      summary: `A golden set of ${name} has more segments than are kept apart.`,
      description: `{{ $value }} segments of ${where} are folded into \`other\`.`,
    },
  ];
  return { name: 'recalld-golden', recordings: [], alerts };
}
