import { signal } from '../../../support/promtool.ts';
import type { AlertFixture } from './fixture.ts';
import { always, growing } from './signals.ts';

const docs = { pipeline: 'docs' };
const aDrop = signal('recalld_live_ndcg_drop', { ...docs, k: '5' }, always(0.08));
const agreement = (low: number, high: number, sessions: number) => [
  signal('recalld_judge_agreement', docs, always((low + high) / 2)),
  signal('recalld_judge_agreement_ci_low', docs, always(low)),
  signal('recalld_judge_agreement_ci_high', docs, always(high)),
  signal('recalld_judge_agreement_sessions', docs, always(sessions)),
  signal('recalld_judge_min_agreement', docs, always(0.4)),
];
const failures = (reason: string) => ({ ...docs, reason });

export const judgingFixtures: readonly AlertFixture[] = [
  {
    alert: 'RecalldJudgeNotReached',
    labels: docs,
    breaching: [signal('recalld_judge_failures_total', failures('unreachable'), growing(1))],
    healthy: [signal('recalld_judge_failures_total', failures('without_text'), growing(1))],
    minutes: 240,
    says: 'While recalld was grading live queries of docs, the judge, the retriever or the store failed to respond 360 times within 3 hours. The queries are retried every hour and expire after a day.',
  },
  {
    alert: 'RecalldJudgeFailing',
    labels: docs,
    breaching: [signal('recalld_judge_failures_total', failures('malformed'), growing(1))],
    healthy: [signal('recalld_judge_failures_total', failures('unreachable'), growing(1))],
    minutes: 420,
    says: 'The judge returned no valid grade for 720 documents of docs within 6 hours. Each of these documents counts as grade 0 in uncorrected scores.',
  },
  {
    alert: 'RecalldJudgeDisagrees',
    labels: docs,
    breaching: agreement(0.31, 0.65, 40),
    // The agreement is as low as in `breaching`, but there are too few sessions.
    healthy: agreement(0.31, 0.65, 39),
    minutes: 240,
    says: 'The agreement (weighted kappa) between the judge of docs and people is 0.48 (95 % CI 0.31-0.65, n = 40 sessions); the lower bound is below the minimum of 0.40. Corrected scores remain valid, but their confidence intervals are wider than necessary.',
  },
  {
    alert: 'RecalldJudgeDisagrees',
    labels: docs,
    // The agreement is so low that few sessions are enough.
    breaching: agreement(0.1, 0.38, 12),
    healthy: agreement(0.42, 0.9, 60),
    minutes: 240,
    says: 'The agreement (weighted kappa) between the judge of docs and people is 0.24 (95 % CI 0.10-0.38, n = 12 sessions); the lower bound is below the minimum of 0.40. Corrected scores remain valid, but their confidence intervals are wider than necessary.',
  },
  {
    alert: 'RecalldLiveRelevanceFell',
    labels: docs,
    breaching: [aDrop, signal('recalld_live_drop_state', { ...docs, state: 'confirmed' }, always(1))],
    healthy: [aDrop, signal('recalld_live_drop_state', { ...docs, state: 'rejected' }, always(1))],
    minutes: 60,
    says: 'Judged nDCG of live queries of docs is 0.08 lower than in the preceding weeks. Model grades show a drop that is not due to chance, and human judgments confirm it. The judge itself has not changed.',
  },
  {
    alert: 'RecalldLiveRelevanceFellTicket',
    labels: docs,
    breaching: [aDrop, signal('recalld_live_drop_state', { ...docs, state: 'detected' }, always(1))],
    healthy: [aDrop, signal('recalld_live_drop_state', { ...docs, state: 'none' }, always(1))],
    minutes: 60,
    says: 'Judged nDCG of live queries of docs is 0.08 lower than in the preceding weeks, according to model grades. The judge itself has not changed. People have graded too few of these queries to confirm the drop.',
  },
  {
    alert: 'RecalldJudgeChanged',
    labels: docs,
    breaching: [signal('recalld_judge_changed_timestamp_seconds', docs, always(0))],
    healthy: [signal('recalld_judge_changed_timestamp_seconds', docs, always(-90_000))],
    minutes: 60,
    says: 'The judge of docs changed 1h 0m 0s ago: its grades for a fixed set of query-document pairs differ from its earlier grades by more than chance explains. Uncorrected scores start a new series; human-corrected scores remain valid.',
  },
  {
    alert: 'RecalldJudgedMeasuresStopped',
    labels: docs,
    breaching: [signal('recalld_live_judged_last_success_timestamp_seconds', docs, always(0))],
    healthy: [signal('recalld_live_judged_last_success_timestamp_seconds', docs, (minute) => 60 * minute)],
    minutes: 240,
    says: 'Judged live relevance of docs was last measured 4h 0m 0s ago, so its scores are no longer exported.',
  },
];
