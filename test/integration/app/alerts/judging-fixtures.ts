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
    says: 'Live queries of docs could not be graded 360 times within three hours, because the judge, the retriever or the store did not answer. They wait, and are given up after a day.',
  },
  {
    alert: 'RecalldJudgeFailing',
    labels: docs,
    breaching: [signal('recalld_judge_failures_total', failures('malformed'), growing(1))],
    healthy: [signal('recalld_judge_failures_total', failures('unreachable'), growing(1))],
    minutes: 420,
    says: '720 documents of docs got no grade within six hours: the judge refused, or answered twice with no grade. Each counts as grade 0 in what the model says.',
  },
  {
    alert: 'RecalldJudgeDisagrees',
    labels: docs,
    breaching: agreement(0.31, 0.65, 40),
    // As low, of a panel that is still young.
    healthy: agreement(0.31, 0.65, 39),
    minutes: 240,
    says: 'The agreement of the judge of docs with people (weighted kappa) is 0.48 (95 % 0.31 to 0.65, n = 40 sessions); its lower bound is to be at least 0.40. Judged live scores still hold, but are less well known than they could be.',
  },
  {
    alert: 'RecalldJudgeDisagrees',
    labels: docs,
    // So low that few sessions tell.
    breaching: agreement(0.1, 0.38, 12),
    healthy: agreement(0.42, 0.9, 60),
    minutes: 240,
    says: 'The agreement of the judge of docs with people (weighted kappa) is 0.24 (95 % 0.10 to 0.38, n = 12 sessions); its lower bound is to be at least 0.40. Judged live scores still hold, but are less well known than they could be.',
  },
  {
    alert: 'RecalldLiveRelevanceFell',
    labels: docs,
    breaching: [aDrop, signal('recalld_live_drop_state', { ...docs, state: 'confirmed' }, always(1))],
    healthy: [aDrop, signal('recalld_live_drop_state', { ...docs, state: 'rejected' }, always(1))],
    minutes: 60,
    says: 'The nDCG of live queries of docs lies 0.08 below that of the weeks before, by the grades of people and, beyond chance, by those of the model too. The judge is what it was.',
  },
  {
    alert: 'RecalldLiveRelevanceFellTicket',
    labels: docs,
    breaching: [aDrop, signal('recalld_live_drop_state', { ...docs, state: 'detected' }, always(1))],
    healthy: [aDrop, signal('recalld_live_drop_state', { ...docs, state: 'none' }, always(1))],
    minutes: 60,
    says: 'The nDCG of live queries of docs lies 0.08 below that of the weeks before by the grades of the model, which is what it was. People have not graded enough of these days to say whether it is so.',
  },
  {
    alert: 'RecalldJudgeChanged',
    labels: docs,
    breaching: [signal('recalld_judge_changed_timestamp_seconds', docs, always(0))],
    healthy: [signal('recalld_judge_changed_timestamp_seconds', docs, always(-90_000))],
    minutes: 60,
    says: 'Fixed pairs that the judge of docs graded again got other grades than at first, by more than chance, 1h 0m 0s ago. What the model says alone begins anew; scores that people correct still hold.',
  },
  {
    alert: 'RecalldJudgedMeasuresStopped',
    labels: docs,
    breaching: [signal('recalld_live_judged_last_success_timestamp_seconds', docs, always(0))],
    healthy: [signal('recalld_live_judged_last_success_timestamp_seconds', docs, (minute) => 60 * minute)],
    minutes: 240,
    says: 'What was graded of the live traffic of docs was last measured 4h 0m 0s ago; its scores are withheld.',
  },
];
