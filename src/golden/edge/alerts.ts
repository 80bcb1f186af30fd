/** Runs that do not start and runs that fail have different alerts, because different people fix the two problems. */
import {
  type AlertRule,
  duration,
  maxBy,
  type RuleGroup,
  type RuleSettings,
  selectorVariable,
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

/** An alert fires if more than this share of the judged documents is lost. */
const LOST_SHARE = 0.02;

/** Critical alerts about a golden set. While one of these alerts fires, warnings about the same set are redundant. */
const pages = {
  alerts: ['RecalldGoldenNotRunning', 'RecalldGoldenNotSucceeding', 'RecalldRetrieverNotAnswering'],
  on: set,
};

export function goldenGroup({ holdSeconds, groupLabels }: RuleSettings): RuleGroup {
  const hold = duration(holdSeconds);
  const count = `${selectorVariable('$of', groupLabels, set)}{{ with query (print "sum(max by (outcome) (recalld_golden_queries" $of "))") }}{{ . | first | value }} {{ end }}`;
  const alerts: (Omit<AlertRule, 'by' | 'dashboard'> & Partial<Pick<AlertRule, 'dashboard'>>)[] = [
    {
      alert: 'RecalldGoldenNotRunning',
      severity: 'critical',
      expr: `time() - ${lastAttempt}\n> ${threeIntervals}`,
      for: '2m',
      summary: `${name}: golden runs are overdue`,
      description: `The latest run of ${where} started {{ $value | humanizeDuration }} ago, which is more than three scheduled intervals. Meanwhile, retrieval quality is not being measured. Start a process with the scheduler role.`,
    },
    {
      alert: 'RecalldGoldenNeverRan',
      severity: 'warning',
      expr: `${threeIntervals}\nunless ${onSet} ${lastAttempt}`,
      for: '30m',
      summary: `${name}: a golden set has never run`,
      description: `${where} has a schedule, but has never run. Import the golden set, or start a process with the scheduler role.`,
    },
    {
      alert: 'RecalldGoldenNotSucceeding',
      severity: 'critical',
      expr: `${threeIntervals}
unless ${onSet} ${lastSuccess} >= time() - ${threeIntervals}
unless ${onSet} (${isRunning} unless ${onSet} ${lastSuccess})
and ${onSet} ${lastAttempt} >= time() - ${threeIntervals}`,
      for: '2m',
      summary: `${name}: golden runs do not complete`,
      description: `Runs of ${where} start, but no run has completed for at least {{ $value | humanizeDuration }} (three scheduled intervals). Check the retriever and the workers.`,
    },
    {
      alert: 'RecalldGoldenRunFailed',
      severity: 'warning',
      expr: `time() - ${lastAttempt}
unless ${onSet} ${lastSuccess} >= ${lastAttempt}
unless ${onSet} ${isRunning}`,
      for: '2m',
      keepFiringFor: hold,
      silentWhile: pages,
      summary: `${name}: the latest golden run did not complete`,
      description: `The run of ${where} that started {{ $value | humanizeDuration }} ago is void, failed or cancelled. The exported scores come from an earlier run. Find the cause with \`recalld runs show\`, fix it, then run the set again.`,
    },
    {
      alert: 'RecalldRetrieverNotAnswering',
      severity: 'critical',
      expr: `${failedShare}\n>= ${OUTAGE_SHARE}`,
      for: '1m',
      keepFiringFor: '10m',
      summary: `${name}: retriever down`,
      description: `{{ $value | humanizePercentage }} of the ${count}queries in the latest run of ${where} failed or timed out; 50 % or more is an outage. Fix the retrieval service.`,
    },
    {
      alert: 'RecalldRetrieverErrors',
      severity: 'warning',
      // Does not fire while a critical alert fires. If an outage begins during a run, only some queries of that run
      // fail, and this alert would fire as well.
      expr: `${failedShare}\n>= ${ERRORS_SHARE} < ${OUTAGE_SHARE}`,
      for: '1m',
      keepFiringFor: hold,
      silentWhile: pages,
      summary: `${name}: retriever errors`,
      description: `{{ $value | humanizePercentage }} of the ${count}queries in the latest run of ${where} failed or timed out (limit 5 %). Each failed query counts as 0, so scores drop.`,
    },
    {
      alert: 'RecalldScoresWithheld',
      severity: 'warning',
      expr: `time() - ${lastSuccess}\nand ${onSet} ${maxBy(set, 'recalld_golden_scores_withheld')} == 1`,
      for: '5m',
      silentWhile: pages,
      summary: `${name}: golden scores are out of date`,
      description: `The latest completed run of ${where} started {{ $value | humanizeDuration }} ago, which is more than three scheduled intervals (for a set without a schedule, three days). The scores of this run are no longer exported, so checks on them cannot detect a failure.`,
    },
    {
      alert: 'RecalldGoldenRunSlow',
      severity: 'warning',
      expr: `${maxBy(set, 'recalld_golden_run_duration_seconds')}\n> ${maxBy(set, 'recalld_golden_run_interval_seconds')}`,
      for: '5m',
      keepFiringFor: hold,
      silentWhile: pages,
      summary: `${name}: golden runs take longer than their interval`,
      description: `The latest run of ${where} took {{ $value | humanizeDuration }}, longer than the time between two runs, so runs are skipped. Raise max_per_second or concurrency, or run the set less often.`,
    },
    {
      alert: 'RecalldDocumentsLost',
      severity: 'warning',
      expr: `${maxBy(set, 'recalld_golden_lost_documents_ratio')} > ${LOST_SHARE}`,
      for: '1m',
      keepFiringFor: hold,
      summary: `${name}: judged documents are missing from the vector store`,
      description: `{{ $value | humanizePercentage }} of the judged documents in ${where} are missing from the vector store (limit 2 %), no other document has their text, and no manifest lists them as deleted. Missing documents count as not found in every score and comparison. If they were not deleted on purpose, re-run the indexing job for them; otherwise, update the judgments with \`recalld golden check\`.`,
    },
    {
      alert: 'RecalldSentinelOverdue',
      severity: 'warning',
      expr: `time() - ${maxBy(set, 'recalld_golden_sentinel_expected_by_timestamp_seconds')} > 0`,
      for: '5m',
      silentWhile: pages,
      summary: `${name}: sentinel overdue`,
      description: `The sentinel run of ${where} should have completed {{ $value | humanizeDuration }} ago. Until a sentinel run completes, only full runs can detect a drop.`,
    },
    {
      alert: 'RecalldSegmentsOverflow',
      severity: 'info',
      expr: `${maxBy(set, 'recalld_golden_segments_overflow')} > 0`,
      for: '1h',
      dashboard: 'golden',
      summary: `${name}: a golden set has too many segments`,
      description: `The number of segments of ${where} exceeds segments.max by {{ $value }}. recalld measures the excess segments together as \`other\`. Remove a tag from segments.keys, or raise segments.max.`,
    },
  ];
  return {
    name: 'recalld-golden',
    recordings: [],
    alerts: alerts.map((rule) => ({ dashboard: 'runs', ...rule, by: set })),
  };
}
