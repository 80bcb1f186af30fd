import { signal, type ValueAt } from '../../../support/promtool.ts';
import type { AlertFixture } from './fixture.ts';
import {
  always,
  checkStates,
  densityCheck,
  faq,
  floorCheck,
  hourlyRuns,
  liveCheck,
  queries,
  staleCheck,
} from './signals.ts';

const interval = (seconds: number) => signal('recalld_golden_run_interval_seconds', faq, always(seconds));
const attempted = (at: ValueAt) => signal('recalld_golden_run_last_attempt_timestamp_seconds', faq, at);
const succeeded = (at: ValueAt) => signal('recalld_golden_run_last_success_timestamp_seconds', faq, at);
const running = (at: (minute: number) => number) => signal('recalld_golden_runs', { ...faq, status: 'running' }, at);

const sentinelExpected = (at: ValueAt) => signal('recalld_golden_sentinel_expected_by_timestamp_seconds', faq, at);
const incidents = (open: Readonly<Record<string, number>>) =>
  Object.entries(open).map(([level, value]) =>
    signal('recalld_density_incident', { pipeline: 'docs', level }, always(value)),
  );

const broken =
  'ndcg@10 dropped from 0.95 to 0.037 (95 % CI 0.02 to 0.06, n = 160), below 0.8, at 00:15 UTC on 1970-01-01';
const regressionCheck = { pipeline: 'docs', check: 'ndcg@10 regression by 0.02 on faq' };
const unknownFloor = [
  signal('recalld_threshold', { ...floorCheck, severity: 'critical' }, always(0.8)),
  signal('recalld_check_since_timestamp_seconds', floorCheck, always(0)),
  signal('recalld_check_before', floorCheck, always(0.95)),
];
const floorNumbers = [
  ...unknownFloor,
  signal('recalld_check_since_timestamp_seconds', floorCheck, always(900)),
  signal('recalld_check_value', floorCheck, always(0.037)),
  signal('recalld_check_value_ci_low', floorCheck, always(0.02)),
  signal('recalld_check_value_ci_high', floorCheck, always(0.06)),
  signal('recalld_check_n', floorCheck, always(160)),
];
const staleNumbers = [
  signal('recalld_threshold', { ...staleCheck, severity: 'warning' }, always(0.02)),
  signal('recalld_check_value', staleCheck, always(0.14)),
  signal('recalld_check_n', staleCheck, always(50)),
];
const densityNumbers = [
  signal('recalld_threshold', { ...densityCheck, severity: 'critical' }, always(1)),
  signal('recalld_check_value', densityCheck, always(1.5)),
];

