/** What the values of each label are, and so what keeps them few. A label that is not here has no bound. */
export const labelMeanings: Readonly<Record<string, string>> = {
  pipeline: 'Name of a pipeline of the config.',
  golden_set: 'Name of an imported golden set.',
  segment: '`all`, `key=value` of a tag under `segments.keys`, or `other` for those beyond `segments.max`.',
  k: 'Cut-off, one of `cutoffs` of the golden set.',
  check: 'Measure, floor and golden set of a check, such as `ndcg@10 below 0.8 on support-faq`.',
  severity: '`critical` or `warning`.',
  state:
    '`ok`, `warning`, `critical` or `no_data` for a check; `waiting`, `active`, `delayed` or `failed` for a job.',
  outcome:
    'What became of a query (`ok`, `empty`, `error`, `timeout`) or of a job (`completed`, `failed`, `dead`).',
  status: 'Of a golden run: `running`, `completed`, `void`, `failed` or `cancelled`.',
  job: 'Name of a job, see [jobs.md](jobs.md).',
  queue: 'Name of the job whose queue it is.',
  kind: 'Kind of feedback: `thumb`, `rating`, `click`, `copy`, `reformulation`, `abandonment`, `no_answer` or `relevance`.',
  sentiment: 'What a feedback says of the answer: `positive`, `negative` or `neutral`.',
  basis:
    'Which kinds of feedback count: `all`, `explicit` (thumb, rating, relevance) or `implicit` (the others).',
  reason: 'Why a request was shed.',
  code: 'Why an item was not accepted.',
  version: 'Version of this recalld.',
  nodejs: 'Version of its Node.js.',
};
