import { signal } from '../../../support/promtool.ts';
import type { AlertFixture } from './fixture.ts';
import { always, growing } from './signals.ts';

const docs = { pipeline: 'docs' };
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
    alert: 'RecalldJudgeChanged',
    labels: docs,
    breaching: [signal('recalld_judge_changed_timestamp_seconds', docs, always(0))],
    healthy: [signal('recalld_judge_changed_timestamp_seconds', docs, always(-90_000))],
    minutes: 60,
    says: 'Fixed pairs that the judge of docs graded again got other grades than at first, by more than chance. What the model says alone begins anew; scores that people correct still hold.',
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