export const goldenFixtures: readonly AlertFixture[] = [
  {
    alert: 'RecalldGoldenNotRunning',
    labels: faq,
    breaching: [interval(600), attempted(always(0)), succeeded(always(60))],
    healthy: hourlyRuns,
    says: 'The latest run of faq on docs started 1h 0m 0s ago, which is more than three scheduled intervals. Meanwhile, retrieval quality is not being measured. Start a process with the scheduler role.',
  },
  {
    alert: 'RecalldGoldenNeverRan',
    labels: faq,
    breaching: [interval(600)],
    healthy: hourlyRuns,
    says: 'faq on docs has a schedule, but has never run. Import the golden set, or start a process with the scheduler role.',
  },
  {
    alert: 'RecalldGoldenNotSucceeding',
    labels: faq,
    breaching: [
      interval(300),
      attempted((m) => 300 * Math.floor(m / 5)),
      succeeded(always(60)),
      running((m) => (m % 5 === 0 ? 1 : 0)),
    ],
    healthy: hourlyRuns,
    says: 'Runs of faq on docs start, but no run has completed for at least 15m 0s (three scheduled intervals). Check the retriever and the workers.',
  },
  {
    alert: 'RecalldGoldenRunFailed',
    labels: faq,
    breaching: [
      interval(3600),
      attempted((m) => (m < 30 ? 0 : 1800)),
      succeeded(always(60)),
      running((m) => (m === 30 ? 1 : 0)),
    ],
    healthy: hourlyRuns,
    says: 'The run of faq on docs that started 30m 0s ago is void, failed or cancelled. The exported scores come from an earlier run. Find the cause with `recalld runs show`, fix it, then run the set again.',
  },
  {
    alert: 'RecalldRetrieverNotAnswering',
    labels: faq,
    breaching: queries({ ok: 20, empty: 0, error: 50, timeout: 30 }),
    healthy: hourlyRuns,
    says: '80% of the 100 queries in the latest run of faq on docs failed or timed out; 50 % or more is an outage. Fix the retrieval service.',
  },
  {
    alert: 'RecalldRetrieverErrors',
    labels: faq,
    breaching: queries({ ok: 90, empty: 0, error: 4, timeout: 6 }),
    // If 50 % or more of the queries fail, the outage alert fires instead.
    healthy: queries({ ok: 40, empty: 0, error: 50, timeout: 10 }),
    says: '10% of the 100 queries in the latest run of faq on docs failed or timed out (limit 5 %). Each failed query counts as 0, so scores drop.',
  },
  {
    alert: 'RecalldScoresWithheld',
    labels: faq,
    breaching: [signal('recalld_golden_scores_withheld', faq, always(1)), succeeded(always(60))],
    healthy: hourlyRuns,
    says: 'The latest completed run of faq on docs started 59m 0s ago, which is more than three scheduled intervals (for a set without a schedule, three days). The scores of this run are no longer exported, so checks on them cannot detect a failure.',
  },
  {
    alert: 'RecalldGoldenRunSlow',
    labels: faq,
    breaching: [interval(600), signal('recalld_golden_run_duration_seconds', faq, always(900))],
    healthy: hourlyRuns,
    says: 'The latest run of faq on docs took 15m 0s, longer than the time between two runs, so runs are skipped. Raise max_per_second or concurrency, or run the set less often.',
  },
  {
    alert: 'RecalldSegmentsOverflow',
    labels: faq,
    breaching: [signal('recalld_golden_segments_overflow', faq, always(7))],
    healthy: hourlyRuns,
    minutes: 120,
    says: 'The number of segments of faq on docs exceeds segments.max by 7. recalld measures the excess segments together as `other`. Remove a tag from segments.keys, or raise segments.max.',
  },
  {
    alert: 'RecalldCheckCritical',
    labels: floorCheck,
    breaching: [...checkStates(floorCheck, () => 'critical'), ...floorNumbers],
    // A second check is in the warning state, and a third check fails because the retriever is down, for which there is
    // a separate alert.
    healthy: [
      ...checkStates(floorCheck, () => 'ok'),
      ...checkStates(staleCheck, () => 'warning'),
      ...checkStates(liveCheck, () => 'critical'),
      signal('recalld_check_outage', liveCheck, always(1)),
    ],
    says: `${broken}. The check "ndcg@10 below 0.8 on faq" of docs is critical; sampling noise does not explain the failure.`,
  },
  {
    alert: 'RecalldCheckWarning',
    labels: floorCheck,
    breaching: [...checkStates(floorCheck, () => 'warning'), ...floorNumbers],
    healthy: [...checkStates(floorCheck, () => 'ok'), ...checkStates(staleCheck, () => 'warning')],
    says: `${broken}. The check "ndcg@10 below 0.8 on faq" of docs is in the warning state.`,
  },
  {
    alert: 'RecalldCheckNoData',
    labels: floorCheck,
    breaching: [...checkStates(floorCheck, () => 'no_data'), ...unknownFloor],
    // The check has no data for a few minutes, because a run of a new set version is in progress.
    healthy: [
      ...checkStates(floorCheck, (m) => (m >= 30 && m < 40 ? 'no_data' : 'ok')),
      // Low traffic.
      ...checkStates(liveCheck, () => 'no_data'),
      signal('recalld_check_quiet', liveCheck, always(1)),
    ],
    says: 'ndcg@10: no data since 00:00 UTC on 1970-01-01 (threshold 0.8, last passing value 0.95). The check "ndcg@10 below 0.8 on faq" of docs has had no data for 30 minutes. Without data, a check cannot detect a failure.',
  },
  {
    alert: 'RecalldCheckBlind',
    labels: regressionCheck,
    breaching: [
      signal('recalld_check_blind', regressionCheck, always(1)),
      signal('recalld_check_smallest_detectable_drop', regressionCheck, always(0.2)),
      signal('recalld_threshold', { ...regressionCheck, severity: 'critical' }, always(-0.02)),
    ],
    healthy: [signal('recalld_check_blind', regressionCheck, always(0))],
    minutes: 90,
    says: 'The check "ndcg@10 regression by 0.02 on faq" of docs passes, but it detects only drops of 0.2 or more; its threshold is a drop of 0.02. Pin a baseline with reruns, add queries to the golden set, or raise the drop that the check is configured to detect.',
  },
  {
    alert: 'RecalldDocumentsLost',
    labels: faq,
    breaching: [signal('recalld_golden_lost_documents_ratio', faq, always(0.1))],
    healthy: [signal('recalld_golden_lost_documents_ratio', faq, always(0.02))],
    says: '10% of the judged documents in faq on docs are missing from the vector store (limit 2 %), no other document has their text, and no manifest lists them as deleted. Missing documents count as not found in every score and comparison. If they were not deleted on purpose, re-run the indexing job for them; otherwise, update the judgments with `recalld golden check`.',
  },
  {
    alert: 'RecalldStaleLabels',
    labels: staleCheck,
    breaching: [...checkStates(staleCheck, () => 'warning'), ...staleNumbers],
    healthy: [...checkStates(staleCheck, () => 'ok'), ...checkStates(floorCheck, () => 'warning')],
    says: 'The share of judged documents with stale labels rose to 0.14 (n = 50), above 0.02. Judged documents are deleted in the manifest, or have new ids because they were re-chunked or renamed. recalld no longer compares the queries of these documents with the baseline. Update the judgments with `recalld golden check`, then pin a new baseline.',
  },
  {
    alert: 'RecalldDensityDrift',
    labels: densityCheck,
    breaching: [...checkStates(densityCheck, () => 'critical'), ...densityNumbers],
    healthy: [...checkStates(densityCheck, () => 'warning'), ...checkStates(floorCheck, () => 'critical')],
    says: 'Live queries of docs are less well covered than in the baseline: drift is confirmed. Restore lost content, or add documents for the uncovered topics.',
  },
  {
    alert: 'RecalldDensityDriftTicket',
    labels: { pipeline: 'docs' },
    breaching: incidents({ page: 0, ticket: 1 }),
    // Does not fire if a critical check in the config already reports the drift.
    healthy: [...incidents({ page: 1, ticket: 1 }), ...checkStates(densityCheck, () => 'critical')],
    says: 'Live queries of docs are less well covered than in the baseline: drift is confirmed. The alert does not page, because the drift is too weak or no critical check is configured.',
  },
  {
    alert: 'RecalldSentinelOverdue',
    labels: faq,
    breaching: [sentinelExpected(always(0))],
    healthy: [sentinelExpected((m) => 300 * Math.floor(m / 5) + 360)],
    says: 'The sentinel run of faq on docs should have completed 1h 0m 0s ago. Until a sentinel run completes, only full runs can detect a drop.',
  },
];
