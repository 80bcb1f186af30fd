/** The metrics of judges, as part of the catalogue; judged scores are rows of the measure table. */
import { type MetricDefinition, storedGauge } from '../platform/metrics/definition.ts';

const pipeline = ['pipeline'] as const;

export const evaluationOutcomes = ['sent', 'refused', 'failed'] as const;

export const judgeFailureReasons = ['unreachable', 'malformed', 'refused', 'without_text', 'expired'] as const;

export const judgingMetrics = {
  recalld_live_judged_queries: storedGauge(
    'Live queries of the trailing window that were graded: by a model, by a person, or by a second person as well.',
    ['pipeline', 'judge'],
  ),
  recalld_live_judged_open_queries: storedGauge('Drawn live queries that wait for their grades.', pipeline),
  recalld_live_judged_human_sessions: storedGauge(
    'Sessions of the trailing window that people graded; with fewer than 8, scores are of the model alone and called uncorrected.',
    pipeline,
  ),
  recalld_live_judged_last_success_timestamp_seconds: storedGauge(
    'When what was graded was last measured; values older than 3 hours are withheld.',
    pipeline,
  ),
  recalld_live_ndcg_drop_queries: storedGauge(
    'Live queries of the last days behind recalld_live_ndcg_drop (its n).',
    pipeline,
  ),
  recalld_live_drop_state: storedGauge(
    'State of the latest drop of judged live nDCG: exactly one of none, detected (by the model), confirmed and rejected (by people) is 1.',
    ['pipeline', 'state'],
  ),
  recalld_live_ndcg_pool_gap_queries: storedGauge(
    'Live queries of the trailing window that the store was searched deeper for, and graded (n of recalld_live_ndcg_pool_gap).',
    pipeline,
  ),
  recalld_judge_agreement_sessions: storedGauge(
    'Sessions of the trailing window that both the judge of now and people graded (n of recalld_judge_agreement); from 40 on a low agreement is an alarm.',
    pipeline,
  ),
  recalld_human_agreement_sessions: storedGauge(
    'Sessions of the trailing window that two people graded (n of recalld_human_agreement).',
    pipeline,
  ),
  recalld_judge_min_agreement: storedGauge(
    'Weighted kappa that the lower bound of recalld_judge_agreement is to reach, as the config has it.',
    pipeline,
  ),
  recalld_judge_info: storedGauge(
    'Who grades live queries, as a fingerprint of the model and its prompt, with how often it was seen to grade otherwise since; always 1.',
    ['pipeline', 'fingerprint'],
  ),
  recalld_judge_panel_pairs: storedGauge(
    'Pairs that the judge grades again every day (n of recalld_judge_drift).',
    pipeline,
  ),
  recalld_judge_changed_timestamp_seconds: storedGauge(
    'When the judge was last seen to grade otherwise than before, although the config names the same.',
    pipeline,
  ),
  recalld_judge_cost_dollars_total: {
    type: 'counter',
    help: 'US dollars that grades of the model cost, by the prices of the config.',
    labels: pipeline,
    source: 'process',
  },
  recalld_judge_failures_total: {
    type: 'counter',
    help: 'Grades that did not come: the judge, retriever or store was not reached (tried again), the answer was no grade twice, the model refused, no document had a text, or a day went by.',
    labels: ['pipeline', 'reason'],
    source: 'process',
  },
  recalld_judge_flagged_total: {
    type: 'counter',
    help: 'Graded documents in which something spoke to the judge; people are to review these grades.',
    labels: pipeline,
    source: 'process',
  },
  recalld_judge_unaffordable_queries_total: {
    type: 'counter',
    help: 'Live queries that were not drawn because max_cost_per_day would not pay for their grades.',
    labels: pipeline,
    source: 'process',
  },
  recalld_evaluation_requests_total: {
    type: 'counter',
    help: 'Requests with the scores of single live queries that were sent by OTLP: sent, refused (a part of it, for good) or failed (tried again in the next round).',
    labels: ['pipeline', 'outcome'],
    source: 'process',
  },
} as const satisfies Record<string, MetricDefinition>;
