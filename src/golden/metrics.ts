import { boundedGauges, type MetricDefinition, storedGauge } from '../platform/metrics/definition.ts';
import { type GainMeasure, gainMeasures } from './rules/run.ts';
import { type GoldenMeasure, goldenMeasures } from './rules/score-run.ts';

type ScoreMeasure = GoldenMeasure | GainMeasure;

const goldenHelp: Record<ScoreMeasure, string> = {
  hit_rate: 'Share of golden queries with a relevant document in the top k',
  mrr: 'Mean reciprocal rank of the first relevant document; a query without a relevant document in the top k counts as 0',
  ndcg: 'Mean nDCG at k, with gain = grade. The ideal ranking contains all judged documents',
  ndcg_exp: 'Mean nDCG at k, with gain = 2^grade - 1. The ideal ranking contains all judged documents',
  recall: 'Mean share of the relevant documents found in the top k',
  precision: 'Mean precision at k: the number of relevant documents in the top k, divided by k',
  map: 'Mean average precision at k. The sum of precisions is divided by the number of relevant documents',
  f1: 'Mean F1 at k, the harmonic mean of precision and recall of each query',
  union_recall:
    'Mean share of the relevant documents that are in the union of the top k documents of all steps of a query (`steps`). A query without steps counts as one step. Absent if no query of the set has steps',
  all_found:
    'Share of golden queries whose relevant documents are all in the union of the top k documents of all steps. Absent if no query of the set has steps',
  cg: 'Mean sum of the grades in the top k. Exported only if `golden[].gains` includes this measure',
  dcg: 'Mean sum of grade / log2(rank + 1) in the top k. Exported only if `golden[].gains` includes this measure',
};

const golden = ['pipeline', 'golden_set'] as const;
const scored = [...golden, 'segment', 'k'] as const;
const compared = [...golden, 'segment', 'measure', 'k'] as const;

const ofSet = (help: string) => storedGauge(help, golden);

const scoreHelp = Object.fromEntries(
  [...goldenMeasures, ...gainMeasures].map((measure) => [
    `recalld_golden_${measure}`,
    `${goldenHelp[measure]}. Covers all judged queries; queries that failed or returned no results count as 0.`,
  ]),
) as Record<`recalld_golden_${ScoreMeasure}`, string>;

