/** Metrics of judges. Judged scores are not defined here but in the measure table. */
import { counter, type MetricDefinition, storedGauge } from '../platform/metrics/definition.ts';

const pipeline = ['pipeline'] as const;

export const evaluationOutcomes = ['sent', 'refused', 'failed'] as const;

export const judgeFailureReasons = ['unreachable', 'malformed', 'refused', 'without_text', 'expired'] as const;

export const judgingMetrics = {
  recalld_live_judged_queries: storedGauge(
    'Graded live queries in the trailing window, by grader: a model, a person, or a second person.',
    ['pipeline', 'judge'],
  ),
  recalld_live_judged_open_queries: storedGauge(
    'Live queries that are selected for judging but not graded yet.',
    pipeline,
  ),
  recalld_live_judged_human_sessions: storedGauge(
    'Sessions in the trailing window that have human judgments. With fewer than 8 sessions, scores come from the model alone and are exported as uncorrected.',
    pipeline,
  ),
  recalld_live_judged_last_success_timestamp_seconds: storedGauge(
    'Time of the last measurement of judged live relevance. Values older than 3 hours are not exported.',
    pipeline,
  ),
  recalld_live_ndcg_drop_queries: storedGauge(
    'Graded live queries in the later of the two periods that are compared (n of recalld_live_ndcg_drop).',
    pipeline,
  ),
  recalld_live_drop_state: storedGauge(
    'State of the latest drop in judged live nDCG: 1 for the current state, 0 for all other states. The model detects a drop, and human judgments confirm or reject it.',
    ['pipeline', 'state'],
  ),
  recalld_live_ndcg_pool_gap_queries: storedGauge(
    'Live queries in the trailing window that have graded pools (n of recalld_live_ndcg_pool_gap).',
    pipeline,
  ),
  recalld_episode_judged: storedGauge('Graded episodes in the trailing window (n of recalld_episode_hit_rate).', [
    'pipeline',
    'segment',
  ]),
  recalld_rewrite_judged: storedGauge(
    'Graded episodes in the trailing window whose first query was rewritten (n of recalld_rewrite_gain).',
    ['pipeline', 'segment'],
  ),
  recalld_judge_agreement_sessions: storedGauge(
    'Sessions in the trailing window that were graded by both the current judge and people (n of recalld_judge_agreement). With at least 40 sessions, RecalldJudgeDisagrees fires if the lower bound of the agreement is below judged.min_agreement. With fewer sessions, the alert fires only if the upper bound is below this minimum.',
    pipeline,
  ),
  recalld_human_agreement_sessions: storedGauge(
    'Sessions in the trailing window that were graded by two people (n of recalld_human_agreement).',
    pipeline,
  ),
  recalld_judge_min_agreement: storedGauge(
    'Configured minimum for the lower bound of recalld_judge_agreement (judged.min_agreement).',
    pipeline,
  ),
  recalld_judge_info: storedGauge(
    'Information about the current judge; the value is always 1. `fingerprint` identifies its model and prompt, and ends with the number of detected changes, if any.',
    ['pipeline', 'fingerprint'],
  ),
  recalld_judge_panel_pairs: storedGauge(
    'Number of query-document pairs that the judge re-grades every day (n of recalld_judge_drift).',
    pipeline,
  ),
  recalld_judge_changed_timestamp_seconds: storedGauge(
    'Time when recalld last detected that the judge had changed although its config had not.',
    pipeline,
  ),
  recalld_judge_cost_dollars_total: counter('Cost of model grades in US dollars, at the configured prices.', pipeline),
  recalld_judge_failures_total: counter(
    'Failed grades by reason: the judge, retriever or store was unreachable (retried), the answer was malformed twice, the model refused, no document had a text, or the query expired after a day.',
    ['pipeline', 'reason'],
  ),
  recalld_judge_flagged_total: counter(
    'Graded documents for which the text of the query or the document addresses the judge (possible prompt injection). Review these grades.',
    pipeline,
  ),
  recalld_judge_unaffordable_queries_total: counter(
    'Live queries that recalld did not select for judging because judged.max_cost_per_day was too low.',
    pipeline,
  ),
  recalld_evaluation_requests_total: counter(
    'OTLP requests that carry scores of individual live queries. `outcome` is sent, refused (the platform rejected at least one score; not retried) or failed (retried in the next round).',
    ['pipeline', 'outcome'],
  ),
} as const satisfies Record<string, MetricDefinition>;
