/** The metrics of golden runs, as part of the catalogue. */

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
  cg: 'Mean sum of the grades in the top k, no ratio, exported where `golden[].gains` asks for it',
  dcg: 'Mean sum of grade / log2(rank + 1) in the top k, no ratio, exported where `golden[].gains` asks for it',
};

const golden = ['pipeline', 'golden_set'] as const;
const scored = [...golden, 'segment', 'k'] as const;
const compared = [...golden, 'segment', 'measure', 'k'] as const;

const scoreHelp = Object.fromEntries(
  [...goldenMeasures, ...gainMeasures].map((measure) => [
    `recalld_golden_${measure}`,
    `${goldenHelp[measure]}, over all judged queries, failed and empty ones counting 0.`,
  ]),
) as Record<`recalld_golden_${ScoreMeasure}`, string>;

export const goldenMetrics = {
  ...boundedGauges(scoreHelp, scored),
  recalld_golden_judged_ratio: storedGauge(
    'Mean share of the top k that has a judgment; a fall means new documents, not necessarily worse ones.',
    scored,
  ),
  recalld_golden_stale_labels_ratio: storedGauge(
    'Share of the judged documents that are superseded: their text is in the vector store under another id, or the manifest deleted them; absent when the store could not be probed.',
    golden,
  ),
  recalld_golden_lost_documents_ratio: storedGauge(
    'Share of the judged documents that are gone from the vector store with nothing in their place; absent when the store could not be probed.',
    golden,
  ),
  recalld_golden_forbidden_results: storedGauge(
    'Forbidden documents that came back in the latest ended run, asked twice; absent when the set forbids none, or nobody could look.',
    golden,
  ),
  ...boundedGauges(
    {
      recalld_golden_false_answer_ratio:
        'Share of the golden questions without an answer that the retriever answered in the latest completed run, or failed; absent when the set has none.',
    },
    golden,
  ),
  recalld_golden_no_answer_queries: storedGauge('Questions behind recalld_golden_false_answer_ratio (its n).', golden),
  ...boundedGauges(
    {
      recalld_golden_stage_recall:
        'Mean share of the relevant documents among all that a stage of the retriever hands on, of the answer among its first k (the largest cut-off), in the latest completed run; absent when the retriever tells of no stages.',
      recalld_golden_stage_lost_ratio:
        'Mean share of the relevant documents that a stage loses of what came before it; of the first stage, that it never finds, and of `failed`, those of questions that failed. With the recall of the answer they make 1.',
    },
    [...golden, 'stage'],
  ),
  recalld_golden_stage_queries: storedGauge(
    'Questions behind recalld_golden_stage_recall and recalld_golden_stage_lost_ratio (their n).',
    golden,
  ),
  recalld_golden_stage_moved_queries: storedGauge(
    'Questions that a stage moved into the first k, or out of it: by whether a relevant document is among them before and after.',
    [...golden, 'stage', 'direction'],
  ),
  recalld_golden_stage_latency_p95_seconds: storedGauge(
    '95th percentile of the own time of a stage in the latest completed run; absent where it is not told.',
    [...golden, 'stage'],
  ),
  ...boundedGauges(
    {
      recalld_golden_context_characters:
        'Mean number of characters of the texts that a golden question brought in the latest ended run, over the answers whose documents all came with their texts; absent when the retriever gives none.',
      recalld_golden_context_repeated_ratio:
        'Mean share of the text of an answer that an earlier document of it said already (runs of five words), over the same answers.',
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
        'Mean of the latest completed run minus that of the pinned baseline, over the queries whose labels are alive.',
    },
    compared,
  ),
  recalld_golden_baseline_p_value: storedGauge(
    'Two-sided p that recalld_golden_baseline_difference is luck, by which regressions are judged.',
    compared,
  ),
  recalld_golden_baseline_queries: storedGauge('Queries behind recalld_golden_baseline_difference (its n).', compared),
  ...boundedGauges(
    {
      recalld_golden_rbo:
        'Rank-biased overlap (p = 0.9) of the answers of the latest ended run with those of the pinned baseline, mean over the questions, failed ones counting 0: 1 is the same documents in the same order. It takes no judgments.',
    },
    [...golden, 'k'],
  ),
  recalld_golden_rbo_queries: storedGauge('Questions behind recalld_golden_rbo (its n).', [...golden, 'k']),
  recalld_golden_scored_queries: storedGauge(
    'Queries behind the golden scores of the latest completed run (the n of every mean).',
    [...golden, 'segment'],
  ),
  recalld_golden_queries: storedGauge('Queries of the latest ended run by outcome: ok, empty, error or timeout.', [
    ...golden,
    'outcome',
  ]),
  recalld_golden_run_last_success_timestamp_seconds: storedGauge(
    'When the latest completed run ended. A run that is void or failed does not move it.',
    golden,
  ),
  recalld_golden_run_last_attempt_timestamp_seconds: storedGauge('When the latest run of any status started.', golden),
  recalld_golden_run_interval_seconds: storedGauge(
    'Longest gap between two runs by the schedule; scores older than 3 of it are withheld.',
    golden,
  ),
  recalld_golden_run_expected_by_timestamp_seconds: storedGauge(
    'When the next completed run is overdue, by the schedule alone: it grows only when a run completes, whether or not a scheduler is alive.',
    golden,
  ),
  recalld_golden_ticks_skipped_total: {
    type: 'counter',
    help: 'Planned runs that a scheduler noted as not started, by reason. Counted in the database: it outlives a restart, and every replica says the same.',
    labels: [...golden, 'purpose', 'reason'],
    source: 'stored',
  },
  recalld_golden_rotation_runs_remaining: storedGauge(
    'Ticks that must still complete on both versions before a new version of the set takes over; 0 while there is none.',
    golden,
  ),
  recalld_golden_sentinel_state: storedGauge(
    'Where the sentinel stands: exactly one of stands, fallen and no_data is 1.',
    [...golden, 'state'],
  ),
  recalld_golden_sentinel_last_success_timestamp_seconds: storedGauge(
    'When the latest sentinel ended whose retriever answered, whether it stood or fell.',
    golden,
  ),
  recalld_golden_sentinel_last_attempt_timestamp_seconds: storedGauge(
    'When the latest sentinel of any status started.',
    golden,
  ),
  recalld_golden_sentinel_interval_seconds: storedGauge(
    'Longest gap between two sentinels by the schedule; after 3 of it the state is no_data.',
    golden,
  ),
  recalld_golden_sentinel_expected_by_timestamp_seconds: storedGauge(
    'When the next sentinel is overdue, by the schedule alone; absent until the set has completed a full run.',
    golden,
  ),
  recalld_golden_run_duration_seconds: storedGauge('How long the latest ended run took.', golden),
  recalld_golden_runs: storedGauge('Stored runs by status: running, completed, void, failed or cancelled.', [
    ...golden,
    'status',
  ]),
  recalld_golden_scores_withheld: storedGauge(
    '1 when the latest scores are too old to trust and are therefore not exported, else 0.',
    golden,
  ),
  recalld_golden_segments_overflow: storedGauge('Segments folded into `other` in the latest completed run.', golden),
} as const satisfies Record<string, MetricDefinition>;
