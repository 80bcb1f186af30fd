import { namedCauses } from '../../src/incidents/diagnosis/rules/cause.ts';

/** The values of each label, and what limits their number. */
export const labelMeanings: Readonly<Record<string, string>> = {
  pipeline: 'Name of a pipeline in the config.',
  golden_set: 'Name of an imported golden set.',
  segment:
    '`all`, `key=value` of a tag in `segments.keys`, or `other` beyond `segments.max`; for index truth, segments of the manifest; for monitored measures of golden runs, `golden_set=NAME`.',
  k: 'Cutoff: one of `cutoffs` of the golden set, or `judged.depth` for the scores of judged live queries.',
  stage:
    'Stage of the retriever as named in the config, `words and vectors` for parallel stages, `answer` for the final results, or `failed`. For live queries: the name that the service sends (OpenTelemetry spans have `retrieval` or `rerank`); at most 12 names.',
  bound: '`low` or `high`: the lower or the upper limit of a range.',
  direction: '`in` or `out`: queries that gained or lost a relevant document in the top k.',
  shadow: 'Name of a shadow of the pipeline.',
  candidate: 'Name of a shadow, or of a variant arm other than the first.',
  source:
    'Compared data: `golden:SET` for a golden set, `judged` for judged live queries, or `traffic` for feedback and clicks from users.',
  arm: 'Name of an arm in `variants.arms`.',
  verdict:
    '`regression`, `improvement`, `no_change`, `inconclusive` or `no_data`. For the session split between variants: `as_declared`, `mismatch` or `no_data`.',
  judge: '`model`, `person`, or `second` for an independent second person.',
  rule: 'Name of an isolation rule in the config.',
  check:
    'Name of a check with its golden set, such as `quality on support-faq`; if the config gives no name, the name consists of the measure and threshold, such as `ndcg@10 below 0.8 on support-faq`.',
  what: 'Title of the measure that a check evaluates; if the check evaluates several segments, also the segment that decides the verdict.',
  limit: '`below` or `above`: the side of the threshold on which a check fails.',
  unit: '`seconds`, `share` or `number`.',
  fingerprint:
    'Short hash of the properties of a store, embedder or judge. The hash changes when the properties change.',
  measure:
    'A golden measure (`hit_rate`, `mrr`, `ndcg`, `ndcg_exp`, `recall`, `precision`, `map`, `f1`, `union_recall` or `all_found`), a measure of live traffic such as `zero_results_ratio`, or a measure of a probe such as `ann_recall`.',
  severity: '`critical` or `warning`.',
  level: 'Level of a density alert: `page` or `ticket`.',
  grade: '`page` for a full baseline, `provisional` for a baseline whose alerts open only tickets.',
  state:
    '`ok`, `warning`, `critical` or `no_data` for a check; `ok`, `failed` or `no_data` for a sentinel; `waiting`, `active`, `delayed` or `failed` for a job; `none`, `detected`, `confirmed` or `rejected` for a drop of judged live nDCG.',
  purpose: '`full` for a run of the whole golden set, `sentinel` for a run of a few queries.',
  outcome:
    'Result of a query (`ok`, `empty`, `error`, `timeout`), of a job (`completed`, `failed`, `dead`), of the redaction of a text (`ok`, `failed`, `timeout`, `malformed`), of a notification (`sent`, `failed`, `given_up`) or of a request with scores (`sent`, `refused`, `failed`). For an OpenTelemetry span, see `recalld_trace_spans_total`.',
  status: 'Status of a golden run: `running`, `completed`, `void`, `failed` or `cancelled`.',
  task: 'Name of a job; see [jobs.md](jobs.md).',
  queue: 'Name of the job queue, which is also the name of its job.',
  kind: 'Kind of a check: `floor`, `regression`, `threshold`, `stale_labels`, `forbidden_results`, `isolation` or `density_drift`; or kind of feedback: `thumb`, `rating`, `click`, `copy`, `reformulation`, `abandonment`, `no_answer`, `relevance` or `citation`; or kind of a receiver in `notify`: `webhook`, `slack`, `teams`, `pagerduty` or `email`; or defect of an indexed document: `missing`, `unretrievable`, `orphaned`, `superseded` or `other_model`.',
  sentiment: 'Sentiment of feedback: `positive`, `negative` or `neutral`.',
  basis: 'Included kinds of feedback: `all`, `explicit` (thumb, rating, relevance) or `implicit` (all other kinds).',
  reason:
    'Why recalld refused an ingest request (`database`, `disk_full`, `overload`, `rate_limit`), why a scheduled run did not start (`quiet_hours`, `daily_budget`, `still_running`, `missed`, `no_full_run`), why a measure has no value (`no_queries`, `none_sampled`, `no_clicks`, `no_texts`, `no_latencies`, `no_episodes`, `no_baseline`, `too_few_sessions`, ...), why the coverage of a query was not measured (`no_vector`, `store_failed`, `embedder_failed`, `thinned`, ...), why an isolation rule could not check an answer (`segment_missing`, `document_unidentified`, `field_missing`), or why a grade is missing (`unreachable`, `malformed`, `refused`, `without_text`, `expired`).',
  cause: `Likely cause of an alert: ${namedCauses.map((cause) => `\`${cause}\``).join(', ')} or \`unknown\`; see [diagnosis.md](../explanation/diagnosis.md).`,
  confidence: 'Confidence of a diagnosis: `high`, `medium` or `low`.',
  code: 'Reason why an item was rejected.',
  version: 'Version of recalld, or of a baseline.',
  nodejs: 'Version of Node.js.',
};
