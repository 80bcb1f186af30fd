/** Metrics of golden runs, as part of the catalogue. */

import { boundedGauges, type MetricDefinition, storedGauge } from '../platform/metrics/definition.ts';
import { type GainMeasure, gainMeasures } from './rules/run.ts';
import { type GoldenMeasure, goldenMeasures } from './rules/score-run.ts';

type ScoreMeasure = GoldenMeasure | GainMeasure;

const goldenHelp: Record<ScoreMeasure, string> = {
  hit_rate: 'Share of golden queries with a relevant document in the top k',
  mrr: 'Mean reciprocal rank of the first relevant document, 0 beyond k',
  ndcg: 'Mean nDCG at k, gain = grade, ideal over all judged documents',
  ndcg_exp: 'Mean nDCG at k, gain = 2^grade - 1, ideal over all judged documents',
  recall: 'Mean share of the relevant documents found in the top k',
  precision: 'Mean of relevant documents in the top k divided by k',
  map: 'Mean average precision at k, divided by the number of relevant documents',
  f1: 'Mean harmonic mean of precision and recall at k, per query',
  cg: 'Mean sum of the grades in the top k, exported if `golden[].gains` asks for it',
  dcg: 'Mean sum of grade / log2(rank + 1) in the top k, exported if `golden[].gains` asks for it',
};

const golden = ['pipeline', 'golden_set'] as const;
const scored = [...golden, 'segment', 'k'] as const;
const compared = [...golden, 'segment', 'measure', 'k'] as const;

const scoreHelp = Object.fromEntries(
  [...goldenMeasures, ...gainMeasures].map((measure) => [
    `recalld_golden_${measure}`,
    `${goldenHelp[measure]}, over all judged queries; failed and empty ones count 0.`,
  ]),
) as Record<`recalld_golden_${ScoreMeasure}`, string>;

