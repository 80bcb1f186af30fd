import { namedCauses } from '../../src/incidents/diagnosis/rules/cause.ts';

/** What the values of each label are, and so what keeps them few. A label that is not here has no bound. */
export const labelMeanings: Readonly<Record<string, string>> = {
  pipeline: 'Name of a pipeline of the config.',
  golden_set: 'Name of an imported golden set.',
  segment:
    '`all`, `key=value` of a tag under `segments.keys`, or `other` for those beyond `segments.max`; of index truth the segments of the manifest; of watched measures of golden runs `golden_set=NAME`.',
  k: 'Cut-off, one of `cutoffs` of the golden set; of judged live scores, `judged.depth`.',
  stage:
    'Stage of the retriever as its config names it, `words and vectors` for those beside each other, `answer` for what comes out, or `failed`; of live queries as the service names it, or `retrieval` and `rerank` of spans, at most 12.',
  direction: '`in` or `out`, of the first k.',
  shadow: 'Name of a shadow of the pipeline.',
  candidate: 'Name of a shadow, or of an arm but the first.',
  source:
    'What a candidate is compared on: `golden:SET`, `judged` live queries, or `traffic`, by what users make of the answers.',
  arm: 'Name of an arm under `variants.arms`.',
  verdict:
    '`regression`, `improvement`, `no_change`, `inconclusive` or `no_data`; of the split of variants `as_declared`, `mismatch` or `no_data`.',
  judge: '`model` or `person`.',
  check:
    'Name of a check by its config, with its golden set, such as `quality on support-faq`; without one its measure and threshold, `ndcg@10 below 0.8 on support-faq`.',
  what: 'What the value of a check is of, in words, with the segment that decided where several are judged.',
  limit: '`floor` or `ceiling`: what the threshold of a check is.',
  unit: '`seconds` or `number`.',
  fingerprint:
    'Short hash of what a store or an embedder is made of, or of who grades live queries; it changes when that does.',
  measure:
    'Golden measure: `hit_rate`, `mrr`, `ndcg`, `ndcg_exp`, `recall`, `precision`, `map` or `f1`; or measure of live traffic, such as `zero_results_ratio`, or of a probe, such as `ann_recall`.',
  severity: '`critical` or `warning`.',
  level: '`page` or `ticket`, of the alarm of query density.',
  grade: '`page` when a baseline is good for pages, `provisional` when for tickets alone.',
  state:
    '`ok`, `warning`, `critical` or `no_data` for a check; `stands`, `fallen` or `no_data` for a sentinel; `waiting`, `active`, `delayed` or `failed` for a job; `none`, `detected`, `confirmed` or `rejected` for a drop of judged live nDCG.',
  purpose: '`full` for a run of the whole golden set, `sentinel` for one of a few queries of it.',
  outcome:
    'What became of a query (`ok`, `empty`, `error`, `timeout`), of a job (`completed`, `failed`, `dead`) or of a text to redact (`ok`, `failed`, `timeout`, `malformed`).',
  status: 'Of a golden run: `running`, `completed`, `void`, `failed` or `cancelled`.',
  task: 'Name of a job, see [jobs.md](jobs.md).',
  queue: 'Name of the job whose queue it is.',
  kind: 'Kind of a check: `floor`, `regression`, `threshold`, `stale_labels`, `forbidden_results` or `density_drift`; or of feedback: `thumb`, `rating`, `click`, `copy`, `reformulation`, `abandonment`, `no_answer` or `relevance`; or what is wrong with a document of the index: `missing`, `unretrievable`, `orphaned`, `superseded` or `other_model`.',
  sentiment: 'What a feedback says of the answer: `positive`, `negative` or `neutral`.',
  basis: 'Which kinds of feedback count: `all`, `explicit` (thumb, rating, relevance) or `implicit` (the others).',
  reason:
    'Why a request was shed (`database`, `overload`, `rate_limit`), why a planned run did not start (`quiet_hours`, `daily_budget`, `still_running`, `missed`, `no_full_run`), a measure not taken (`no_queries`, `no_clicks`, `no_texts`, `no_query_texts`, `no_baseline`, `too_few_sessions`, `too_few_clicks`), or the coverage of a query not measured (`no_vector`, `store_failed`, `embedder_failed`, `thinned`, ...), or a grade did not come (`unreachable`, `malformed`, `refused`, `without_text`, `expired`).',
  cause: `Likely cause of an alarm: ${namedCauses.map((cause) => `\`${cause}\``).join(', ')} or \`unknown\`; see [diagnosis.md](../explanation/diagnosis.md).`,
  confidence: 'How far to trust a diagnosis: `high`, `medium` or `low`.',
  code: 'Why an item was not accepted.',
  version: 'Version of this recalld, or of a baseline.',
  nodejs: 'Version of its Node.js.',
};
