/** What can be behind an alarm: a closed list, so that it can be a label of a metric. */

export interface CauseText {
  /** What to call it. */
  readonly title: string;
  /** What to do first, one sentence. */
  readonly action: string;
  /** What a person sees if it is this one and not another, as the end of a sentence that begins with "if". */
  readonly shows: string;
}

/** Every cause, in the order in which equally likely ones are listed. */
export const causeTexts = {
  retriever_outage: {
    title: 'the retriever is down',
    action: 'Look at the retriever and what it calls; scores come back with it.',
    shows: 'calls from elsewhere fail too',
  },
  retriever_failing: {
    title: 'some calls to the retriever fail',
    action:
      'Look at the log of the retriever for what the failed calls share: an instance, a shard, a kind of question.',
    shows: 'the same call, made again, is answered',
  },
  retriever_slow: {
    title: 'the retriever is slow',
    action: 'Look at the load of the retriever and its store, and at timeout_ms.',
    shows: 'answers take long and do not get faster',
  },
  cold_cache: {
    title: 'the caches of the retriever are cold',
    action: 'Wait for the next run; if a restart or an eviction comes often, warm the caches before traffic.',
    shows: 'the next run is fast again',
  },
  access_denied: {
    title: 'the retriever refuses the credentials',
    action: 'Renew the key or token in `retriever.headers`; it expired, was revoked or lost a right.',
    shows: 'the same call with a new key is answered',
  },
  rate_limited: {
    title: 'the retriever limits the rate of calls',
    action: 'Raise the limit of the retriever for recalld, or lower `max_per_second` of the golden set.',
    shows: 'a call a minute later is answered',
  },
  error_page: {
    title: 'an error page comes in place of answers',
    action: 'Look at the proxy, gateway or login before the retriever: something answers in its place.',
    shows: 'the body of an answer is no result list',
  },
  empty_lists: {
    title: 'the search answers with empty lists',
    action: 'Look for an error that the search service swallows, and at the name of the index that it asks.',
    shows: 'a call without any filter is empty too',
  },
  filter: {
    title: 'a filter drops documents',
    action: 'Compare the filter of a call with the fields of the documents: a value, a field or a tenant was renamed.',
    shows: 'a call without the filter finds them',
  },
  live_traffic: {
    title: 'only live queries are hurt',
    action: 'Compare a live call with a golden one: its filter, tenant, length and credentials; golden ones are well.',
    shows: 'a live query, asked again, is hurt again',
  },
  repeated_query: {
    title: 'one query floods the traffic',
    action:
      'Find the caller that repeats it (a health check, a crawler, a retry loop) and stop it or leave it out of what recalld gets.',
    shows: 'most of the load ends when one caller stops',
  },
  other_language: {
    title: 'people ask in another language',
    action:
      'Index documents in that language or translate queries, and add such queries to the golden set with `recalld golden promote`.',
    shows: 'queries in the usual language are answered as before',
  },
  index_parameters: {
    title: 'the index misses near neighbours',
    action: 'Undo the change of index or search parameters (ef, nprobe, quantisation), or rebuild the index.',
    shows: 'an exact search of the store finds more',
  },
  index_lost_documents: {
    title: 'documents are gone from the index',
    action: 'Find the job that deleted or did not finish indexing, and index the missing documents again.',
    shows: 'the store does not have them by their ids',
  },
  index_behind: {
    title: 'changes of documents reach the index late',
    action:
      'Look at the queue and the errors of the job that indexes; `recalld index check` lists what is not there yet.',
    shows: 'new versions of documents wait to be indexed',
  },
  truncated_texts: {
    title: 'chunk texts were cut short at indexing',
    action:
      'Look at the length limit of the job that indexes (chunk size, tokens of the embedder, a column), and index the full texts again.',
    shows: 'stored texts end in the middle of a sentence',
  },
  duplicate_results: {
    title: 'answers hold the same text several times',
    action:
      'Look for documents that were indexed twice, or a join or merge that repeats results, and remove duplicates before the cut-off.',
    shows: 'the same text stands at several places of an answer',
  },
  corpus_changed: {
    title: 'the documents were chunked anew',
    action: 'Carry the labels over with `recalld golden check`, then pin a new baseline.',
    shows: 'the new ids hold parts of the old texts',
  },
  ids_renamed: {
    title: 'the documents have other ids',
    action:
      'Mend `results.id` of the retriever if it reads another field, else carry the labels over with `recalld golden check`.',
    shows: 'the new ids hold the same texts',
  },
  old_index: {
    title: 'an old index answers',
    action: 'Point the alias of the index to the current one, and find out why it moved back.',
    shows: 'the alias leads to an index from before',
  },
  split_index: {
    title: 'a second index answers part of the time',
    action: 'Find the replica or index that differs from the others, and take it out until it holds the same.',
    shows: 'one question, asked twice, has two answers',
  },
  one_segment: {
    title: 'one segment alone is hurt',
    action: 'Look at what only this segment goes through: its filter, its tenant, its shard or its index.',
    shows: 'all other segments are as before',
  },
  one_kind_of_query: {
    title: 'one kind of query alone is hurt',
    action:
      'Look at what treats such queries otherwise: the analyser or tokeniser, a length limit, language detection, a rewriting or routing rule.',
    shows: 'the same need, asked in another way, is answered',
  },
  foreign_answers: {
    title: 'queries get the answers of other queries',
    action: 'Look at the key of the cache (text, filter, tenant, k) and its similarity threshold, and empty the cache.',
    shows: 'a call that bypasses the cache is right',
  },
  random_answers: {
    title: 'answers do not depend on the question',
    action:
      'Look at what the search gets of a question: an empty text, a vector of zeros, an order that is not by relevance.',
    shows: 'the question does not reach the search',
  },
  cut_off_answers: {
    title: 'answers have fewer results than before',
    action: 'Look at top_k and other limits of the retriever: it returns fewer documents than it is asked for.',
    shows: 'fewer documents come than were asked for',
  },
  ranking: {
    title: 'the order of the results changed',
    action:
      'Look at the reranker, the sort order and the weights of the search; the same documents come in another order.',
    shows: 'nothing was deployed that can be undone',
  },
  deployment: {
    title: 'a deployment made it worse',
    action: 'Roll the deployment back, or compare the runs before and after it query by query.',
    shows: 'rolling it back brings the scores back',
  },
  embedding_model: {
    title: 'another embedding model answers',
    action: 'Embed questions and documents by the same model and revision again.',
    shows: 'a stored text, embedded anew, differs',
  },
  uncovered_topic: {
    title: 'people ask what the store does not hold',
    action: 'Write or index documents for the uncovered topics; `recalld topics list` shows them.',
    shows: 'no document has the answer',
  },
  unlike_golden: {
    title: 'live questions are unlike the golden ones',
    action:
      'Promote the worst judged ones into the golden set with `recalld golden promote`, and look for what they share.',
    shows: 'promoted live questions score badly too',
  },
  generator: {
    title: 'the answers got worse, but what is retrieved did not',
    action: 'Look at the model, the prompt and the context limit of the generator; the retriever is not at fault.',
    shows: 'the retrieved documents hold the answer',
  },
  judge: {
    title: 'the judge of live queries changed',
    action: 'Name a fixed version of its model; the retriever is not at fault.',
    shows: 'fixed pairs get other grades than at first',
  },
  forbidden_documents: {
    title: 'documents come back that must not',
    action:
      'Look at the filter by tenant or right that the search applies, and delete from the index what was withdrawn; the run lists what came back.',
    shows: 'a call from another tenant brings them too',
  },
  golden_labels: {
    title: 'the labels of the golden set are wrong or out of date',
    action: 'Correct the labels with `recalld golden check`; the retriever is not at fault.',
    shows: 'people find the new answers right',
  },
  recalld: {
    title: 'recalld itself does not work',
    action: 'Look at the scheduler, the workers and the queue of recalld: `recalld doctor`.',
    shows: '`recalld doctor` finds what is broken',
  },
  unknown: {
    title: 'unknown',
    action: 'Compare the runs query by query, and look at what changed around then.',
    shows: 'none of the causes on the list fits',
  },
} as const satisfies Readonly<Record<string, CauseText>>;

export type Cause = keyof typeof causeTexts;

export const causes = Object.keys(causeTexts) as [Cause, ...Cause[]];

export type NamedCause = Exclude<Cause, 'unknown'>;

export const namedCauses: readonly NamedCause[] = causes.filter((cause): cause is NamedCause => cause !== 'unknown');

/** The look that tells two causes apart. */
export function tellApart(first: Cause, second: Cause): string {
  return `Tell them apart: if ${causeTexts[first].shows}, the first; if ${causeTexts[second].shows}, the second.`;
}

/** In whole percent, and never 100: nothing that follows from judged weights is certain. */
export function probabilityText(probability: number): string {
  return `${Math.min(99, Math.round(100 * probability))} %`;
}

/** How far to trust a diagnosis; see docs/explanation/diagnosis.md. */
export const confidences = ['high', 'medium', 'low'] as const;

export type Confidence = (typeof confidences)[number];
