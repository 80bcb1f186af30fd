/** Possible causes of an alert. The set of causes is fixed, so that a cause can be the value of a metric label. */

export interface CauseText {
  readonly title: string;
  /** First step toward a fix, in one or two sentences. */
  readonly action: string;
  /** Observation that distinguishes this cause from others; continues a sentence that starts with "if". */
  readonly shows: string;
}

/** All causes. Equally likely causes are listed in this order. */
export const causeTexts = {
  retriever_outage: {
    title: 'the retriever is down',
    action: 'Check the retriever and the services that it calls. Scores recover when the retriever is up again.',
    shows: 'calls from other clients fail too',
  },
  retriever_failing: {
    title: 'some retriever calls fail',
    action: 'Check the retriever log for what the failed calls share: an instance, a shard or a kind of query.',
    shows: 'a retry of the same call succeeds',
  },
  retriever_slow: {
    title: 'the retriever is slow',
    action:
      'Check the load on the retriever and its store. If calls time out, also check whether `timeout_ms` is too low.',
    shows: 'responses stay slow throughout a run',
  },
  partial_results: {
    title: 'slow calls return partial results',
    action:
      'Check the time limits inside the retriever: it may skip a shard, reranker or embedder that exceeds its limit, without reporting an error.',
    shows: 'a call with longer time limits returns the earlier results',
  },
  cold_cache: {
    title: 'the retriever caches are cold',
    action:
      'Wait for the next golden run. If restarts or evictions are frequent, warm the caches before traffic arrives.',
    shows: 'the next run is fast again',
  },
  access_denied: {
    title: 'the retriever rejects the credentials',
    action: 'Renew the key or token in `retriever.headers`: the credential expired, was revoked or lost a permission.',
    shows: 'the same call succeeds with a new key',
  },
  rate_limited: {
    title: 'the retriever rate-limits calls',
    action: 'Raise the rate limit of the retriever for recalld, or lower `max_per_second` of the golden set.',
    shows: 'the same call succeeds a minute later',
  },
  error_page: {
    title: 'the retriever returns an error page',
    action:
      'Check the proxy, gateway or login page in front of the retriever, which responds instead of the retriever.',
    shows: 'the response body is not a result list',
  },
  empty_lists: {
    title: 'the search returns empty lists',
    action: 'Check the search service for a hidden error, and check which index the service queries.',
    shows: 'a call without any filter also returns no results',
  },
  filter: {
    title: 'a filter drops documents',
    action:
      'Compare the filter of a call with the document fields: look for a renamed value, field or tenant. If no filter changed, the search index may skip stored documents; rebuild it.',
    shows: 'a call without the filter finds the dropped documents',
  },
  live_traffic: {
    title: 'only live queries are affected',
    action:
      'Golden calls work. Compare a failing live call with a golden call: query text and its encoding, filter, tenant and credentials.',
    shows: 'the same query returns different results live and in a golden run',
  },
  repeated_query: {
    title: 'one query floods the traffic',
    action:
      'Find the client that repeats the query (a health check, a crawler or a retry loop) and stop it, or exclude its queries from the traffic that you send to recalld.',
    shows: 'the query load drops when one client stops',
  },
  other_language: {
    title: 'users ask in another language',
    action:
      'Index documents in that language or translate queries. Add queries in that language to the golden set with `recalld golden promote`.',
    shows: 'queries in the usual language work as before',
  },
  query_rewriting: {
    title: 'the agent rewrites queries badly',
    action:
      'Check the model and the prompt that rewrite queries, and compare some rewritten queries with the original texts. The retriever is not at fault.',
    shows: 'the original text finds better documents',
  },
  agent_loop: {
    title: 'the agent repeats or skips retrieval calls',
    action:
      'Check the agent loop: retries of successful calls, the stop rule, the call limit and the permitted sources. The retriever is not at fault.',
    shows: 'an episode repeats or skips calls',
  },
  index_parameters: {
    title: 'the index misses near neighbors',
    action: 'Restore the earlier index and search parameters (ef, nprobe, quantization), or rebuild the index.',
    shows: 'an exact search of the store finds closer documents',
  },
  index_lost_documents: {
    title: 'documents missing from the index',
    action: 'Find the job that deleted documents or did not finish indexing, and index the missing documents again.',
    shows: 'the store has no entries with the ids of the missing documents',
  },
  index_behind: {
    title: 'document changes reach the index late',
    action: 'Check the queue and the errors of the indexing job. `recalld index check` lists the missing documents.',
    shows: 'new document versions are waiting to be indexed',
  },
  damaged_texts: {
    title: 'chunk texts were damaged during indexing',
    action:
      'Check what the indexing job extracts from the documents, and its length limits (chunk size, embedder tokens or column length). Then index the correct texts again.',
    shows: 'stored texts are cut off, garbled or replaced',
  },
  duplicate_results: {
    title: 'results repeat the same text',
    action:
      'Look for documents that were indexed twice, and for a join or merge that repeats results. Remove duplicates before the result list is cut off.',
    shows: 'one result list contains the same text several times',
  },
  corpus_changed: {
    title: 're-chunked documents, outdated judgments',
    action:
      'Scores are invalid; retrieval may be fine. Transfer the judgments to the new ids with `recalld golden check`, then pin a new baseline.',
    shows: 'the new ids contain parts of the old texts',
  },
  ids_renamed: {
    title: 'the document ids changed',
    action:
      'If `results.id` of the retriever reads the wrong field, correct it. Otherwise move the judgments to the new ids with `recalld golden check`.',
    shows: 'the new ids have the same texts',
  },
  old_index: {
    title: 'an old index responds',
    action:
      'Check which index the retriever queries. Point its alias or setting to the current index, and find the cause of the change.',
    shows: 'the alias points to an earlier index',
  },
  split_index: {
    title: 'a second index responds part of the time',
    action:
      'Find the replica or index that differs from the others. Remove it from service until it has the same content.',
    shows: 'a repeated query returns different results',
  },
  one_segment: {
    title: 'one segment is affected',
    action: 'Check what only this segment uses: its filter, its tenant, its shard or its index.',
    shows: 'all other segments are unchanged',
  },
  one_kind_of_query: {
    title: 'one kind of query is affected',
    action:
      'Check what treats these queries differently: the analyzer or tokenizer, a length limit, language detection, or a rewriting or routing rule.',
    shows: 'the same query in other words returns good results',
  },
  foreign_answers: {
    title: 'queries get the results of other queries',
    action:
      'Check that the cache key contains text, filter, tenant and k, and check the similarity threshold of the cache. Then clear the cache.',
    shows: 'a call that bypasses the cache returns correct results',
  },
  random_answers: {
    title: 'results do not depend on the query',
    action:
      'Check what the search receives: an empty or shortened text, a constant vector, or a sort order that ignores relevance.',
    shows: 'the search does not receive the query',
  },
  cut_off_answers: {
    title: 'result lists are shorter than before',
    action: 'Check `top_k` and other limits of the retriever: it returns fewer documents than requested.',
    shows: 'fewer documents are returned than requested',
  },
  ranking: {
    title: 'the order of results changed',
    action:
      'Check the reranker, the sort order and the weights of the search. The documents are the same, in another order.',
    shows: 'the order changed although nothing was deployed',
  },
  deployment: {
    title: 'a faulty deployment',
    action: 'Roll back the deployment, or compare the golden runs before and after the deployment query by query.',
    shows: 'scores recover after a rollback',
  },
  embedding_model: {
    title: 'embedding models of queries and documents differ',
    action:
      'Compare the embedding model and revision used for queries with those used for documents, and roll back the model that changed.',
    shows: 'a re-embedded stored text gets a different vector',
  },
  uncovered_topic: {
    title: 'users ask for content that the store lacks',
    action: 'Write documents on the uncovered topics, or index existing documents; see `recalld topics list`.',
    shows: 'no document answers these queries',
  },
  unlike_golden: {
    title: 'live queries are unlike the golden queries',
    action:
      'Read the live queries with the lowest grades: the store may lack documents that answer them. Add these queries to the golden set with `recalld golden promote`.',
    shows: 'promoted live queries score badly too',
  },
  generator: {
    title: 'answers got worse, but retrieval did not',
    action:
      'Check the model, the prompt and the context limit of the generator, and whether ratings are still collected as before. The retriever is not at fault.',
    shows: 'the retrieved documents contain the answer',
  },
  judge: {
    title: 'the judge of live queries changed',
    action: 'Pin a version of the judge model. The retriever is not at fault.',
    shows: 'the judge grades fixed pairs differently than before',
  },
  forbidden_documents: {
    title: 'forbidden documents are returned',
    action:
      'Check the tenant or permission filter of the search, and the cache key. Delete withdrawn documents from the index. The alert and the golden run list the forbidden documents.',
    shows: 'a call from another tenant also returns the documents',
  },
  golden_labels: {
    title: 'the golden judgments are wrong or outdated',
    action: 'Correct the judgments with `recalld golden check`. The retriever is not at fault.',
    shows: 'human reviewers consider the new results correct',
  },
  recalld: {
    title: 'recalld itself is not working',
    action: 'Check the recalld scheduler, workers and queue with `recalld doctor`, and the processor load of the host.',
    shows: '`recalld doctor` finds a problem',
  },
  unknown: {
    title: 'unknown',
    action:
      'Check what changed shortly before the first bad value, and compare the golden runs before and after the change query by query.',
    shows: 'no listed cause fits',
  },
} as const satisfies Readonly<Record<string, CauseText>>;

export type Cause = keyof typeof causeTexts;

export const causes = Object.keys(causeTexts) as [Cause, ...Cause[]];

export type NamedCause = Exclude<Cause, 'unknown'>;

export const namedCauses: readonly NamedCause[] = causes.filter((cause): cause is NamedCause => cause !== 'unknown');

export function tellApart(first: Cause, second: Cause): string {
  return `The first cause is right if ${causeTexts[first].shows}, the second if ${causeTexts[second].shows}.`;
}

/** Formats a probability as a whole percentage, at most 99 %: no diagnosis is certain. */
export function probabilityText(probability: number): string {
  return `${Math.min(99, Math.round(100 * probability))} %`;
}

/** Confidence levels of a diagnosis; see docs/explanation/diagnosis.md. */
export const confidences = ['high', 'medium', 'low'] as const;

export type Confidence = (typeof confidences)[number];