export const goldenMetrics = {
  ...boundedGauges(scoreHelp, scored),
  recalld_golden_judged_ratio: storedGauge(
    'Mean share of the top k documents that are judged. A drop means that the retriever returns new, unjudged documents, which are not necessarily worse.',
    scored,
  ),
  recalld_golden_stale_labels_ratio: ofSet(
    'Share of judged documents with stale labels: documents whose text has another id in the vector store (superseded), or that the manifest lists as deleted. Absent if the store could not be probed.',
  ),
  recalld_golden_lost_documents_ratio: ofSet(
    'Share of judged documents that are missing from the vector store, have no replacement and are not deleted in the manifest. Absent if the store could not be probed.',
  ),
  recalld_golden_forbidden_results: ofSet(
    'Number of forbidden documents that the retriever returned in the latest finished run, and again in a second request. Absent if the set forbids no documents, or if the run did not test for them.',
  ),
  ...boundedGauges(
    {
      recalld_golden_false_answer_ratio:
        'Share of unanswerable golden queries for which the retriever returned documents or failed in the latest completed run. Absent if the set has no such queries.',
    },
    golden,
  ),
  recalld_golden_no_answer_queries: ofSet(
    'Number of queries over which recalld_golden_false_answer_ratio is computed (n).',
  ),
  ...boundedGauges(
    {
      recalld_golden_stage_recall:
        'Mean share of the relevant documents that a stage of the retriever passes on, in the latest completed run. For the final results, only the top k documents count (k is the largest cutoff). Absent if the retriever reports no stages.',
      recalld_golden_stage_lost_ratio:
        "Mean share of a query's relevant documents that a stage receives but does not pass on. For the first stage, the value counts the relevant documents that the stage does not find; `failed` counts the documents of failed queries. All losses and the recall of the final results sum to 1.",
    },
    [...golden, 'stage'],
  ),
  recalld_golden_stage_queries: ofSet(
    'Number of queries over which recalld_golden_stage_recall and recalld_golden_stage_lost_ratio are computed (n).',
  ),
  recalld_golden_stage_moved_queries: storedGauge(
    'Number of queries that a stage turned from a miss into a hit or vice versa. A query is a hit if a relevant document is in the top k.',
    [...golden, 'stage', 'direction'],
  ),
  recalld_golden_stage_latency_p95_seconds: storedGauge(
    "95th percentile of a stage's own duration in the latest completed run. Absent if the retriever reports no durations.",
    [...golden, 'stage'],
  ),
  ...boundedGauges(
    {
      recalld_golden_context_characters:
        'Mean length, in characters, of the text returned for a golden query in the latest finished run. Only queries whose returned documents all have texts are counted. Absent if the retriever returns no texts.',
      recalld_golden_context_repeated_ratio:
        'Of the text returned for a golden query, the mean share that repeats an earlier document of the same query (compared in five-word sequences). Only queries whose returned documents all have texts are counted.',
    },
    golden,
  ),
  recalld_golden_context_queries: ofSet(
    'Number of queries over which recalld_golden_context_characters and recalld_golden_context_repeated_ratio are computed (n).',
  ),
  ...boundedGauges(
    {
      recalld_golden_baseline_difference:
        'Mean of the latest completed run minus the mean of the pinned baseline, over queries without stale labels.',
    },
    compared,
  ),
  recalld_golden_baseline_p_value: storedGauge(
    'Two-sided p-value of recalld_golden_baseline_difference under the hypothesis of no change. Regression checks use this value.',
    compared,
  ),
  recalld_golden_baseline_queries: storedGauge(
    'Number of queries over which recalld_golden_baseline_difference is computed (n).',
    compared,
  ),
  ...boundedGauges(
    {
      recalld_golden_rbo:
        'Rank-biased overlap (p = 0.9) between the results of the latest finished run and those of the pinned baseline, averaged over all queries; failed queries count as 0. 1 means the same documents in the same order. Needs no judgments.',
    },
    [...golden, 'k'],
  ),
  recalld_golden_rbo_queries: storedGauge('Number of queries over which recalld_golden_rbo is computed (n).', [
    ...golden,
    'k',
  ]),
  recalld_golden_scored_queries: storedGauge(
    'Number of queries in the golden scores of the latest completed run (the n of every mean).',
    [...golden, 'segment'],
  ),
  recalld_golden_queries: storedGauge('Queries of the latest finished run by outcome: ok, empty, error or timeout.', [
    ...golden,
    'outcome',
  ]),
  recalld_golden_run_last_success_timestamp_seconds: ofSet(
    'Time when the latest completed run ended. Void and failed runs do not change this value.',
  ),
  recalld_golden_run_last_attempt_timestamp_seconds: ofSet('Time when the latest run of any status started.'),
  recalld_golden_run_interval_seconds: ofSet(
    'Longest scheduled gap between two runs. Scores older than 3 times this gap are not exported.',
  ),
  recalld_golden_run_expected_by_timestamp_seconds: ofSet(
    'Time by which the schedule requires the next completed run. The time advances only when a run completes, so it also reveals a scheduler that is not running.',
  ),
  recalld_golden_ticks_skipped_total: {
    type: 'counter',
    help: 'Planned runs that recalld did not start, by reason. The count is stored in the database, so it survives restarts and is the same on every replica.',
    labels: [...golden, 'purpose', 'reason'],
    source: 'stored',
  },
  recalld_golden_rotation_runs_remaining: ofSet(
    'Scheduled runs that must still complete on both versions before a new version of the set replaces the old version; 0 if there is no new version.',
  ),
  recalld_golden_sentinel_state: storedGauge(
    'Status of the sentinel runs: exactly one of ok, failed and no_data is 1.',
    [...golden, 'state'],
  ),
  recalld_golden_sentinel_last_success_timestamp_seconds: ofSet(
    'Time when the latest sentinel run ended, whether it passed or failed. Sentinel runs to which the retriever did not respond do not change this value.',
  ),
  recalld_golden_sentinel_last_attempt_timestamp_seconds: ofSet(
    'Time when the latest sentinel run of any status started.',
  ),
  recalld_golden_sentinel_interval_seconds: ofSet(
    'Longest scheduled gap between two sentinel runs. If no sentinel run completes within 3 times this gap, the sentinel status is no_data.',
  ),
  recalld_golden_sentinel_expected_by_timestamp_seconds: ofSet(
    'Time by which the schedule requires the next sentinel run. Absent until the set has completed a full run.',
  ),
  recalld_golden_run_duration_seconds: ofSet('Duration of the latest finished run.'),
  recalld_golden_runs: storedGauge('Stored runs by status: running, completed, void, failed or cancelled.', [
    ...golden,
    'status',
  ]),
  recalld_golden_scores_withheld: ofSet(
    '1 if the latest scores are too old to trust and therefore not exported, otherwise 0.',
  ),
  recalld_golden_segments_overflow: ofSet(
    'Number of segments that were merged into `other` in the latest completed run.',
  ),
} as const satisfies Record<string, MetricDefinition>;
