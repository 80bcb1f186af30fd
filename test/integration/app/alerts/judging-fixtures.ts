import { signal } from '../../../support/promtool.ts';
import type { AlertFixture } from './fixture.ts';
import { always, growing } from './signals.ts';

const docs = { pipeline: 'docs' };
const aDrop = signal('recalld_live_ndcg_drop', { ...docs, k: '5' }, always(0.08));
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
    breaching: [signal('recalld_judge_agreement_ci_high', docs, always(0.31))],
    healthy: [signal('recalld_judge_agreement_ci_high', docs, always(0.8))],
    minutes: 240,
    says: 'The agreement of the judge of docs with people (weighted kappa) is at most 0.31 (upper 95 % bound). Judged live scores still hold, but are hardly better known than from people alone.',
  },
  {
    alert: 'RecalldLiveRelevanceFell',
    labels: docs,
    breaching: [aDrop, signal('recalld_live_drop_state', { ...docs, state: 'confirmed' }, always(1))],
    healthy: [aDrop, signal('recalld_live_drop_state', { ...docs, state: 'taken_back' }, always(1))],
    minutes: 60,
    says: 'The nDCG of live queries of docs lies 0.08 below that of the weeks before, by the grades of people and, beyond chance, by those of the model too. The judge is what it was.',
  },
  {
    alert: 'RecalldLiveRelevanceFellTicket',
    labels: docs,
    breaching: [aDrop, signal('recalld_live_drop_state', { ...docs, state: 'called' }, always(1))],
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