export const goldenMetrics = {
  ...boundedGauges(scoreHelp, scored),
  recalld_golden_judged_ratio: storedGauge(
    'Mean share of the top k that has a judgment. A drop means new documents, not necessarily worse ones.',
    scored,
  ),
  recalld_golden_stale_labels_ratio: storedGauge(
    'Share of judged documents that are superseded: their text has another id in the vector store, or the manifest deleted them. Absent when the store could not be probed.',
    golden,
  ),
  recalld_golden_lost_documents_ratio: storedGauge(
    'Share of judged documents that are missing from the vector store without a replacement. Absent when the store could not be probed.',
    golden,
  ),
  recalld_golden_forbidden_results: storedGauge(
    'Forbidden documents that the latest ended run returned, confirmed by a second request. Absent when the set forbids none, or the run did not test them.',
    golden,
  ),
  ...boundedGauges(
    {
      recalld_golden_false_answer_ratio:
        'Share of golden queries without an answer that the retriever answered or failed in the latest completed run. Absent when the set has none.',
    },
    golden,
  ),
  recalld_golden_no_answer_queries: storedGauge('Queries behind recalld_golden_false_answer_ratio (its n).', golden),
  ...boundedGauges(
    {
      recalld_golden_stage_recall:
        'Mean share of the relevant documents among all that a stage of the retriever passes on (for the answer, among its first k, the largest cutoff), in the latest completed run. Absent when the retriever reports no stages.',
      recalld_golden_stage_lost_ratio:
        'Mean share of the relevant documents that a stage loses of what came before it (for the first stage, those it never finds; for `failed`, those of failed queries). All losses and the recall of the answer sum to 1.',
    },
    [...golden, 'stage'],
  ),
  recalld_golden_stage_queries: storedGauge(
    'Queries behind recalld_golden_stage_recall and recalld_golden_stage_lost_ratio (their n).',
    golden,
  ),
  recalld_golden_stage_moved_queries: storedGauge(
    'Queries that a stage moved into or out of a hit: whether a relevant document is among the first k before and after it.',
    [...golden, 'stage', 'direction'],
  ),
  recalld_golden_stage_latency_p95_seconds: storedGauge(
    '95th percentile of the own time of a stage in the latest completed run. Absent when the retriever does not report it.',
    [...golden, 'stage'],
  ),
  ...boundedGauges(
    {
      recalld_golden_context_characters:
        'Mean number of characters in the texts returned for a golden query in the latest ended run, over the answers where every document has a text. Absent when the retriever returns none.',
      recalld_golden_context_repeated_ratio:
        'Mean share of the text of an answer that an earlier document of the answer repeats (runs of five words), over the same answers.',
    },
    golden,
  ),
  recalld_golden_context_queries: storedGauge(
    'Answers behind recalld_golden_context_characters and recalld_golden_context_repeated_ratio (their n).',
    golden,
  ),
  ...boundedGauges(
    {
      recalld_golden_baseline_difference:
        'Mean of the latest completed run minus that of the pinned baseline, over the queries without stale labels.',
    },
    compared,
  ),
  recalld_golden_baseline_p_value: storedGauge(
    'Two-sided p of recalld_golden_baseline_difference under no change, which decides regressions.',
    compared,
  ),
  recalld_golden_baseline_queries: storedGauge('Queries behind recalld_golden_baseline_difference (its n).', compared),
  ...boundedGauges(
    {
      recalld_golden_rbo:
        'Rank-biased overlap (p = 0.9) of the results of the latest ended run with those of the pinned baseline, mean over the queries, where failed ones count 0. 1 means the same documents in the same order. Needs no judgments.',
    },
    [...golden, 'k'],
  ),
  recalld_golden_rbo_queries: storedGauge('Queries behind recalld_golden_rbo (its n).', [...golden, 'k']),
  recalld_golden_scored_queries: storedGauge(
    'Queries behind the golden scores of the latest completed run (the n of every mean).',
    [...golden, 'segment'],
  ),
  recalld_golden_queries: storedGauge('Queries of the latest ended run by outcome: ok, empty, error or timeout.', [
    ...golden,
    'outcome',
  ]),
  recalld_golden_run_last_success_timestamp_seconds: storedGauge(
    'When the latest completed run ended. Void and failed runs do not change it.',
    golden,
  ),
  recalld_golden_run_last_attempt_timestamp_seconds: storedGauge('When the latest run of any status started.', golden),
  recalld_golden_run_interval_seconds: storedGauge(
    'Longest gap between two runs by the schedule. Scores older than 3 times this are withheld.',
    golden,
  ),
  recalld_golden_run_expected_by_timestamp_seconds: storedGauge(
    'When the next completed run is overdue, by the schedule alone. It advances only when a run completes, even if no scheduler is running.',
    golden,
  ),
  recalld_golden_ticks_skipped_total: {
    type: 'counter',
    help: 'Planned runs that were not started, by reason. Counted in the database: it survives restarts, and every replica reports the same.',
    labels: [...golden, 'purpose', 'reason'],
    source: 'stored',
  },
  recalld_golden_rotation_runs_remaining: storedGauge(
    'Ticks that must still complete on both versions before a new version of the set takes over; 0 without a new version.',
    golden,
  ),
  recalld_golden_sentinel_state: storedGauge('Status of the sentinel: exactly one of ok, failed and no_data is 1.', [
    ...golden,
    'state',
  ]),
  recalld_golden_sentinel_last_success_timestamp_seconds: storedGauge(
    'When the latest sentinel ended whose retriever answered, passed or failed.',
    golden,
  ),
  recalld_golden_sentinel_last_attempt_timestamp_seconds: storedGauge(
    'When the latest sentinel of any status started.',
    golden,
  ),
  recalld_golden_sentinel_interval_seconds: storedGauge(
    'Longest gap between two sentinels by the schedule. After 3 times this the state is no_data.',
    golden,
  ),
  recalld_golden_sentinel_expected_by_timestamp_seconds: storedGauge(
    'When the next sentinel is overdue, by the schedule alone. Absent until the set has completed a full run.',
    golden,
  ),
  recalld_golden_run_duration_seconds: storedGauge('Duration of the latest ended run.', golden),
  recalld_golden_runs: storedGauge('Stored runs by status: running, completed, void, failed or cancelled.', [
    ...golden,
    'status',
  ]),
  recalld_golden_scores_withheld: storedGauge(
    '1 when the latest scores are too old to trust and therefore not exported, else 0.',
    golden,
  ),
  recalld_golden_segments_overflow: storedGauge('Segments merged into `other` in the latest completed run.', golden),
} as const satisfies Record<string, MetricDefinition>;
